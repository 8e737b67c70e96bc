//! Which server the pet store of a sandbox behaves like.

use axum::extract::State;
use model::{Resource, Words};
use web::{Body, Compat, ControlState, Reply, Result};

use super::{Control, Controller};

/// Which server the pet store behaves like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub(super) enum Habits {
    /// Its own, strict behaviour.
    Strict,
    /// The public sample server.
    #[words(word = "public-petstore")]
    PublicPetstore,
}

/// The compatibility of a sandbox.
#[derive(Debug, Clone, Resource)]
#[resource(new = NewCompatibility, closed)]
pub(super) struct Compatibility {
    petstore: Habits,
}

/// Get the compatibility
#[utoipa::path(
    get, path = "/compat", operation_id = "getCompat", tag = "Sandbox",
    responses((status = 200, description = "The compatibility.", body = Compatibility)),
)]
pub(super) async fn get_compat(Controller(sandbox): Controller) -> Reply<Compatibility> {
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
pub(super) async fn set_compat(
    Controller(_): Controller,
    State(control): State<Control>,
    Body(new): Body<NewCompatibility>,
) -> Result<Reply<Compatibility>> {
    let compat = match new.petstore {
        Habits::Strict => Compat::Strict,
        Habits::PublicPetstore => Compat::PublicPetstore,
    };
    control.change_controls(move |state| ControlState { compat, ..state }).await?;
    Ok(Reply(Compatibility { petstore: new.petstore }))
}
