//! The fault rules of a sandbox.

use axum::extract::State;
use http::StatusCode;
use model::Resource;
use uuid::Uuid;
use web::{Body, Created, Path, Problem, Reply, Result, problem::NOT_FOUND};

use super::{Control, Controller};
use crate::{
    fault::{FaultRule, NewFaultRule, Rules},
    store::{self, Part},
};

/// The fault rules of a sandbox.
#[derive(Debug, Clone, Resource)]
pub(super) struct FaultRules {
    /// In the order in which they were added: the first that applies to a call decides.
    #[field(items = 0..=50)]
    rules: Vec<FaultRule>,
}

/// List the fault rules
#[utoipa::path(
    get, path = "/faults", operation_id = "listFaults", tag = "Faults",
    responses((status = 200, description = "The rules.", body = FaultRules)),
)]
pub(super) async fn list_faults(Controller(sandbox): Controller) -> Reply<FaultRules> {
    let rules = sandbox.faults().unwrap_or_default();
    Reply(FaultRules { rules: rules.iter().cloned().collect() })
}

/// Add a fault rule
///
/// It applies to all calls that begin after the answer.
#[utoipa::path(
    post, path = "/faults", operation_id = "addFault", tag = "Faults",
    request_body = NewFaultRule,
    responses((status = 201, description = "The rule.", body = FaultRule,
        headers(("Location" = String, description = "Where the rule is.")))),
)]
pub(super) async fn add_fault(
    Controller(_): Controller,
    State(control): State<Control>,
    Body(new): Body<NewFaultRule>,
) -> Result<Created<FaultRule>> {
    let now = control.sandboxes.0.clock.now();
    let id = control.sandboxes.0.setup.random.uuid(now);
    let added = control
        .change_faults(move |rules| {
            let too_many = |error| Problem::invalid_at("#", format!("is one rule too many: {error}"));
            rules.add(new.clone(), id).cloned().map_err(too_many)
        })
        .await?;
    let location = format!("{}/faults/{id}", control.url());
    Ok(Created { location: Some(location), body: added })
}

/// Get a fault rule
#[utoipa::path(
    get, path = "/faults/{id}", operation_id = "getFault", tag = "Faults",
    params(("id" = Uuid, Path, description = "The rule's id.")),
    responses(
        (status = 200, description = "The rule.", body = FaultRule),
        (status = 404, description = "There is no such rule."),
    ),
)]
pub(super) async fn get_fault(
    Controller(sandbox): Controller,
    Path(id): Path<Uuid>,
) -> Result<Reply<FaultRule>> {
    let rules = sandbox.faults().unwrap_or_default();
    rules.get(id).cloned().map(Reply).ok_or_else(no_rule)
}

/// Delete a fault rule
#[utoipa::path(
    delete, path = "/faults/{id}", operation_id = "deleteFault", tag = "Faults",
    params(("id" = Uuid, Path, description = "The rule's id.")),
    responses(
        (status = 204, description = "The rule was deleted."),
        (status = 404, description = "There is no such rule."),
    ),
)]
pub(super) async fn delete_fault(
    Controller(_): Controller,
    State(control): State<Control>,
    Path(id): Path<Uuid>,
) -> Result<StatusCode> {
    control.change_faults(move |rules| if rules.remove(id) { Ok(()) } else { Err(no_rule()) }).await?;
    let name = control.name.to_string();
    let forget = move |tx: &mut db::WriteTx<'_>| store::forget_count(tx, &name, id);
    control.sandboxes.0.registry.write(forget).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Delete all fault rules
#[utoipa::path(
    delete, path = "/faults", operation_id = "clearFaults", tag = "Faults",
    responses((status = 204, description = "There are no rules.")),
)]
pub(super) async fn clear_faults(
    Controller(_): Controller,
    State(control): State<Control>,
) -> Result<StatusCode> {
    control
        .change_faults(|rules| {
            rules.clear();
            Ok(())
        })
        .await?;
    let name = control.name.to_string();
    let forget = move |tx: &mut db::WriteTx<'_>| store::forget_counts(tx, &name);
    control.sandboxes.0.registry.write(forget).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn no_rule() -> Problem {
    Problem::new(&NOT_FOUND, "There is no fault rule with this id.")
}

impl Control {
    async fn change_faults<R: Send + 'static>(
        &self,
        change: impl Fn(&mut Rules) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        self.change(Part::Faults, move |stored| {
            let mut rules = Rules::from_stored(stored).map_err(Problem::internal)?;
            let result = change(&mut rules)?;
            Ok((rules.stored().map_err(Problem::internal)?, result))
        })
        .await
    }
}
