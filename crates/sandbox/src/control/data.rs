//! Resets and snapshots.

use axum::extract::State;
use db::Db;
use futures_util::future::join_all;
use http::StatusCode;
use model::Resource;
use web::{Body, Created, Path, Problem, Reply, Result, problem::NOT_FOUND};

use super::{Control, Controller};
use crate::{Sandboxes, name, open::OpenSandbox, template::SEED};

/// Reset the data
///
/// The data is as it was when the sandbox was created. Accounts, keys, tokens and addresses stay valid.
#[utoipa::path(
    post, path = "/reset", operation_id = "resetSandbox", tag = "Data",
    responses((status = 204, description = "The data was reset.")),
)]
pub(super) async fn reset(
    Controller(sandbox): Controller,
    State(control): State<Control>,
) -> Result<StatusCode> {
    control.restore(&sandbox, SEED).await
}

impl Control {
    /// Restores the data of all services.
    async fn restore(&self, sandbox: &OpenSandbox, snapshot: &str) -> Result<StatusCode> {
        let data = self.sandboxes.data(sandbox).await?;
        let restored = data.iter().map(|(db, tables)| db.restore_copy(snapshot, tables));
        let found = all_of(restored).await?;
        if found.into_iter().all(|found| found) { Ok(StatusCode::NO_CONTENT) } else { Err(no_snapshot()) }
    }
}

impl Sandboxes {
    /// The database of each service of a sandbox, opened if it is not yet, with the names of its data tables.
    pub(super) async fn data(&self, sandbox: &OpenSandbox) -> Result<Vec<(Db, &'static [&'static str])>> {
        let services = self.0.setup.services.iter().enumerate();
        let data = services.map(|(at, setup)| async move {
            let db = self.service_of(sandbox, at).await?.instance.db.clone();
            Ok((db, setup.service.description().data_tables))
        });
        all_of(data).await
    }
}

/// Does the work of all services at the same time. It has ended everywhere when it has failed in one.
async fn all_of<T, E>(work: impl Iterator<Item = impl Future<Output = Result<T, E>>>) -> Result<Vec<T>, E> {
    join_all(work).await.into_iter().collect()
}

fn no_snapshot() -> Problem {
    Problem::new(&NOT_FOUND, "There is no snapshot with this name.")
}

/// A snapshot of the data.
#[derive(Debug, Clone, Resource)]
#[resource(new = NewSnapshot)]
pub(super) struct Snapshot {
    #[field(rule = name::rule(), example = "before-payment")]
    name: String,
}

/// The snapshots of a sandbox.
#[derive(Debug, Clone, Resource)]
pub(super) struct Snapshots {
    #[field(items = 0..=20)]
    snapshots: Vec<Snapshot>,
}

/// List the snapshots
#[utoipa::path(
    get, path = "/snapshots", operation_id = "listSnapshots", tag = "Data",
    responses((status = 200, description = "The snapshots, in the order of their names.", body = Snapshots)),
)]
pub(super) async fn list_snapshots(
    Controller(sandbox): Controller,
    State(control): State<Control>,
) -> Result<Reply<Snapshots>> {
    let service = control.sandboxes.service_of(&sandbox, 0).await?;
    let names = service.instance.db.copies().await?;
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
pub(super) async fn save_snapshot(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Body(new): Body<NewSnapshot>,
) -> Result<Created<Snapshot>> {
    let name = new.name;
    if name == SEED {
        return Err(Problem::invalid_at("#/name", "must not be seed, which is the state at the creation"));
    }
    let data = control.sandboxes.data(&sandbox).await?;
    let saved = all_of(data.iter().map(|(db, tables)| db.save_copy(&name, tables))).await;
    saved.map_err(|error| match error {
        db::Error::Constraint(_) => {
            Problem::invalid_at("#/name", "would be one snapshot too many; delete one first")
        }
        error => error.into(),
    })?;
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
pub(super) async fn restore_snapshot(
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
pub(super) async fn delete_snapshot(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Path(name): Path<String>,
) -> Result<StatusCode> {
    if !db::is_name(&name) || name == SEED {
        return Err(no_snapshot());
    }
    let data = control.sandboxes.data(&sandbox).await?;
    let found = all_of(data.iter().map(|(db, _)| db.delete_copy(&name))).await?;
    if found.into_iter().any(|found| found) { Ok(StatusCode::NO_CONTENT) } else { Err(no_snapshot()) }
}
