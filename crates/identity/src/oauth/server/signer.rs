//! Signs access tokens in the name of this service.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use web::{Clock, Controls, Random};

use super::{
    keys::{KeyError, Keys},
    store::Grant,
};
use crate::oauth::claims::{self, TYPE};

/// The lifetime of an access token, unless the controls set another.
const LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// The lifetime of a token for another service.
const EXTERNAL_LIFETIME: SignedDuration = SignedDuration::from_mins(5);

/// Signs with the keys of a service. Cloning it is cheap.
#[derive(Clone)]
pub struct Signer {
    pub(crate) keys: Keys,
    pub(crate) issuer: String,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) controls: Controls,
}

/// The claims that differ between tokens.
struct NewToken<'a> {
    audience: &'a str,
    subject: &'a str,
    client: &'a str,
    scope: &'a str,
    id: String,
    lifetime: SignedDuration,
}

impl Signer {
    /// The lifetime of an access token that is issued now.
    pub(super) fn lifetime(&self) -> SignedDuration {
        self.controls.get().access_token_lifetime().unwrap_or(LIFETIME)
    }

    /// An access token for a grant.
    pub(super) async fn access_token(
        &self,
        grant: &Grant,
        scope: &str,
        lifetime: SignedDuration,
        now: Timestamp,
    ) -> Result<String, KeyError> {
        let subject = grant.account.map_or_else(|| grant.client.clone(), |account| account.to_string());
        let token = NewToken {
            audience: &grant.audience,
            subject: &subject,
            client: &grant.client,
            scope,
            // Names the grant and then the token, so that either can be revoked. The latter begins with the time.
            id: format!("{}.{}", grant.id.simple(), claims::token_id(now, &self.random)),
            lifetime,
        };
        self.sign(&token, now).await
    }

    /// A token for another service, which proves that a message is from this service and names the user it is about. The
    /// operations of this service reject it, because it has another audience.
    pub async fn token_for_audience(
        &self,
        subject: &str,
        audience: &str,
        scope: &str,
    ) -> Result<String, KeyError> {
        let token = NewToken {
            audience,
            subject,
            client: &self.issuer,
            scope,
            id: self.unique(),
            lifetime: EXTERNAL_LIFETIME,
        };
        // The other service checks it by its own clock, which a moved clock of this service does not move.
        self.sign(&token, self.clock.of_machine().now()).await
    }

    async fn sign(&self, token: &NewToken<'_>, now: Timestamp) -> Result<String, KeyError> {
        let claims = json!({
            "iss": self.issuer,
            "aud": token.audience,
            "sub": token.subject,
            "client_id": token.client,
            "scope": token.scope,
            "iat": now.as_second(),
            "exp": (now + token.lifetime).as_second(),
            "jti": token.id,
        });
        self.keys.sign(TYPE, &claims).await
    }

    fn unique(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.random.bytes()))
    }
}
