//! The operations on one pet.

use axum::{extract::State, response::Response};
use model::Parameters;
use web::{Body, Both, Path, Problem, Query, ResponseFormat, Result, input::Fields, problem::NOT_FOUND};

use super::{LONGEST_NAME, NewPet, Pet, PetUpdate, Status, store};
use crate::{
    Petstore,
    caller::{KeyOrPetsCaller, PetsCaller},
};

/// Add a pet
///
/// A pet without an id gets one. An existing id replaces the pet with this id.
#[utoipa::path(
    post, path = "/pet", operation_id = "addPet", tag = "pet",
    request_body = NewPet,
    responses(
        (status = 200, description = "The pet as it is now.", body = Pet),
        (status = 400, description = "Invalid input"),
    ),
    security(("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn add(
    _caller: PetsCaller,
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    Body(new): Body<NewPet>,
) -> Result<Response> {
    let pet = match new.id {
        Some(id) => {
            let pet = new.with_id(id);
            let stored = pet.clone();
            petstore.db.write(move |tx| store::put(tx, &stored)).await?;
            pet
        }
        None => petstore.add_pet(new.with_id(0)).await?,
    };
    Ok(format.reply(&pet))
}

impl Petstore {
    /// Adds a pet under a free id.
    async fn add_pet(&self, pet: Pet) -> Result<Pet> {
        self.pet_ids
            .assign(1, |ids| {
                let pet = Pet { id: ids[0], ..pet.clone() };
                async move {
                    let stored = pet.clone();
                    let added = self.db.write(move |tx| store::insert(tx, &stored)).await?;
                    Ok(added.then_some(pet))
                }
            })
            .await
    }
}

/// Replace a pet
#[utoipa::path(
    put, path = "/pet", operation_id = "updatePet", tag = "pet",
    request_body = PetUpdate,
    responses(
        (status = 200, description = "The pet as it is now.", body = Pet),
        (status = 400, description = "Invalid ID supplied"),
        (status = 404, description = "There is no such pet."),
    ),
    security(("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn replace(
    _caller: PetsCaller,
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    Body(PetUpdate(pet)): Body<PetUpdate>,
) -> Result<Response> {
    let stored = pet.clone();
    let replaced = petstore.db.write(move |tx| store::replace(tx, &stored)).await?;
    if replaced { Ok(format.reply(&pet)) } else { Err(unknown()) }
}

/// Get a pet
#[utoipa::path(
    get, path = "/pet/{petId}", operation_id = "getPetById", tag = "pet",
    params(("petId" = i64, Path, description = "The pet's id.")),
    responses(
        (status = 200, description = "The pet.", body = Pet),
        (status = 400, description = "Invalid ID supplied"),
        (status = 404, description = "There is no such pet."),
    ),
    security(("api_key" = []), ("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn get(
    _caller: KeyOrPetsCaller,
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    Path(id): Path<i64>,
) -> Result<Response> {
    let pet = petstore.db.read(move |tx| store::by_id(tx, id)).await?;
    Ok(format.reply(&pet.ok_or_else(unknown)?))
}

#[derive(Parameters)]
#[resource(check = has_a_change)]
pub(crate) struct Change {
    /// The pet's new name.
    #[field(rule = text(1..=LONGEST_NAME), example = "doggie")]
    name: Option<String>,
    /// The pet's new status.
    #[field(rule = word::<Status>().inline(), example = "sold")]
    status: Option<Status>,
}

fn has_a_change(change: &PartialChange<'_>, fields: &mut Fields<'_>) {
    if let (Some(None), Some(None)) = (change.name, change.status) {
        fields.fail::<()>("name", "is required, or a status is: there is nothing to change");
    }
}

/// Change a pet's name or status
#[utoipa::path(
    post, path = "/pet/{petId}", operation_id = "updatePetWithForm", tag = "pet",
    params(("petId" = i64, Path, description = "The pet's id."), Change),
    responses(
        (status = 200, description = "The pet as it is now.", body = Pet),
        (status = 400, description = "Invalid input"),
        (status = 404, description = "There is no such pet."),
    ),
    security(("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn change(
    _caller: PetsCaller,
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    Both(Path(id), Query(Change { name, status })): Both<Path<i64>, Query<Change>>,
) -> Result<Response> {
    let pet = petstore.db.write(move |tx| store::change(tx, id, name.as_deref(), status)).await?;
    Ok(format.reply(&pet.ok_or_else(unknown)?))
}

/// Delete a pet
///
/// Its images are deleted with it.
#[utoipa::path(
    delete, path = "/pet/{petId}", operation_id = "deletePet", tag = "pet",
    params(
        ("petId" = i64, Path, description = "The pet's id."),
        ("api_key" = Option<String>, Header, description = "An API key, instead of an access token.", nullable = false),
    ),
    responses(
        (status = 200, description = "The pet is gone."),
        (status = 400, description = "Invalid pet value"),
        (status = 404, description = "There is no such pet."),
    ),
    security(("api_key" = []), ("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn delete(
    _caller: KeyOrPetsCaller,
    State(petstore): State<Petstore>,
    Path(id): Path<i64>,
) -> Result<Response> {
    let deleted = petstore.db.write(move |tx| store::delete(tx, id)).await?;
    petstore.habits().deleted(deleted, "The pet is deleted.", unknown())
}

pub(crate) fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, "There is no pet with this id.")
}
