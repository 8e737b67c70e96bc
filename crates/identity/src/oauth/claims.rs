//! The form of an access token (RFC 9068): what both halves of OAuth agree on.

use std::borrow::Cow;

use http::Extensions;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;
use web::{ControlState, Problem, Random, RequestContext, problem::UNAVAILABLE};

use crate::{accounts::DEMO_USER, quota};

/// The `typ` header of an access token.
pub(super) const TYPE: &str = "at+jwt";

/// How far the clock of an issuer may be ahead. It extends no token's lifetime.
pub(super) const SKEW: SignedDuration = SignedDuration::from_secs(60);

/// The claims of a valid access token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The subject: an account, or the client itself.
    pub subject: String,
    /// The name of the account in logs, journals and fault rules.
    pub(super) user: Option<String>,
    /// The client that the token was issued to; empty if an external issuer does not say.
    pub client: String,
    pub scopes: Vec<String>,
    pub(super) audience: Vec<String>,
    /// When it was issued; an external issuer need not say.
    pub(super) issued_at: Option<Timestamp>,
    pub(super) expires_at: Timestamp,
    /// The token's id; empty if an external issuer sent none.
    pub(super) id: String,
    /// Whether this service issued the token. A subject of an external issuer may look like the id of an account here.
    pub(super) own: bool,
}

impl Claims {
    pub(super) fn has(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }

    /// The account that the token was issued for; `None` if the subject is the client itself, or an external user.
    pub fn account(&self) -> Option<Uuid> {
        if self.own { self.subject.parse().ok() } else { None }
    }

    /// The key under which calls with this token are counted: the user, or the client itself. Subjects of an external issuer
    /// have a prefix of their own; a service accepts tokens of one issuer only.
    pub fn metered(&self) -> String {
        match self.account() {
            Some(account) => quota::user(account),
            None if self.own => format!("client:{}", self.client),
            None => format!("external:{}", self.subject),
        }
    }

    /// Adds the user and the client to the request's log line.
    pub fn leave_for_log(&self, extensions: &Extensions) {
        if self.subject != self.client {
            RequestContext::set_user(extensions, self.user.as_ref().unwrap_or(&self.subject));
        }
        if !self.client.is_empty() {
            RequestContext::set_client(extensions, &self.client);
        }
    }

    /// The claims of a caller whose credentials are not checked: the demo user, with these scopes.
    pub(super) fn of_demo_user(account: Uuid, scopes: &[&str]) -> Self {
        Claims {
            subject: account.to_string(),
            user: Some(DEMO_USER.into()),
            client: "demo".into(),
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            audience: Vec::new(),
            issued_at: None,
            expires_at: Timestamp::MAX,
            id: String::new(),
            own: true,
        }
    }

    /// Rejects a token that has expired, by its lifetime or by the controls, and one that was issued later: the clock of a service
    /// can be set back.
    pub(super) fn check_time(&self, now: Timestamp, controls: &ControlState) -> Result<(), TokenError> {
        if self.expires_at <= now || controls.has_expired(self.exact_issue_time()) {
            return Err(TokenError::invalid("has expired"));
        }
        if self.issued_at.is_some_and(|issued_at| issued_at.duration_since(now) > SKEW) {
            return Err(TokenError::invalid("is not valid yet"));
        }
        Ok(())
    }

    /// When the token was issued: `iat` has seconds, and the id of an own token has microseconds. A token that does not say it
    /// is older than any time that the controls can have set.
    fn exact_issue_time(&self) -> Timestamp {
        let Some(issued_at) = self.issued_at else { return Timestamp::MIN };
        let exact = time_of_id(&self.id);
        // The id of an external issuer, or of an older version, means something else.
        exact.filter(|exact| exact.as_second() == issued_at.as_second()).unwrap_or(issued_at)
    }
}

/// The id of a token within its grant: when it was issued, in microseconds, and random bits.
pub(super) fn token_id(now: Timestamp, random: &Random) -> String {
    format!("{:016x}{:016x}", now.as_microsecond(), u64::from_be_bytes(random.bytes()))
}

/// The time in the id of a token, after the grant.
fn time_of_id(id: &str) -> Option<Timestamp> {
    let (_, id) = id.split_once('.')?;
    Timestamp::from_microsecond(i64::from_str_radix(id.get(..16)?, 16).ok()?).ok()
}

/// Why a token was rejected.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// What is wrong with the token; the client may read it.
    #[error("the access token {0}")]
    Invalid(Cow<'static, str>),
    #[error(transparent)]
    Db(#[from] db::Error),
    /// The keys of an external issuer were not fetched yet; retry after this number of seconds.
    #[error("the issuer's keys are not known yet")]
    KeysUnavailable(u64),
    #[error("{0}")]
    Broken(String),
}

impl TokenError {
    pub(super) fn invalid(why: impl Into<Cow<'static, str>>) -> Self {
        TokenError::Invalid(why.into())
    }

    /// The response when the cause is not the token.
    pub(super) fn into_problem(self) -> Problem {
        match self {
            TokenError::Db(error) => error.into(),
            TokenError::KeysUnavailable(seconds) => Problem::new(
                &UNAVAILABLE,
                "The service cannot check access tokens just now: it does not know the keys of their issuer yet.",
            )
            .retry_after(seconds),
            TokenError::Invalid(_) | TokenError::Broken(_) => Problem::internal(self),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn issue_time_has_the_microseconds_of_the_id() {
        let issued: Timestamp = "2026-05-13T10:00:00.250001Z".parse().unwrap();
        let id = token_id(issued, &Random::system());
        assert_eq!(id.len(), 32);
        let claims = |id: String| Claims {
            issued_at: Some("2026-05-13T10:00:00Z".parse().unwrap()),
            id,
            ..Claims::of_demo_user(Uuid::nil(), &[])
        };
        assert_eq!(claims(format!("grant.{id}")).exact_issue_time(), issued);
        let other = token_id("2026-05-13T10:00:01Z".parse().unwrap(), &Random::system());
        for id in ["grant.of-another-form".to_owned(), format!("grant.{other}"), id, String::new()] {
            assert_eq!(claims(id).exact_issue_time().to_string(), "2026-05-13T10:00:00Z");
        }
    }

    #[test]
    fn users_clients_and_external_subjects_are_counted_separately() {
        let id = "019e0000-0000-7000-8000-000000000001";
        let claims = |subject: &str, client: &str, own| Claims {
            subject: subject.into(),
            user: None,
            client: client.into(),
            scopes: Vec::new(),
            audience: Vec::new(),
            issued_at: None,
            expires_at: Timestamp::MAX,
            id: String::new(),
            own,
        };
        assert_eq!(claims(id, "app", true).metered(), format!("user:{id}"));
        assert_eq!(claims("app", "app", true).metered(), "client:app");
        // It looks like an account id, and is none.
        assert_eq!(claims(id, "app", false).metered(), format!("external:{id}"));
        assert_eq!(claims("user:1", "", false).metered(), "external:user:1");
    }
}
