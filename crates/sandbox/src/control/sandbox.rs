//! The sandbox itself.

use axum::extract::State;
use http::StatusCode;
use web::{Problem, Reply, Result, problem::FORBIDDEN};

use super::{Control, Controller};
use crate::{api::SandboxInfo, open::unknown};

/// Get the sandbox
#[utoipa::path(
    get, path = "/", operation_id = "getSandbox", tag = "Sandbox",
    responses((status = 200, description = "The sandbox.", body = SandboxInfo)),
)]
pub(super) async fn show(
    Controller(_): Controller,
    State(control): State<Control>,
) -> Result<Reply<SandboxInfo>> {
    let row = control.sandboxes.row(&control.name).await?.ok_or_else(unknown)?;
    Ok(Reply(control.sandboxes.info(&row)))
}

/// Delete the sandbox
///
/// With all its data.
#[utoipa::path(
    delete, path = "/", operation_id = "deleteSandbox", tag = "Sandbox",
    responses(
        (status = 204, description = "The sandbox was deleted."),
        (status = 403, description = "The root services cannot be deleted."),
    ),
)]
pub(super) async fn delete(
    Controller(sandbox): Controller,
    State(control): State<Control>,
) -> Result<StatusCode> {
    if control.name.is_root() {
        return Err(Problem::new(&FORBIDDEN, "The root services are not a sandbox, and cannot be deleted."));
    }
    drop(sandbox);
    match control.sandboxes.delete(&control.name).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(unknown()),
    }
}
