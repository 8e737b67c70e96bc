//! The controls of one sandbox, below `/sandbox/{name}/_control`.

mod clock;
mod compat;
mod data;
mod faults;
mod journal;
mod sandbox;
mod sign_in;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use utoipa::OpenApi;
use web::{App, ClockState, ControlState, Problem, Result, openapi::ApiRoutes, routes};

use crate::{
    Sandboxes,
    api::{TokenScheme, control_url, unauthorized},
    name::{CONTROL, Name},
    open::{OpenSandbox, clock_state, control_state, unknown},
    service_app::{Api, service_app},
    store::{self, Part},
    token,
};

const ABOUT: &str = "Resets, snapshots, the clock, the sign-in, the faults and the journal of a sandbox.";

/// What the operations need.
#[derive(Clone)]
struct Control {
    sandboxes: Sandboxes,
    name: Name,
}

pub(crate) fn app(sandboxes: &Sandboxes, name: &Name, at: usize) -> App {
    let (handlers, document) = ApiRoutes::new("", Document::openapi())
        .routes(routes!(sandbox::show, sandbox::delete))
        .routes(routes!(data::reset))
        .routes(routes!(data::list_snapshots, data::save_snapshot, data::delete_snapshot))
        .routes(routes!(data::restore_snapshot))
        .routes(routes!(clock::get_clock, clock::set_clock))
        .routes(routes!(sign_in::get_sign_in, sign_in::set_sign_in))
        .routes(routes!(sign_in::expire_tokens))
        .routes(routes!(sign_in::rotate_keys))
        .routes(routes!(compat::get_compat, compat::set_compat))
        .routes(routes!(faults::list_faults, faults::add_fault, faults::clear_faults))
        .routes(routes!(faults::get_fault, faults::delete_fault))
        .routes(routes!(journal::list_calls, journal::clear_journal))
        .routes(routes!(journal::export_har))
        .routes(routes!(journal::follow_calls))
        .routes(routes!(journal::get_call))
        .routes(routes!(journal::get_curl))
        .finish();
    let api = Api {
        title: "Sandbox controls",
        about: ABOUT,
        path: format!("{}{CONTROL}", name.path()),
        handlers: handlers.with_state(&Control { sandboxes: sandboxes.clone(), name: name.clone() }),
        document,
        problems: &[],
    };
    service_app(sandboxes, at, api)
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sandbox controls",
        version = "1.0.0",
        description = ABOUT,
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    servers((url = "/", description = "This sandbox")),
    security(("control_token" = [])),
    modifiers(&TokenScheme),
    tags(
        (name = "Sandbox", description = "The sandbox itself."),
        (name = "Data", description = "Resets and snapshots."),
        (name = "Clock", description = "The time in the sandbox."),
        (name = "Faults", description = "Calls and deliveries that fail on purpose."),
        (name = "Journal", description = "The last calls."),
        (name = "Sign-in", description = "How strictly credentials are checked, and for how long they are valid."),
    ),
)]
struct Document;

/// A caller with the control token of the sandbox, or with the operator's token.
struct Controller(Arc<OpenSandbox>);

impl FromRequestParts<Control> for Controller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, control: &Control) -> Result<Self> {
        let refused = || {
            unauthorized(match control.name.is_root() {
                true => "This operation needs the operator's token, as a bearer token.",
                false => "This operation needs the control token of this sandbox, as a bearer token.",
            })
        };
        let sent = token::sent(&parts.headers).ok_or_else(refused)?;
        let sandbox = control.sandboxes.get(&control.name).await?;
        let is_valid = sent == sandbox.row().token_hash || sent == control.sandboxes.0.operator_hash;
        if is_valid { Ok(Controller(sandbox)) } else { Err(refused()) }
    }
}

impl Control {
    /// Changes a part of the sandbox, from its stored state to another one, and answers when every process has seen it.
    async fn change<R: Send + 'static>(
        &self,
        part: Part,
        change: impl Fn(&str) -> Result<(String, R)> + Send + 'static,
    ) -> Result<R> {
        let name = self.name.to_string();
        let registry = &self.sandboxes.0.registry;
        let result = registry.write(move |tx| store::change_part(tx, &name, part, &change)).await?;
        self.publish().await?;
        result.ok_or_else(unknown)
    }

    /// Changes the clock, and the controls with it, in one transaction.
    async fn change_clock(
        &self,
        change: impl Fn(ClockState, ControlState) -> Result<(ClockState, ControlState)> + Send + 'static,
    ) -> Result<()> {
        let name = self.name.to_string();
        let changed = self.sandboxes.0.registry.write(move |tx| {
            store::change_clock(tx, &name, |row| {
                let (clock, controls) = change(clock_state(row), control_state(row))?;
                Ok::<_, Problem>((text_of(&clock)?, text_of(&controls)?))
            })
        });
        if changed.await? { self.publish().await } else { Err(unknown()) }
    }

    /// Takes over a change in this process, and waits until every other process has seen it.
    async fn publish(&self) -> Result<()> {
        let row = self.sandboxes.row(&self.name).await?.ok_or_else(unknown)?;
        self.sandboxes.changed(row);
        self.sandboxes.wait_for_other_processes().await;
        Ok(())
    }

    /// The address of the controls.
    fn url(&self) -> String {
        control_url(&self.sandboxes, &self.name)
    }

    async fn change_controls(
        &self,
        change: impl Fn(ControlState) -> ControlState + Send + 'static,
    ) -> Result<ControlState> {
        self.change(Part::Controls, move |stored| {
            let state = change(serde_json::from_str(stored).unwrap_or_default());
            Ok((text_of(&state)?, state))
        })
        .await
    }
}

fn text_of(state: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(state).map_err(Problem::internal)
}
