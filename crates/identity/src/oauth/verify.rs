//! How an access token is checked (RFC 8725), whoever issued it.
//!
//! Two things depend on the issuer: where its keys come from, and whether it can be asked if a token was revoked. Both are
//! in [`Source`]; everything else is the same for all of them.

use std::{sync::Arc, time::Duration};

use db::Db;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, Validation, errors::ErrorKind};
use moka::sync::Cache;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use web::Clock;

use super::{
    Settings,
    access::{Claims, TYPE, TokenError, grant_of},
    issuer::{ExternalIssuer, IssuerError, RemoteKeys},
    jwk::PublicKey,
    keys::Keys,
    store,
};

/// Longer ones are not worth looking at.
const LONGEST: usize = 8 * 1024;

/// How long a token that was found right is remembered, and how many are.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
const REMEMBERED: u64 = 100_000;

/// How far another machine's clock may be ahead of ours. It lengthens no token's life.
const SKEW: i64 = 60;

/// Checks access tokens. Cloning it is cheap.
#[derive(Clone)]
pub struct Verifier(Arc<Inner>);

struct Inner {
    realm: &'static str,
    /// Where a client finds out how to get a token (RFC 9728).
    metadata: String,
    issuer: String,
    audiences: Vec<String>,
    /// In lower case, without `application/`.
    types: Vec<String>,
    scope_claim: String,
    source: Source,
    clock: Clock,
    verified: Cache<Digest, Verified>,
}

/// Where keys come from, and who knows about revocation.
enum Source {
    /// This service's own authorization server: both are in its database.
    Own { keys: Keys, db: Db, demo: bool },
    /// Another one, which shows its keys and tells nobody what it revoked.
    External(RemoteKeys),
}

/// What a token is remembered by: its hash, so that a copy of this memory lets nobody in.
type Digest = [u8; 32];

#[derive(Clone)]
struct Verified {
    claims: Arc<Claims>,
    /// When its issuer's word on it was last taken: on revocation if we can ask, else by its signature.
    asked_at: Timestamp,
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

    /// The words of a scope claim, which some issuers send as one text and some as a list.
    fn words(self) -> Vec<String> {
        match self {
            OneOrMany::One(text) => text.split_ascii_whitespace().map(str::to_owned).collect(),
            OneOrMany::Many(many) => many,
        }
    }
}

impl Verifier {
    /// For the tokens of a service's own authorization server at `issuer`.
    pub(super) fn own(settings: &Settings, keys: Keys, db: Db, clock: Clock) -> Self {
        Verifier(Arc::new(Inner {
            realm: settings.service,
            metadata: metadata_of(&settings.issuer),
            issuer: settings.issuer.clone(),
            audiences: settings.audiences(),
            types: vec![TYPE.into()],
            scope_claim: "scope".into(),
            source: Source::Own { keys, db, demo: settings.demo },
            clock,
            verified: remembered(),
        }))
    }

    /// For the tokens of an issuer elsewhere. Its keys are fetched in the background, so that a service starts while its
    /// issuer is away: until they are known, tokens are answered with 503.
    ///
    /// # Errors
    /// If the settings cannot be right whatever the issuer answers.
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn external(issuer: ExternalIssuer, clock: Clock) -> Result<Self, IssuerError> {
        let keys = RemoteKeys::open(&issuer, clock.clone())?;
        Ok(Verifier(Arc::new(Inner {
            realm: issuer.service,
            metadata: metadata_of(&issuer.resource),
            issuer: issuer.url,
            audiences: vec![issuer.audience],
            types: issuer.types.iter().map(|typ| bare_type(typ)).collect(),
            scope_claim: issuer.scope_claim,
            source: Source::External(keys),
            clock,
            verified: remembered(),
        })))
    }

    /// Where clients get the tokens of an external issuer, as far as it says so.
    pub(super) async fn endpoints(&self) -> Option<(String, String)> {
        match &self.0.source {
            Source::Own { .. } => None,
            Source::External(keys) => keys.endpoints().await,
        }
    }

    pub(super) fn realm(&self) -> &'static str {
        self.0.realm
    }

    pub(super) fn metadata(&self) -> &str {
        &self.0.metadata
    }

    /// What a token says, if it is valid now.
    pub async fn check(&self, token: &str) -> Result<Arc<Claims>, TokenError> {
        let inner = &self.0;
        if token.len() > LONGEST {
            return Err(TokenError::invalid("is too long"));
        }
        let digest = digest(token);
        let now = inner.clock.now();
        let remembered = inner.verified.get(&digest);
        match remembered {
            Some(Verified { claims, asked_at })
                if now.duration_since(asked_at) < inner.source.asked_every() =>
            {
                claims.still_valid(now)
            }
            // Boxed: else every request would carry the room that a signature and a database need.
            remembered => Box::pin(inner.ask(token, digest, remembered, now)).await,
        }
    }

    /// The same, but nothing that is remembered counts: what was revoked a moment ago is known.
    pub(super) async fn check_now(&self, token: &str) -> Result<Claims, TokenError> {
        if token.len() > LONGEST {
            return Err(TokenError::invalid("is too long"));
        }
        let claims = self.0.verify(token).await?;
        if self.0.source.is_revoked(&claims).await? {
            return Err(TokenError::invalid("was revoked"));
        }
        Ok(claims)
    }

    /// Does not remember a token any longer: it was revoked.
    pub(super) fn forget(&self, token: &str) {
        self.0.verified.invalidate(&digest(token));
    }
}

fn digest(token: &str) -> Digest {
    Sha256::digest(token.as_bytes()).into()
}

fn remembered() -> Cache<Digest, Verified> {
    Cache::builder().max_capacity(REMEMBERED).time_to_live(REMEMBERED_FOR).build()
}

fn metadata_of(service: &str) -> String {
    format!("{service}/.well-known/oauth-protected-resource")
}

/// A type as it is compared: media types have no case, and `application/` goes without saying (RFC 7515, 4.1.9).
fn bare_type(typ: &str) -> String {
    let typ = typ.to_ascii_lowercase();
    typ.strip_prefix("application/").map_or(typ.clone(), str::to_owned)
}

impl Source {
    fn asked_every(&self) -> SignedDuration {
        match self {
            Source::Own { .. } => SignedDuration::from_secs(5),
            // As long as anything is remembered: after that the key that signed it must still be there.
            Source::External(_) => SignedDuration::from_secs(60),
        }
    }

    fn knows_revoked(&self) -> bool {
        matches!(self, Source::Own { .. })
    }

    async fn is_revoked(&self, claims: &Claims) -> Result<bool, db::Error> {
        let &Source::Own { ref db, demo, .. } = self else { return Ok(false) };
        let Some(grant) = grant_of(&claims.id) else { return Ok(true) };
        let id = claims.id.clone();
        db.read(move |tx| store::is_token_revoked(tx, grant, &id, demo)).await
    }

    fn algorithms(&self) -> &'static [Algorithm] {
        match self {
            Source::Own { .. } => &[Algorithm::RS256],
            Source::External(_) => super::jwk::ALGORITHMS,
        }
    }

    async fn key(&self, id: &str) -> Result<Option<Arc<PublicKey>>, TokenError> {
        match self {
            Source::Own { keys, .. } => Ok(keys.public(id).await?),
            Source::External(keys) => keys.public(id).await,
        }
    }
}

impl Inner {
    /// Takes the issuer's word on a token: on a new one, or again on one that was taken a while ago.
    async fn ask(
        &self,
        token: &str,
        digest: Digest,
        remembered: Option<Verified>,
        now: Timestamp,
    ) -> Result<Arc<Claims>, TokenError> {
        let claims = match remembered {
            Some(verified) if self.source.knows_revoked() => verified.claims.still_valid(now)?,
            _ => Arc::new(self.verify(token).await?),
        };
        if self.source.is_revoked(&claims).await? {
            self.verified.invalidate(&digest);
            return Err(TokenError::invalid("was revoked"));
        }
        self.verified.insert(digest, Verified { claims: claims.clone(), asked_at: now });
        Ok(claims)
    }

    async fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::invalid("is malformed"))?;
        // RFC 8725: the algorithm is ours to say, not the token's; an extension we must understand, we do not.
        let algorithms = self.source.algorithms();
        if !algorithms.contains(&header.alg) {
            let names: Vec<_> = algorithms.iter().map(|algorithm| format!("{algorithm:?}")).collect();
            return Err(TokenError::invalid(format!("is not signed by {}", names.join(" or "))));
        }
        if header.crit.is_some() {
            return Err(TokenError::invalid("has critical headers that are not understood"));
        }
        if !header.typ.is_some_and(|typ| self.types.contains(&bare_type(&typ))) {
            return Err(TokenError::invalid(format!("is of another type than {}", self.types.join(" or "))));
        }
        // The key is looked up by its id; keys and addresses of keys in the header are not even read.
        let id = header.kid.as_deref().ok_or_else(|| TokenError::invalid("names no key"))?;
        let key = self.source.key(id).await?;
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
        let scopes = optional::<OneOrMany>(&mut claims, &self.scope_claim)?;
        let ours = matches!(self.source, Source::Own { .. });
        // RFC 9068 demands these. Ours have them; not every issuer keeps to it.
        let mut text =
            |name| if ours { required(&mut claims, name).map(Some) } else { optional(&mut claims, name) };
        let (client, id): (Option<String>, Option<String>) = (text("client_id")?, text("jti")?);
        // What others call the client.
        let (azp, cid) = (optional(&mut claims, "azp")?, optional(&mut claims, "cid")?);
        let now = self.clock.now().as_second();
        if issuer != self.issuer {
            return Err(TokenError::invalid("is from another issuer"));
        }
        if !self.audiences.iter().any(|known| audience.contains(known)) {
            return Err(TokenError::invalid("is for another audience"));
        }
        if exp <= now {
            return Err(TokenError::invalid("has expired"));
        }
        // Our own clock set what our own tokens say; another issuer's clock may be a little ahead.
        let ahead = if ours { 0 } else { SKEW };
        if from.is_some_and(|from| from > now + ahead) || at.is_some_and(|at| at > now + SKEW) {
            return Err(TokenError::invalid("is not valid yet"));
        }
        if ours && at.is_none() {
            return Err(lacks("iat"));
        }
        let time = |name, seconds| Timestamp::from_second(seconds).map_err(|_| wrong_type(name));
        Ok(Claims {
            subject,
            client: client.or(azp).or(cid).unwrap_or_default(),
            scopes: scopes.map(OneOrMany::words).unwrap_or_default(),
            audience,
            issued_at: at.map(|at| time("iat", at)).transpose()?,
            expires_at: time("exp", exp)?,
            id: id.unwrap_or_default(),
            ours,
        })
    }
}

/// A claim that a token may have. `null` is as good as none.
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
