//! Access tokens: what is in one (RFC 9068), and how one is checked (RFC 8725).

use std::{sync::Arc, time::Duration};

use db::Db;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, Validation};
use moka::future::Cache;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use web::Clock;

use super::{OpenError, keys::Keys, store};

pub(super) const LIFETIME: SignedDuration = SignedDuration::from_mins(10);

const TYPE: &str = "at+jwt";

/// Longer ones are not ours, and not worth looking at.
const LONGEST: usize = 8 * 1024;

/// How long a token that was found right is remembered, and how many are. Whether it was revoked is asked more often.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
const REMEMBERED: u64 = 100_000;
const ASKED_EVERY: SignedDuration = SignedDuration::from_secs(5);

/// What a valid access token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Whom the token speaks for: an account, or the client itself.
    pub subject: String,
    pub client: String,
    pub scopes: Vec<String>,
    pub expires_at: Timestamp,
    /// The token's own id.
    pub id: String,
}

impl Claims {
    pub fn has(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }

    /// The account that the token speaks for, if it is not the client itself.
    pub fn account(&self) -> Option<Uuid> {
        self.subject.parse().ok()
    }
}

/// Why a token is not taken.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// What is wrong with it, in words that its holder may read.
    #[error("the access token {0}")]
    Invalid(&'static str),
    #[error(transparent)]
    Db(#[from] db::Error),
    #[error("{0}")]
    Broken(String),
}

impl From<OpenError> for TokenError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Db(error) => TokenError::Db(error),
            OpenError::Key(cause) => TokenError::Broken(cause),
        }
    }
}

/// A token to be made.
pub(super) struct NewToken<'a> {
    pub(super) issuer: &'a str,
    pub(super) audience: &'a str,
    pub(super) subject: &'a str,
    pub(super) client: &'a str,
    pub(super) scope: &'a str,
    /// Names the grant and then the token, so that either can be revoked.
    pub(super) id: String,
}

impl NewToken<'_> {
    pub(super) fn claims(&self, now: Timestamp) -> Value {
        json!({
            "iss": self.issuer,
            "aud": self.audience,
            "sub": self.subject,
            "client_id": self.client,
            "scope": self.scope,
            "iat": now.as_second(),
            "exp": (now + LIFETIME).as_second(),
            "jti": self.id,
        })
    }
}

pub(super) async fn sign(keys: &Keys, token: &NewToken<'_>, now: Timestamp) -> Result<String, OpenError> {
    keys.sign(TYPE, &token.claims(now)).await
}

/// The grant that a token's id names.
pub(super) fn grant_of(token_id: &str) -> Option<Uuid> {
    Uuid::try_parse(token_id.split('.').next()?).ok()
}

/// Checks access tokens. Cloning it is cheap.
#[derive(Clone)]
pub struct Verifier(Arc<Inner>);

struct Inner {
    realm: &'static str,
    issuer: String,
    audiences: Vec<String>,
    keys: Keys,
    db: Db,
    clock: Clock,
    /// By the token's hash: a copy of this memory lets nobody in.
    verified: Cache<[u8; 32], Arc<Verified>>,
}

struct Verified {
    claims: Claims,
    /// When we last asked whether it was revoked.
    asked_at: Timestamp,
}

#[derive(Deserialize)]
struct RawClaims {
    iss: String,
    aud: OneOrMany,
    sub: String,
    client_id: String,
    scope: Option<String>,
    exp: i64,
    nbf: Option<i64>,
    iat: i64,
    jti: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn contains(&self, wanted: &str) -> bool {
        match self {
            OneOrMany::One(one) => one == wanted,
            OneOrMany::Many(many) => many.iter().any(|one| one == wanted),
        }
    }
}

impl Verifier {
    pub(super) fn new(
        realm: &'static str,
        issuer: String,
        audiences: Vec<String>,
        keys: Keys,
        db: Db,
        clock: Clock,
    ) -> Self {
        let verified = Cache::builder().max_capacity(REMEMBERED).time_to_live(REMEMBERED_FOR).build();
        Verifier(Arc::new(Inner { realm, issuer, audiences, keys, db, clock, verified }))
    }

    pub(super) fn realm(&self) -> &'static str {
        self.0.realm
    }

    /// Where a client finds out how to get a token (RFC 9728).
    pub(super) fn metadata(&self) -> String {
        format!("{}/.well-known/oauth-protected-resource", self.0.issuer)
    }

    /// What a token says, if it is valid now.
    pub async fn check(&self, token: &str) -> Result<Claims, TokenError> {
        let inner = &self.0;
        if token.len() > LONGEST {
            return Err(TokenError::Invalid("is too long"));
        }
        let key = Sha256::digest(token.as_bytes()).into();
        let now = inner.clock.now();
        let remembered = inner.verified.get(&key).await;
        let claims = match &remembered {
            Some(verified) => verified.claims.clone(),
            None => inner.verify(token).await?,
        };
        if claims.expires_at <= now {
            return Err(TokenError::Invalid("has expired"));
        }
        let asked_lately =
            remembered.is_some_and(|verified| now.duration_since(verified.asked_at) < ASKED_EVERY);
        if !asked_lately {
            if inner.is_revoked(&claims).await? {
                inner.verified.invalidate(&key).await;
                return Err(TokenError::Invalid("was revoked"));
            }
            inner.verified.insert(key, Arc::new(Verified { claims: claims.clone(), asked_at: now })).await;
        }
        Ok(claims)
    }

    /// The same, but nothing that is remembered counts: what was revoked a moment ago is known.
    pub(super) async fn check_now(&self, token: &str) -> Result<Claims, TokenError> {
        if token.len() > LONGEST {
            return Err(TokenError::Invalid("is too long"));
        }
        let claims = self.0.verify(token).await?;
        if self.0.is_revoked(&claims).await? {
            return Err(TokenError::Invalid("was revoked"));
        }
        Ok(claims)
    }

    /// Does not remember a token any longer: it was revoked.
    pub(super) async fn forget(&self, token: &str) {
        let key: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        self.0.verified.invalidate(&key).await;
    }
}

impl Inner {
    async fn verify(&self, token: &str) -> Result<Claims, TokenError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| TokenError::Invalid("is malformed"))?;
        // RFC 8725: the algorithm is ours to say, not the token's; an extension we must understand, we do not.
        if header.alg != Algorithm::RS256 {
            return Err(TokenError::Invalid("is not signed by RS256"));
        }
        if header.crit.is_some() {
            return Err(TokenError::Invalid("has critical headers that are not understood"));
        }
        let typ = header.typ.as_deref().map(str::to_ascii_lowercase);
        if !matches!(typ.as_deref(), Some("at+jwt" | "application/at+jwt")) {
            return Err(TokenError::Invalid("is of another type than at+jwt"));
        }
        // The key is looked up among ours by its id; keys and addresses of keys in the header are not even read.
        let id = header.kid.as_deref().ok_or(TokenError::Invalid("names no key"))?;
        let key = self.keys.public(id).await?.ok_or(TokenError::Invalid("is signed by an unknown key"))?;
        let mut validation = Validation::new(Algorithm::RS256);
        // Times are checked below, by the service's own clock.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        validation.required_spec_claims.clear();
        let claims: RawClaims = jsonwebtoken::decode(token, &key, &validation)
            .map_err(|error| match error.kind() {
                jsonwebtoken::errors::ErrorKind::InvalidSignature => {
                    TokenError::Invalid("has a wrong signature")
                }
                _ => TokenError::Invalid("lacks a claim, or has one of a wrong type"),
            })?
            .claims;
        self.accept(claims)
    }

    fn accept(&self, claims: RawClaims) -> Result<Claims, TokenError> {
        let now = self.clock.now().as_second();
        if claims.iss != self.issuer {
            return Err(TokenError::Invalid("is from another issuer"));
        }
        if !self.audiences.iter().any(|audience| claims.aud.contains(audience)) {
            return Err(TokenError::Invalid("is for another audience"));
        }
        if claims.exp <= now {
            return Err(TokenError::Invalid("has expired"));
        }
        if claims.nbf.is_some_and(|from| from > now) || claims.iat > now + 60 {
            return Err(TokenError::Invalid("is not valid yet"));
        }
        Ok(Claims {
            subject: claims.sub,
            client: claims.client_id,
            scopes: claims.scope.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect(),
            expires_at: Timestamp::from_second(claims.exp)
                .map_err(|_| TokenError::Invalid("lacks a claim, or has one of a wrong type"))?,
            id: claims.jti,
        })
    }

    async fn is_revoked(&self, claims: &Claims) -> Result<bool, db::Error> {
        let Some(grant) = grant_of(&claims.id) else { return Ok(true) };
        let id = claims.id.clone();
        self.db.read(move |tx| store::is_token_revoked(tx, grant, &id)).await
    }
}
