//! How an access token is checked (RFC 8725).
//!
//! Two things depend on the issuer: where its keys come from, and whether it knows which tokens were revoked. Both are in
//! [`Issuer`]; the rest is the same for every issuer.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, Validation, errors::ErrorKind};
use moka::sync::Cache;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use web::{Clock, ControlState, SignInMode};

use super::{
    external_issuer::{ExternalIssuer, IssuerError},
    issuer::Issuer,
    jwk,
    metadata::metadata_of,
    remote_keys::RemoteKeys,
};
use crate::{
    accounts::Accounts,
    oauth::claims::{Claims, SKEW, TokenError},
};

/// The longest token that is read, in bytes.
const MAX_LENGTH: usize = 8 * 1024;

/// How long a valid token is cached, and how many are.
const CACHED_FOR: Duration = Duration::from_secs(60);
const CACHED: u64 = 100_000;

/// Checks access tokens. Cloning it is cheap.
#[derive(Clone)]
pub struct Verifier(Arc<Inner>);

struct Inner {
    accepted: Accepted,
    /// Where a client finds out how to get a token (RFC 9728).
    metadata: String,
    issuer: Box<dyn Issuer>,
    clock: Clock,
    /// For how long a checked token is accepted, which must not depend on a clock that can be frozen.
    machine: Clock,
    verified: Cache<Digest, Verified>,
    /// The accounts of the service, with its controls; without them, sign-in is enforced.
    accounts: Option<Accounts>,
}

/// The tokens that a verifier accepts.
pub(crate) struct Accepted {
    /// The service's name, as the realm of its challenges.
    pub(crate) service: &'static str,
    /// The service's own address.
    pub(crate) resource: String,
    pub(crate) issuer: String,
    pub(crate) audiences: Vec<String>,
    /// In lower case, without `application/`.
    pub(crate) types: Vec<String>,
    pub(crate) scope_claim: String,
    /// Whether the issuer is this service's own authorization server, which knows what was revoked.
    pub(crate) own: bool,
}

/// The key of a cached token: its hash, so that a copy of the cache holds no usable token.
type Digest = [u8; 32];

#[derive(Clone)]
struct Verified {
    claims: Arc<Claims>,
    /// When the issuer was last asked whether it was revoked, or if it cannot be asked, when the signature was checked. By the
    /// machine's clock.
    checked_at: Timestamp,
    /// The version of the controls at that time.
    version: u64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn all(self) -> Vec<String> {
        match self {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }

    /// The scopes of a scope claim, which some issuers send as one text and some as a list.
    fn words(self) -> Vec<String> {
        match self {
            OneOrMany::One(text) => text.split_ascii_whitespace().map(str::to_owned).collect(),
            OneOrMany::Many(many) => many,
        }
    }
}

impl Verifier {
    pub(crate) fn new(
        accepted: Accepted,
        issuer: Box<dyn Issuer>,
        clock: Clock,
        accounts: Option<Accounts>,
    ) -> Self {
        let metadata = metadata_of(&accepted.resource);
        let verified = Cache::builder().max_capacity(CACHED).time_to_live(CACHED_FOR).build();
        let machine = clock.of_machine();
        Verifier(Arc::new(Inner { accepted, metadata, issuer, clock, machine, verified, accounts }))
    }

    /// For the tokens of an external issuer. Its keys are fetched in the background, so that a service starts while its
    /// issuer is down: until they are known, requests with a token are answered with 503.
    ///
    /// # Errors
    /// If the settings are invalid for any answer of the issuer.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn external(issuer: ExternalIssuer, clock: Clock) -> Result<Self, IssuerError> {
        let keys = RemoteKeys::open(&issuer, &clock)?;
        Ok(Verifier::with_keys(issuer, keys, clock, None))
    }

    /// The same with keys that are being fetched already.
    pub(crate) fn with_keys(
        issuer: ExternalIssuer,
        keys: RemoteKeys,
        clock: Clock,
        accounts: Option<Accounts>,
    ) -> Self {
        let accepted = Accepted {
            service: issuer.service,
            resource: issuer.resource,
            issuer: issuer.url,
            audiences: vec![issuer.audience],
            types: issuer.types.iter().map(|typ| bare_type(typ)).collect(),
            scope_claim: issuer.scope_claim,
            own: false,
        };
        Verifier::new(accepted, Box::new(keys), clock, accounts)
    }

    pub(super) fn realm(&self) -> &'static str {
        self.0.accepted.service
    }

    pub(super) fn metadata(&self) -> &str {
        &self.0.metadata
    }

    /// Which credentials a call needs now.
    pub fn sign_in_mode(&self) -> SignInMode {
        self.0.controls().sign_in
    }

    /// The claims of the demo user, for a call whose credentials are not checked.
    pub(super) async fn demo_user(&self, scopes: &[&str]) -> Result<Arc<Claims>, db::Error> {
        let account = match &self.0.accounts {
            Some(accounts) => accounts.demo_user().await?,
            None => Uuid::nil(),
        };
        Ok(Arc::new(Claims::of_demo_user(account, scopes)))
    }

    /// The claims of a token, if it is valid now.
    pub async fn check(&self, token: &str) -> Result<Arc<Claims>, TokenError> {
        let inner = &self.0;
        if token.len() > MAX_LENGTH {
            return Err(TokenError::invalid("is too long"));
        }
        let digest = digest(token);
        let now = inner.clock.now();
        match inner.verified.get(&digest) {
            Some(Verified { claims, checked_at, version })
                if inner.since(checked_at) < inner.accepted.checked_every() && version == inner.version() =>
            {
                claims.check_time(now, &inner.controls())?;
                Ok(claims)
            }
            // Boxed: otherwise the future of every request would have room for this rare one.
            cached => Box::pin(inner.check(token, digest, cached, now)).await,
        }
    }

    /// The same without the cache: a token that was revoked a moment ago is rejected.
    pub(crate) async fn check_now(&self, token: &str) -> Result<Claims, TokenError> {
        if token.len() > MAX_LENGTH {
            return Err(TokenError::invalid("is too long"));
        }
        let claims = self.0.verify(token).await?;
        claims.check_time(self.0.clock.now(), &self.0.controls())?;
        if self.0.issuer.is_revoked(&claims).await? {
            return Err(TokenError::invalid("was revoked"));
        }
        Ok(claims)
    }

    /// Removes a token that was revoked from the cache.
    pub(crate) fn forget(&self, token: &str) {
        self.0.verified.invalidate(&digest(token));
    }
}

fn digest(token: &str) -> Digest {
    Sha256::digest(token.as_bytes()).into()
}

/// A type in the form in which types are compared: media types have no case, and `application/` is optional (RFC 7515, 4.1.9).
fn bare_type(typ: &str) -> String {
    let typ = typ.to_ascii_lowercase();
    typ.strip_prefix("application/").map_or(typ.clone(), str::to_owned)
}

impl Accepted {
    fn checked_every(&self) -> SignedDuration {
        if self.own {
            SignedDuration::from_secs(5)
        } else {
            // As long as the cache: after that the key that signed the token must still be there.
            SignedDuration::from_secs(60)
        }
    }

    fn algorithms(&self) -> &'static [Algorithm] {
        if self.own { &[Algorithm::RS256] } else { jwk::ALGORITHMS }
    }
}

impl Inner {
    fn controls(&self) -> ControlState {
        self.accounts.as_ref().map(|accounts| accounts.controls().get()).unwrap_or_default()
    }

    /// How long ago a token was checked. A clock that was set back makes no token fresh.
    fn since(&self, checked_at: Timestamp) -> SignedDuration {
        self.machine.now().duration_since(checked_at).abs()
    }

    fn version(&self) -> u64 {
        self.accounts.as_ref().map_or(0, |accounts| accounts.controls().version())
    }

    /// Checks a new token, or checks a cached token again.
    async fn check(
        &self,
        token: &str,
        digest: Digest,
        cached: Option<Verified>,
        now: Timestamp,
    ) -> Result<Arc<Claims>, TokenError> {
        // Read before the keys: if they change meanwhile, the token is checked again next time.
        let (version, checked_at) = (self.version(), self.machine.now());
        let claims = match cached {
            Some(verified) if self.accepted.own && verified.version == version => verified.claims,
            _ => Arc::new(self.verify_and_name(token).await?),
        };
        claims.check_time(now, &self.controls())?;
        if self.issuer.is_revoked(&claims).await? {
            self.verified.invalidate(&digest);
            return Err(TokenError::invalid("was revoked"));
        }
        self.verified.insert(digest, Verified { claims: claims.clone(), checked_at, version });
        Ok(claims)
    }

    /// The claims of a token, with the name of its account.
    async fn verify_and_name(&self, token: &str) -> Result<Claims, TokenError> {
        let claims = self.verify(token).await?;
        let user = match (&self.accounts, claims.account()) {
            (Some(accounts), Some(account)) => accounts.name(account).await?,
            _ => None,
        };
        Ok(Claims { user, ..claims })
    }

    async fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::invalid("is malformed"))?;
        // RFC 8725: the verifier chooses the algorithms, not the token. Critical extensions are not supported.
        let algorithms = self.accepted.algorithms();
        if !algorithms.contains(&header.alg) {
            let names: Vec<_> = algorithms.iter().map(|algorithm| format!("{algorithm:?}")).collect();
            return Err(TokenError::invalid(format!("is not signed by {}", names.join(" or "))));
        }
        if header.crit.is_some() {
            return Err(TokenError::invalid("has critical headers that are not understood"));
        }
        if !header.typ.is_some_and(|typ| self.accepted.types.contains(&bare_type(&typ))) {
            return Err(TokenError::invalid(format!(
                "is of another type than {}",
                self.accepted.types.join(" or ")
            )));
        }
        // The key is found by its id. Keys and addresses of keys in the header are not read.
        let id = header.kid.as_deref().ok_or_else(|| TokenError::invalid("names no key"))?;
        let key = self.issuer.key(id).await?;
        let key = key.ok_or_else(|| TokenError::invalid("is signed by an unknown key"))?;
        if !key.algorithms.contains(&header.alg) {
            return Err(TokenError::invalid("is signed by another algorithm than its key is for"));
        }
        let mut validation = Validation::new(header.alg);
        // Times are checked below, by the service's own clock.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let claims: Map<String, Value> = jsonwebtoken::decode(token, &key.key, &validation)
            .map_err(|error| match error.kind() {
                ErrorKind::InvalidSignature => TokenError::invalid("has a wrong signature"),
                _ => TokenError::invalid("is malformed"),
            })?
            .claims;
        self.accept(claims)
    }

    fn accept(&self, mut claims: Map<String, Value>) -> Result<Claims, TokenError> {
        let issuer: String = required(&mut claims, "iss")?;
        let audience = required::<OneOrMany>(&mut claims, "aud")?.all();
        let subject = required(&mut claims, "sub")?;
        let exp: i64 = required(&mut claims, "exp")?;
        let from: Option<i64> = optional(&mut claims, "nbf")?;
        let at: Option<i64> = optional(&mut claims, "iat")?;
        let scopes = optional::<OneOrMany>(&mut claims, &self.accepted.scope_claim)?;
        let own = self.accepted.own;
        // RFC 9068 requires these. Not every external issuer sends them.
        let mut text =
            |name| if own { required(&mut claims, name).map(Some) } else { optional(&mut claims, name) };
        let (client, id): (Option<String>, Option<String>) = (text("client_id")?, text("jti")?);
        // What external issuers call the client.
        let (azp, cid) = (optional(&mut claims, "azp")?, optional(&mut claims, "cid")?);
        let now = self.clock.now().as_second();
        if issuer != self.accepted.issuer {
            return Err(TokenError::invalid("is from another issuer"));
        }
        if !self.accepted.audiences.iter().any(|known| audience.contains(known)) {
            return Err(TokenError::invalid("is for another audience"));
        }
        if exp <= now {
            return Err(TokenError::invalid("has expired"));
        }
        // This service's own clock set the times of its own tokens.
        let ahead = if own { 0 } else { SKEW.as_secs() };
        if from.is_some_and(|from| from > now + ahead) {
            return Err(TokenError::invalid("is not valid yet"));
        }
        if own && at.is_none() {
            return Err(lacks("iat"));
        }
        let time = |name, seconds| Timestamp::from_second(seconds).map_err(|_| wrong_type(name));
        Ok(Claims {
            subject,
            user: None,
            client: client.or(azp).or(cid).unwrap_or_default(),
            scopes: scopes.map(OneOrMany::words).unwrap_or_default(),
            audience,
            issued_at: at.map(|at| time("iat", at)).transpose()?,
            expires_at: time("exp", exp)?,
            id: id.unwrap_or_default(),
            own,
        })
    }
}

/// A claim that a token may have. `null` counts as absent.
fn optional<T: DeserializeOwned>(
    claims: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<T>, TokenError> {
    let value = claims.remove(name).unwrap_or_default();
    serde_json::from_value(value).map_err(|_| wrong_type(name))
}

fn required<T: DeserializeOwned>(claims: &mut Map<String, Value>, name: &str) -> Result<T, TokenError> {
    optional(claims, name)?.ok_or_else(|| lacks(name))
}

fn lacks(claim: &str) -> TokenError {
    TokenError::invalid(format!("lacks the claim {claim}"))
}

fn wrong_type(claim: &str) -> TokenError {
    TokenError::invalid(format!("has a claim {claim} of a wrong type"))
}
