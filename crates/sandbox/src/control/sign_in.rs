//! The sign-in of a sandbox.

use axum::extract::State;
use http::StatusCode;
use model::{Resource, Words};
use web::{Body, ControlState, Reply, Result, SignInMode};

use super::{Control, Controller, text_of};
use crate::store::Part;

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
#[resource(new = NewSignIn)]
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
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Body(new): Body<NewSignIn>,
) -> Result<Reply<SignIn>> {
    let number = |value: Option<i64>| value.and_then(|value| u32::try_from(value).ok());
    let state = ControlState {
        sign_in: match new.mode {
            Mode::Enforce => SignInMode::Enforce,
            Mode::Any => SignInMode::Any,
            Mode::Off => SignInMode::Off,
        },
        access_token_seconds: number(new.access_token_seconds),
        refresh_token_seconds: number(new.refresh_token_seconds),
        session_seconds: number(new.session_seconds),
        calls_per_hour: number(new.calls_per_hour),
        ..sandbox.controls.get()
    };
    control.set(Part::Controls, text_of(&state)?).await?;
    Ok(sign_in(state))
}

/// Expire all tokens
///
/// Access tokens, refresh tokens and sessions that exist now are not valid any more.
#[utoipa::path(
    post, path = "/sign-in/expire", operation_id = "expireTokens", tag = "Sign-in",
    responses((status = 204, description = "All tokens have expired.")),
)]
pub(super) async fn expire_tokens(
    Controller(sandbox): Controller,
    State(control): State<Control>,
) -> Result<StatusCode> {
    let state = ControlState { tokens_not_before: Some(sandbox.clock.now()), ..sandbox.controls.get() };
    control.set(Part::Controls, text_of(&state)?).await?;
    Ok(StatusCode::NO_CONTENT)
}
