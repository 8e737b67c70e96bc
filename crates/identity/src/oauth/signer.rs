//! Signs access tokens in this service's name.

use axum::{Router, routing::get};
use jiff::{SignedDuration, Timestamp};
use web::{Chance, Clock};

use super::{
    OpenError,
    access::{self, NewToken},
    keys::Keys,
    metadata,
    store::Grant,
};

/// How long a token for another service lasts.
const LENT_FOR: SignedDuration = SignedDuration::from_mins(5);

/// What signs with a service's own keys. Cloning it is cheap.
#[derive(Clone)]
pub struct Signer {
    pub(super) keys: Keys,
    pub(super) issuer: String,
    pub(super) clock: Clock,
    pub(super) chance: Chance,
}

impl Signer {
    /// An access token for what was granted.
    pub(super) async fn access_token(
        &self,
        grant: &Grant,
        scope: &str,
        now: Timestamp,
    ) -> Result<String, OpenError> {
        let subject = grant.account.map_or_else(|| grant.client.clone(), |account| account.to_string());
        let token = NewToken {
            issuer: &self.issuer,
            audience: &grant.audience,
            subject: &subject,
            client: &grant.client,
            scope,
            id: format!("{}.{}", grant.id.simple(), self.unique()),
            lifetime: access::LIFETIME,
        };
        access::sign(&self.keys, &token, now).await
    }

    /// A token by which another service can tell that a message is ours, and whose it is. It is for them: our own operations
    /// refuse it, since its audience is another.
    pub async fn token_elsewhere(
        &self,
        subject: &str,
        audience: &str,
        scope: &str,
    ) -> Result<String, OpenError> {
        let token = NewToken {
            issuer: &self.issuer,
            audience,
            subject,
            client: &self.issuer,
            scope,
            id: self.unique(),
            lifetime: LENT_FOR,
        };
        access::sign(&self.keys, &token, self.clock.now()).await
    }

    /// The route that shows the keys, for a service that has no authorization server of its own.
    pub(super) fn router(&self) -> Router {
        let signer = self.clone();
        let jwks = async move || metadata::jwks_of(&signer).await;
        Router::new().route(metadata::JWKS, get(jwks)).layer(metadata::for_every_origin())
    }

    fn unique(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.chance.bytes()))
    }
}
