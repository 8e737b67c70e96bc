//! Resets and snapshots.

use axum::extract::State;
use db::Db;
use futures_util::future::join_all;
use http::StatusCode;
use model::Resource;
use web::{Body, Created, Path, Problem, Reply, Result, problem::NOT_FOUND};

use super::{Control, Controller};
use crate::{Sandboxes, busy::Work, name, open::OpenSandbox, template::SEED};

/// Reset the data
///
/// The data is as it was when the sandbox was created. Accounts, keys, tokens and addresses stay valid. The demo accounts, the demo's
/// API key and its OAuth client are added again if they were deleted.
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
        if !found.into_iter().all(|found| found) {
            return Err(no_snapshot());
        }
        self.add_demo_sign_in(sandbox).await?;
        Ok(StatusCode::NO_CONTENT)
    }

    /// Adds the demo accounts, the API key and the client where they are missing, since the documented sign-in has to work after a
    /// reset.
    async fn add_demo_sign_in(&self, sandbox: &OpenSandbox) -> Result<()> {
        // Hashing a password takes some time of a core, so that accounts are added one after the other.
        let _one_at_a_time = self.sandboxes.0.demo_sign_in.lock().await;
        for (at, setup) in self.sandboxes.0.setup.services.iter().enumerate() {
            let service = self.sandboxes.service_of(sandbox, at).await?;
            setup.service.add_demo_sign_in(&service.instance).await.map_err(Problem::internal)?;
        }
        Ok(())
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
#[resource(new = NewSnapshot, closed)]
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
/// A snapshot of the same name is replaced. The snapshots of a sandbox are limited in number and in bytes.
#[utoipa::path(
    post, path = "/snapshots", operation_id = "saveSnapshot", tag = "Data",
    request_body = NewSnapshot,
    responses(
        (status = 201, description = "The data was saved.", body = Snapshot),
        (status = 429, description = "Another snapshot of this sandbox is being saved."),
    ),
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
    let _once_at_a_time = control.sandboxes.0.busy.begin(Work::Snapshot, &control.name)?;
    let data = control.sandboxes.data(&sandbox).await?;
    control.check_size(&data, &name).await?;
    let saved = all_of(data.iter().map(|(db, tables)| db.save_copy(&name, tables))).await;
    saved.map_err(|error| match error {
        db::Error::Constraint(_) => {
            Problem::invalid_at("#/name", "would be one snapshot too many; delete one first")
        }
        error => error.into(),
    })?;
    Ok(Created { location: None, body: Snapshot { name } })
}

impl Control {
    /// Rejects a snapshot with which the snapshots of the sandbox would take more bytes than they can. One that it replaces, and the
    /// seed, are not counted.
    async fn check_size(&self, data: &[(Db, &'static [&'static str])], name: &str) -> Result<()> {
        let except = [SEED, name];
        let sizes = all_of(data.iter().map(|(db, tables)| db.copy_bytes(&except, tables))).await?;
        let (others, new) =
            sizes.iter().fold((0, 0), |(others, new), size| (others + size.copies, new + size.tables));
        let most = self.sandboxes.0.setup.limits.snapshot_bytes;
        if others + new <= most {
            return Ok(());
        }
        Err(Problem::invalid_at(
            "#",
            match others {
                0 => format!(
                    "would take more than the {most} bytes that snapshots can have; delete some of the data first"
                ),
                _ => format!(
                    "would take more bytes than are left of the {most} for all snapshots; delete one first"
                ),
            },
        ))
    }
}

/// Restore a snapshot
///
/// Accounts, keys and tokens are treated as by a reset.
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
