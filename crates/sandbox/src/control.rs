//! The controls of one sandbox, below `/sandbox/{name}/_control`.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use http::{StatusCode, request::Parts};
use jiff::{SignedDuration, Timestamp};
use model::{Input, Resource, Words};
use utoipa::OpenApi;
use web::{
    App, Background, Body, Clock, ClockError, Compat, ControlState, Created, Path, Problem, Reply, Result,
    SignInMode,
    openapi::{ApiRoutes, ProblemFormats},
    problem::NOT_FOUND,
    routes,
};

use crate::{
    DATABASE, Sandboxes,
    api::{SandboxInfo, TokenScheme, unauthorized},
    front::CONTROL,
    name::Name,
    open::{OpenSandbox, unknown},
    store::{self, Part},
    template::SEED,
    token,
};

/// What the operations need.
#[derive(Clone)]
pub(crate) struct Control {
    sandboxes: Sandboxes,
    name: Name,
}

pub(crate) async fn app(sandboxes: &Sandboxes, name: &Name, at: usize) -> App {
    let setup = &sandboxes.0.setup.services[at];
    let address = format!("{}{}{CONTROL}", setup.address, name.path());
    let (handlers, document) = ApiRoutes::new("", Document::openapi())
        .routes(routes!(show, delete))
        .routes(routes!(reset))
        .routes(routes!(list_snapshots, save_snapshot, delete_snapshot))
        .routes(routes!(restore_snapshot))
        .routes(routes!(get_clock, set_clock))
        .routes(routes!(get_sign_in, set_sign_in))
        .routes(routes!(expire_tokens))
        .routes(routes!(get_compat, set_compat))
        .finish();
    let openapi = web::openapi::at_address(web::openapi::complete(document, ProblemFormats::Json), &address);
    web::Service {
        title: "Sandbox controls",
        about: "Resets, snapshots, the clock and the sign-in of a sandbox.",
        api: handlers.with_state(&Control { sandboxes: sandboxes.clone(), name: name.clone() }),
        prefix: "",
        address: &address,
        openapi,
        problems: &[],
        db: sandboxes.0.registry.clone(),
        background: Background::new(DATABASE, sandboxes.0.clock.clone()),
        limits: setup.limits,
        validation: None,
        xml: false,
        key_headers: &[],
        extra_routes: axum::Router::new(),
        exposed: &[],
        documentation_client: None,
    }
    .into_app()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sandbox controls",
        version = "1.0.0",
        description = "Resets, snapshots, the clock and the sign-in of a sandbox.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    servers((url = "/", description = "This sandbox")),
    security(("control_token" = [])),
    modifiers(&TokenScheme),
    tags(
        (name = "Sandbox", description = "The sandbox itself."),
        (name = "Data", description = "Resets and snapshots."),
        (name = "Clock", description = "The time in the sandbox."),
        (name = "Sign-in", description = "How strictly credentials are checked, and for how long they are valid."),
    ),
)]
struct Document;

/// A caller with the control token of the sandbox, or with the operator's token.
struct Controller(Arc<OpenSandbox>);

impl FromRequestParts<Control> for Controller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, control: &Control) -> Result<Self> {
        let refused =
            || unauthorized("This operation needs the control token of this sandbox, as a bearer token.");
        let sent = token::sent(&parts.headers).ok_or_else(refused)?;
        let sandbox = control.sandboxes.get(&control.name).await?;
        let is_valid = sent == sandbox.row().token_hash || sent == control.sandboxes.0.operator_hash;
        if is_valid { Ok(Controller(sandbox)) } else { Err(refused()) }
    }
}

/// Get the sandbox
#[utoipa::path(
    get, path = "/", operation_id = "getSandbox", tag = "Sandbox",
    responses((status = 200, description = "The sandbox.", body = SandboxInfo)),
)]
async fn show(Controller(_): Controller, State(control): State<Control>) -> Result<Reply<SandboxInfo>> {
    let row = control.sandboxes.row(&control.name).await?.ok_or_else(unknown)?;
    Ok(Reply(control.sandboxes.info(&row)))
}

/// Delete the sandbox
///
/// With all its data.
#[utoipa::path(
    delete, path = "/", operation_id = "deleteSandbox", tag = "Sandbox",
    responses((status = 204, description = "The sandbox was deleted.")),
)]
async fn delete(Controller(sandbox): Controller, State(control): State<Control>) -> Result<StatusCode> {
    drop(sandbox);
    match control.sandboxes.delete(&control.name).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(unknown()),
    }
}

/// Reset the data
///
/// The data is as it was when the sandbox was created. Accounts, keys, tokens and addresses stay valid.
#[utoipa::path(
    post, path = "/reset", operation_id = "resetSandbox", tag = "Data",
    responses((status = 204, description = "The data was reset.")),
)]
async fn reset(Controller(sandbox): Controller, State(control): State<Control>) -> Result<StatusCode> {
    control.restore(&sandbox, SEED).await
}

impl Control {
    async fn restore(&self, sandbox: &OpenSandbox, snapshot: &str) -> Result<StatusCode> {
        let mut found = true;
        for (at, setup) in self.sandboxes.0.setup.services.iter().enumerate() {
            let db = &self.sandboxes.service(sandbox, at).await?.db;
            found &= db.restore_copy(snapshot, setup.service.description().data_tables).await?;
        }
        if found { Ok(StatusCode::NO_CONTENT) } else { Err(no_snapshot()) }
    }

    /// Changes a part of the sandbox, and answers when every process has seen it.
    async fn set(&self, part: Part, state: String) -> Result<()> {
        let name = self.name.to_string();
        let registry = &self.sandboxes.0.registry;
        if !registry.write(move |tx| store::set_part(tx, &name, part, &state)).await? {
            return Err(unknown());
        }
        let row = self.sandboxes.row(&self.name).await?.ok_or_else(unknown)?;
        self.sandboxes.changed(row);
        self.sandboxes.wait_for_other_processes().await;
        Ok(())
    }
}

fn no_snapshot() -> Problem {
    Problem::new(&NOT_FOUND, "There is no snapshot with this name.")
}

/// A snapshot of the data.
#[derive(Debug, Clone, Resource)]
#[resource(new = NewSnapshot)]
struct Snapshot {
    #[field(rule = text(1..=32).pattern("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"), example = "before-payment")]
    name: String,
}

/// The snapshots of a sandbox.
#[derive(Debug, Clone, Resource)]
struct Snapshots {
    #[field(items = 0..=20)]
    snapshots: Vec<Snapshot>,
}

/// List the snapshots
#[utoipa::path(
    get, path = "/snapshots", operation_id = "listSnapshots", tag = "Data",
    responses((status = 200, description = "The snapshots, in the order of their names.", body = Snapshots)),
)]
async fn list_snapshots(
    Controller(sandbox): Controller,
    State(control): State<Control>,
) -> Result<Reply<Snapshots>> {
    let service = control.sandboxes.service(&sandbox, 0).await?;
    let names = service.db.copies().await?;
    let snapshots = names.into_iter().filter(|name| name != SEED).map(|name| Snapshot { name }).collect();
    Ok(Reply(Snapshots { snapshots }))
}

/// Save a snapshot
///
/// A snapshot of the same name is replaced.
#[utoipa::path(
    post, path = "/snapshots", operation_id = "saveSnapshot", tag = "Data",
    request_body = NewSnapshot,
    responses((status = 201, description = "The data was saved.", body = Snapshot)),
)]
async fn save_snapshot(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Body(new): Body<NewSnapshot>,
) -> Result<Created<Snapshot>> {
    let name = new.name;
    if name == SEED {
        return Err(Problem::invalid_at("#/name", "must not be seed, which is the state at the creation"));
    }
    for (at, setup) in control.sandboxes.0.setup.services.iter().enumerate() {
        let db = &control.sandboxes.service(&sandbox, at).await?.db;
        let saved = db.save_copy(&name, setup.service.description().data_tables).await;
        saved.map_err(|error| match error {
            db::Error::Constraint(_) => {
                Problem::invalid_at("#/name", "would be one snapshot too many; delete one first")
            }
            error => error.into(),
        })?;
    }
    Ok(Created { location: None, body: Snapshot { name } })
}

/// Restore a snapshot
#[utoipa::path(
    post, path = "/snapshots/{name}/restore", operation_id = "restoreSnapshot", tag = "Data",
    params(("name" = String, Path, description = "The snapshot's name.")),
    responses(
        (status = 204, description = "The data is that of the snapshot."),
        (status = 404, description = "There is no such snapshot."),
    ),
)]
async fn restore_snapshot(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Path(name): Path<String>,
) -> Result<StatusCode> {
    if !db::is_name(&name) {
        return Err(no_snapshot());
    }
    control.restore(&sandbox, &name).await
}

/// Delete a snapshot
#[utoipa::path(
    delete, path = "/snapshots/{name}", operation_id = "deleteSnapshot", tag = "Data",
    params(("name" = String, Path, description = "The snapshot's name.")),
    responses(
        (status = 204, description = "The snapshot was deleted."),
        (status = 404, description = "There is no such snapshot."),
    ),
)]
async fn delete_snapshot(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Path(name): Path<String>,
) -> Result<StatusCode> {
    if !db::is_name(&name) || name == SEED {
        return Err(no_snapshot());
    }
    let mut found = false;
    for at in 0..control.sandboxes.0.setup.services.len() {
        found |= control.sandboxes.service(&sandbox, at).await?.db.delete_copy(&name).await?;
    }
    if found { Ok(StatusCode::NO_CONTENT) } else { Err(no_snapshot()) }
}

/// The clock of a sandbox.
#[derive(Debug, Clone, Resource)]
struct SandboxClock {
    /// The time in the sandbox.
    time: Timestamp,
    /// Whether the clock stands still.
    frozen: bool,
}

/// What is to change about the clock; what is absent stays.
#[derive(Debug, Clone, Input)]
struct ClockChange {
    /// The time to set.
    time: Option<Timestamp>,
    /// By how much to move the clock: `1h`, `90m`, `2 days`, `PT1H`; with a minus sign, back.
    #[field(rule = text(1..=50), example = "1h")]
    advance: Option<String>,
    /// Whether the clock is to stand still.
    frozen: Option<bool>,
}

fn shown(clock: &Clock) -> Reply<SandboxClock> {
    Reply(SandboxClock { time: clock.now(), frozen: clock.state().frozen_at.is_some() })
}

/// Get the clock
#[utoipa::path(
    get, path = "/clock", operation_id = "getClock", tag = "Clock",
    responses((status = 200, description = "The clock.", body = SandboxClock)),
)]
async fn get_clock(Controller(sandbox): Controller) -> Reply<SandboxClock> {
    shown(&sandbox.clock)
}

/// Move the clock
///
/// Holds, tokens, sessions and idempotency keys expire, and webhooks are sent again, as if the time had passed.
#[utoipa::path(
    patch, path = "/clock", operation_id = "setClock", tag = "Clock",
    request_body = ClockChange,
    responses((status = 200, description = "The clock.", body = SandboxClock)),
)]
async fn set_clock(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Body(change): Body<ClockChange>,
) -> Result<Reply<SandboxClock>> {
    let (machine, mut state) = (Clock::machine_time(), sandbox.clock.state());
    let out_of_range = |pointer: &'static str| {
        move |error: ClockError| Problem::invalid_at(pointer, format!("cannot be used: {error}"))
    };
    if let Some(time) = change.time {
        state = state.set(machine, time).map_err(out_of_range("#/time"))?;
    }
    if let Some(text) = &change.advance {
        let by: SignedDuration = duration(text).ok_or_else(|| {
            Problem::invalid_at("#/advance", "must be a duration like 1h, 90m, 2 days or PT1H")
        })?;
        state = state.advance(machine, by).map_err(out_of_range("#/advance"))?;
    }
    state = match change.frozen {
        Some(true) => state.freeze(machine),
        Some(false) => state.resume(machine),
        None => state,
    };
    control.set(Part::Clock, text_of(&state)?).await?;
    Ok(shown(&sandbox.clock))
}

/// Reads a duration; a day has 24 hours.
fn duration(text: &str) -> Option<SignedDuration> {
    let span: jiff::Span = text.parse().ok()?;
    span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()
}

fn text_of(state: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(state).map_err(Problem::internal)
}

/// How credentials are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum Mode {
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
struct SignIn {
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
async fn get_sign_in(Controller(sandbox): Controller) -> Reply<SignIn> {
    sign_in(sandbox.controls.get())
}

/// Set the sign-in
#[utoipa::path(
    put, path = "/sign-in", operation_id = "setSignIn", tag = "Sign-in",
    request_body = NewSignIn,
    responses((status = 200, description = "The sign-in.", body = SignIn)),
)]
async fn set_sign_in(
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
async fn expire_tokens(
    Controller(sandbox): Controller,
    State(control): State<Control>,
) -> Result<StatusCode> {
    let state = ControlState { tokens_not_before: Some(sandbox.clock.now()), ..sandbox.controls.get() };
    control.set(Part::Controls, text_of(&state)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which server the pet store behaves like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
enum Habits {
    /// Its own, strict behaviour.
    Strict,
    /// The public sample server.
    #[words(word = "public-petstore")]
    PublicPetstore,
}

/// The compatibility of a sandbox.
#[derive(Debug, Clone, Resource)]
#[resource(new = NewCompatibility)]
struct Compatibility {
    petstore: Habits,
}

/// Get the compatibility
#[utoipa::path(
    get, path = "/compat", operation_id = "getCompat", tag = "Sandbox",
    responses((status = 200, description = "The compatibility.", body = Compatibility)),
)]
async fn get_compat(Controller(sandbox): Controller) -> Reply<Compatibility> {
    let petstore = match sandbox.controls.get().compat {
        Compat::Strict => Habits::Strict,
        Compat::PublicPetstore => Habits::PublicPetstore,
    };
    Reply(Compatibility { petstore })
}

/// Set the compatibility
#[utoipa::path(
    put, path = "/compat", operation_id = "setCompat", tag = "Sandbox",
    request_body = NewCompatibility,
    responses((status = 200, description = "The compatibility.", body = Compatibility)),
)]
async fn set_compat(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Body(new): Body<NewCompatibility>,
) -> Result<Reply<Compatibility>> {
    let compat = match new.petstore {
        Habits::Strict => Compat::Strict,
        Habits::PublicPetstore => Compat::PublicPetstore,
    };
    let state = ControlState { compat, ..sandbox.controls.get() };
    control.set(Part::Controls, text_of(&state)?).await?;
    Ok(Reply(Compatibility { petstore: new.petstore }))
}
