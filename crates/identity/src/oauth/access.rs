//! Access tokens: what is in one (RFC 9068), and how ours are made.

use std::{borrow::Cow, sync::Arc};

use http::Extensions;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;
use web::Learnt;

use super::{OpenError, keys::Keys};
use crate::quota;

pub(super) const LIFETIME: SignedDuration = SignedDuration::from_mins(10);

pub(super) const TYPE: &str = "at+jwt";

/// What a valid access token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// Whom the token speaks for: an account, or the client itself.
    pub subject: String,
    /// The client it was given to; empty if an issuer elsewhere does not say.
    pub client: String,
    pub scopes: Vec<String>,
    /// What it is for.
    pub audience: Vec<String>,
    /// When it was issued; an issuer elsewhere need not say.
    pub issued_at: Option<Timestamp>,
    pub expires_at: Timestamp,
    /// The token's own id; empty if an issuer elsewhere gave it none.
    pub id: String,
    /// Whether the subject is one of our own: another issuer's may look like an account of ours, and is none.
    pub(super) ours: bool,
}

impl Claims {
    pub fn has(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }

    /// The account that the token speaks for, if it is not the client itself.
    pub fn account(&self) -> Option<Uuid> {
        if self.ours { self.subject.parse().ok() } else { None }
    }

    /// Whose calls those with this token count as: the user's, or the client's own. Subjects of an issuer elsewhere are kept
    /// apart from ours; a service takes tokens of one issuer only.
    pub fn metered(&self) -> String {
        match self.account() {
            Some(account) => quota::user(account),
            None if self.ours => format!("client:{}", self.client),
            None => format!("external:{}", self.subject),
        }
    }

    /// Leaves who is calling for the request's line in the log.
    pub fn leave_for_log(&self, extensions: &Extensions) {
        if self.subject != self.client {
            Learnt::user(extensions, &self.subject);
        }
        if !self.client.is_empty() {
            Learnt::client(extensions, &self.client);
        }
    }

    /// The same, unless the token has expired.
    pub(super) fn still_valid(self: Arc<Self>, now: Timestamp) -> Result<Arc<Self>, TokenError> {
        if self.expires_at <= now { Err(TokenError::invalid("has expired")) } else { Ok(self) }
    }
}

/// Why a token is not taken.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// What is wrong with it, in words that its holder may read.
    #[error("the access token {0}")]
    Invalid(Cow<'static, str>),
    #[error(transparent)]
    Db(#[from] db::Error),
    /// The keys of an issuer elsewhere are not known yet; how many seconds to wait before trying again.
    #[error("the issuer's keys are not known yet")]
    Away(u64),
    #[error("{0}")]
    Broken(String),
}

impl TokenError {
    pub(super) fn invalid(why: impl Into<Cow<'static, str>>) -> Self {
        TokenError::Invalid(why.into())
    }
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
    pub(super) lifetime: SignedDuration,
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
            "exp": (now + self.lifetime).as_second(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_clients_and_subjects_of_others_are_counted_apart() {
        let id = "019e0000-0000-7000-8000-000000000001";
        let claims = |subject: &str, client: &str, ours| Claims {
            subject: subject.into(),
            client: client.into(),
            scopes: Vec::new(),
            audience: Vec::new(),
            issued_at: None,
            expires_at: Timestamp::MAX,
            id: String::new(),
            ours,
        };
        assert_eq!(claims(id, "app", true).metered(), format!("user:{id}"));
        assert_eq!(claims("app", "app", true).metered(), "client:app");
        // What looks like an account of ours is none.
        assert_eq!(claims(id, "app", false).metered(), format!("external:{id}"));
        assert_eq!(claims("user:1", "", false).metered(), "external:user:1");
    }
}
