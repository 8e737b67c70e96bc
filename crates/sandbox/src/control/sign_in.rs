//! The sign-in of a sandbox.

use axum::extract::State;
use http::StatusCode;
use identity::oauth::OldKeys;
use jiff::SignedDuration;
use model::{Input, Resource, Words};
use web::{Body, Clock, ClockState, ControlState, Problem, Reply, Result, SignInMode};

use super::{Control, Controller};
use crate::busy::Work;

/// How credentials are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub(super) enum Mode {
    /// They must be valid.
    Enforce,
    /// Any of the right form act as the demo user.
    Any,
    /// None are needed; each call acts as the demo user.
    Off,
}

/// The sign-in of a sandbox.
#[derive(Debug, Clone, Resource)]
#[resource(new = NewSignIn, closed)]
pub(super) struct SignIn {
    mode: Mode,
    /// The lifetime of new access tokens, if it is not the usual one.
    #[field(rule = integer(1..=2_592_000))]
    access_token_seconds: Option<i64>,
    /// The lifetime of new refresh tokens, if it is not the usual one.
    #[field(rule = integer(1..=2_592_000))]
    refresh_token_seconds: Option<i64>,
    /// The lifetime of new sessions, if it is not the usual one.
    #[field(rule = integer(1..=2_592_000))]
    session_seconds: Option<i64>,
    /// How many calls an hour a caller may make, if that is less than usual.
    #[field(rule = integer(1..=1_000_000))]
    calls_per_hour: Option<i64>,
}

/// What becomes of the old keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[words(name = "OldKeys")]
pub(super) enum Old {
    /// Their tokens stay valid until they expire.
    Keep,
    /// Their tokens are not valid any more.
    Remove,
}

/// A rotation of the signing keys.
#[derive(Debug, Clone, Input)]
#[resource(closed)]
pub(super) struct KeyRotation {
    #[field(default = Old::Keep)]
    old: Old,
}

fn sign_in(state: ControlState) -> Reply<SignIn> {
    Reply(SignIn {
        mode: match state.sign_in {
            SignInMode::Enforce => Mode::Enforce,
            SignInMode::Any => Mode::Any,
            SignInMode::Off => Mode::Off,
        },
        access_token_seconds: state.access_token_seconds.map(Into::into),
        refresh_token_seconds: state.refresh_token_seconds.map(Into::into),
        session_seconds: state.session_seconds.map(Into::into),
        calls_per_hour: state.calls_per_hour.map(Into::into),
    })
}

/// Get the sign-in
#[utoipa::path(
    get, path = "/sign-in", operation_id = "getSignIn", tag = "Sign-in",
    responses((status = 200, description = "The sign-in.", body = SignIn)),
)]
pub(super) async fn get_sign_in(Controller(sandbox): Controller) -> Reply<SignIn> {
    sign_in(sandbox.controls.get())
}

/// Set the sign-in
#[utoipa::path(
    put, path = "/sign-in", operation_id = "setSignIn", tag = "Sign-in",
    request_body = NewSignIn,
    responses((status = 200, description = "The sign-in.", body = SignIn)),
)]
pub(super) async fn set_sign_in(
    Controller(_): Controller,
    State(control): State<Control>,
    Body(new): Body<NewSignIn>,
) -> Result<Reply<SignIn>> {
    let number = |value: Option<i64>| value.and_then(|value| u32::try_from(value).ok());
    let mode = match new.mode {
        Mode::Enforce => SignInMode::Enforce,
        Mode::Any => SignInMode::Any,
        Mode::Off => SignInMode::Off,
    };
    let change = move |state: ControlState| ControlState {
        sign_in: mode,
        access_token_seconds: number(new.access_token_seconds),
        refresh_token_seconds: number(new.refresh_token_seconds),
        session_seconds: number(new.session_seconds),
        calls_per_hour: number(new.calls_per_hour),
        ..state
    };
    Ok(sign_in(control.change_controls(change).await?))
}

/// Expire all tokens
///
/// Access tokens, refresh tokens and sessions that exist now are not valid any more.
#[utoipa::path(
    post, path = "/sign-in/expire", operation_id = "expireTokens", tag = "Sign-in",
    responses((status = 204, description = "All tokens have expired.")),
)]
pub(super) async fn expire_tokens(
    Controller(_): Controller,
    State(control): State<Control>,
) -> Result<StatusCode> {
    let machine = Clock::machine_time();
    let expire = move |clock: ClockState, controls| {
        // A frozen clock moves by a microsecond: otherwise tokens from before and after this would have the same time.
        let later = clock.frozen_at.and_then(|_| clock.advance(machine, SignedDuration::from_micros(1)).ok());
        let clock = later.unwrap_or(clock);
        Ok((clock, ControlState { tokens_not_before: Some(clock.now(machine)), ..controls }))
    };
    control.change_clock(expire).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Rotate the signing keys
///
/// Each service that issues tokens signs with a new key from now on. With `old` as `remove`, the tokens of the old keys are not
/// valid any more, and the old keys are not in the key set. A sandbox does one rotation at a time.
#[utoipa::path(
    post, path = "/sign-in/rotate-keys", operation_id = "rotateKeys", tag = "Sign-in",
    request_body = KeyRotation,
    responses(
        (status = 204, description = "There are new keys."),
        (status = 429, description = "The keys of this sandbox are being rotated."),
    ),
)]
pub(super) async fn rotate_keys(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Body(rotation): Body<KeyRotation>,
) -> Result<StatusCode> {
    let old = match rotation.old {
        Old::Keep => OldKeys::Keep,
        Old::Remove => OldKeys::Drop,
    };
    let _once_at_a_time = control.sandboxes.0.busy.begin(Work::KeyRotation, &control.name)?;
    // Making a key takes some time of a core, so that keys are made one after the other.
    let _one_at_a_time = control.sandboxes.0.key_rotation.lock().await;
    for (at, setup) in control.sandboxes.0.setup.services.iter().enumerate() {
        let service = control.sandboxes.service_of(&sandbox, at).await?;
        let rotated = setup.service.description().rotate_keys(&service.instance, old).await;
        rotated.map_err(Problem::internal)?;
    }
    // Every process reads its keys again.
    let change = |state: ControlState| ControlState { key_rotations: state.key_rotations + 1, ..state };
    control.change_controls(change).await?;
    Ok(StatusCode::NO_CONTENT)
}
