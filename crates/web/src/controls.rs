//! Controls: how an instance behaves while it runs. They can be replaced at any time, and hold for the next call.

use std::{
    ops::RangeInclusive,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

/// The lifetimes that controls can set, in seconds: up to 30 days.
pub const LIFETIMES: RangeInclusive<u32> = 1..=30 * 24 * 3600;

/// A handle to the controls of an instance. Clones share one state. Only an instance in demo mode obeys them.
#[derive(Clone, Debug, Default)]
pub struct Controls(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// How often the state was replaced. Before the first time the state is the default one, and reading it needs no lock.
    version: AtomicU64,
    state: RwLock<ControlState>,
}

/// The state of the controls. The default is a strict service with its own lifetimes and limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ControlState {
    pub sign_in: SignInMode,
    /// The lifetime of new access tokens.
    #[serde(deserialize_with = "lifetime", skip_serializing_if = "Option::is_none")]
    pub access_token_seconds: Option<u32>,
    /// The lifetime of new refresh tokens.
    #[serde(deserialize_with = "lifetime", skip_serializing_if = "Option::is_none")]
    pub refresh_token_seconds: Option<u32>,
    /// The lifetime of new sessions.
    #[serde(deserialize_with = "lifetime", skip_serializing_if = "Option::is_none")]
    pub session_seconds: Option<u32>,
    /// Access tokens, refresh tokens and sessions issued before this time are rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_not_before: Option<Timestamp>,
    /// How many calls an hour a caller may make, if that is less than the settings allow.
    #[serde(deserialize_with = "calls", skip_serializing_if = "Option::is_none")]
    pub calls_per_hour: Option<u32>,
    pub compat: Compat,
    /// How often the signing keys were rotated, so that every process sees that there are new ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub key_rotations: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Which credentials a call needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignInMode {
    /// Valid ones.
    #[default]
    Enforce,
    /// Any of the right form. The call acts as the demo user.
    Any,
    /// None. The call acts as the demo user, with any credentials and without.
    Off,
}

/// The server whose behaviour the pet store has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compat {
    /// Its own.
    #[default]
    Strict,
    /// That of the public sample server; `docs/compat.md` lists the differences.
    PublicPetstore,
}

impl Controls {
    pub fn new(state: ControlState) -> Self {
        let controls = Controls::default();
        if state != ControlState::default() {
            controls.set(state);
        }
        controls
    }

    /// The state now. Until the first change this is one atomic load.
    pub fn get(&self) -> ControlState {
        if self.version() == 0 {
            return ControlState::default();
        }
        *self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the state. It holds for every call that starts after this one returns.
    pub fn set(&self, state: ControlState) {
        let mut held = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        *held = state;
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// Has the instance read again what it caches of its keys and tokens, as [`Controls::set`] does. The state stays.
    pub fn touch(&self) {
        let _held = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// How often the state was replaced, or touched.
    pub fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }
}

impl ControlState {
    /// The lifetime of access tokens, where the controls set one.
    pub fn access_token_lifetime(&self) -> Option<SignedDuration> {
        self.access_token_seconds.map(bounded)
    }

    /// The lifetime of refresh tokens, where the controls set one.
    pub fn refresh_token_lifetime(&self) -> Option<SignedDuration> {
        self.refresh_token_seconds.map(bounded)
    }

    /// The lifetime of sessions, where the controls set one.
    pub fn session_lifetime(&self) -> Option<SignedDuration> {
        self.session_seconds.map(bounded)
    }

    /// Whether a token or session that was issued at this time is rejected.
    pub fn has_expired(&self, issued_at: Timestamp) -> bool {
        // In the precision of the database.
        self.tokens_not_before.is_some_and(|time| issued_at.as_microsecond() < time.as_microsecond())
    }
}

fn bounded(seconds: u32) -> SignedDuration {
    SignedDuration::from_secs(seconds.clamp(*LIFETIMES.start(), *LIFETIMES.end()).into())
}

fn lifetime<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let seconds = Option::<u32>::deserialize(deserializer)?;
    match seconds {
        Some(seconds) if !LIFETIMES.contains(&seconds) => Err(D::Error::custom(format!(
            "must be from {} to {} seconds",
            LIFETIMES.start(),
            LIFETIMES.end()
        ))),
        seconds => Ok(seconds),
    }
}

fn calls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match Option::<u32>::deserialize(deserializer)? {
        Some(0) => Err(D::Error::custom("must be at least 1")),
        calls => Ok(calls),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(state: Value) -> Result<ControlState, String> {
        serde_json::from_value(state).map_err(|error| error.to_string())
    }

    #[test]
    fn clones_see_a_new_state_at_once() {
        let controls = Controls::default();
        let clone = controls.clone();
        assert_eq!((clone.get(), clone.version()), (ControlState::default(), 0));
        let state = ControlState { sign_in: SignInMode::Off, ..ControlState::default() };
        controls.set(state);
        assert_eq!((clone.get(), clone.version()), (state, 1));
        controls.touch();
        assert_eq!((clone.get(), clone.version()), (state, 2));
        controls.set(ControlState::default());
        assert_eq!((clone.get(), clone.version()), (ControlState::default(), 3));
        assert_eq!(Controls::new(state).get(), state);
        assert_eq!(Controls::new(ControlState::default()).version(), 0);
    }

    #[test]
    fn absent_members_have_their_defaults() {
        assert_eq!(read(json!({})), Ok(ControlState::default()));
        let all = json!({
            "sign_in": "any", "access_token_seconds": 1, "refresh_token_seconds": 60, "session_seconds": 2_592_000,
            "tokens_not_before": "2026-05-13T10:00:00.5Z", "calls_per_hour": 3, "compat": "public-petstore",
        });
        let state = read(all.clone()).unwrap();
        assert_eq!(state.sign_in, SignInMode::Any);
        assert_eq!(state.access_token_lifetime(), Some(SignedDuration::from_secs(1)));
        assert_eq!(state.refresh_token_lifetime(), Some(SignedDuration::from_mins(1)));
        assert_eq!(state.session_lifetime(), Some(SignedDuration::from_hours(720)));
        assert_eq!(state.compat, Compat::PublicPetstore);
        assert_eq!(serde_json::to_value(state).unwrap(), all);
        let default = serde_json::to_value(ControlState::default()).unwrap();
        assert_eq!(default, json!({"sign_in": "enforce", "compat": "strict"}));
    }

    #[test]
    fn unknown_members_and_values_out_of_bounds_are_rejected() {
        for (state, part) in [
            (json!({"sign-in": "off"}), "unknown field"),
            (json!({"sign_in": "on"}), "unknown variant"),
            (json!({"compat": "petstore"}), "unknown variant"),
            (json!({"access_token_seconds": 0}), "must be from 1 to 2592000 seconds"),
            (json!({"refresh_token_seconds": 2_592_001}), "must be from 1 to 2592000 seconds"),
            (json!({"session_seconds": -1}), "invalid number"),
            (json!({"calls_per_hour": 0}), "must be at least 1"),
            (json!({"tokens_not_before": "soon"}), "failed to parse"),
        ] {
            let error = read(state.clone()).unwrap_err();
            assert!(error.contains(part), "{state}: {error}");
        }
    }

    #[test]
    fn token_issued_before_the_set_time_has_expired() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let not_before = at("2026-05-13T10:00:00.5Z");
        let state = ControlState { tokens_not_before: Some(not_before), ..ControlState::default() };
        assert!(state.has_expired(at("2026-05-13T10:00:00.4Z")));
        assert!(!state.has_expired(not_before));
        assert!(!ControlState::default().has_expired(Timestamp::MIN));
    }

    #[test]
    fn lifetime_set_in_code_is_kept_within_the_bounds() {
        let state = ControlState {
            access_token_seconds: Some(0),
            session_seconds: Some(u32::MAX),
            ..Default::default()
        };
        assert_eq!(state.access_token_lifetime(), Some(SignedDuration::from_secs(1)));
        assert_eq!(state.session_lifetime(), Some(SignedDuration::from_hours(720)));
    }
}
