//! Finding pets: lists as long as the data makes them, written page by page.

use axum::{extract::State, response::Response};
use db::{Error, Tx};
use utoipa::{
    IntoParams, PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{ObjectBuilder, Schema, Type},
    },
};
use web::{
    Query, Result, Wanted,
    input::{Fields, Input, rules},
    openapi::text_pattern,
    reply::Batch,
};

use super::{LONGEST_NAME, Pet, PetList, Status, store};
use crate::{Petstore, caller::PetsCaller};

/// How many pets are on a page while a list is written: so many, or fewer if they are so many bytes.
const PAGE: usize = 64;
const PAGE_BYTES: usize = 256 * 1024;
/// How many tags can be asked for at once: each is a look-up of its own.
const MOST_TAGS: usize = 100;

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct StatusParameters {
    /// The statuses to find, with commas between them or each as a parameter of its own. Available ones if absent.
    #[param(inline, required = false, style = Form, explode, default = json!(["available"]),
        example = json!(["available", "pending"]))]
    status: Vec<Status>,
}

pub(crate) struct ByStatus(Vec<Status>);

impl Input for ByStatus {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let mut statuses = fields.each("status", rules::one_of(Status::WORDS))?;
        statuses.sort_unstable();
        statuses.dedup();
        Some(ByStatus(if statuses.is_empty() { vec![Status::Available] } else { statuses }))
    }
}

/// Find pets by status
///
/// In order of their ids.
#[utoipa::path(
    get, path = "/pet/findByStatus", operation_id = "findPetsByStatus", tag = "pet",
    params(StatusParameters),
    responses(
        (status = 200, description = "The pets that have one of the statuses.",
            content((Vec<Pet> = "application/json"), (inline(PetList) = "application/xml"))),
        (status = 400, description = "Invalid status value"),
        (status = 403, description = "The access token lacks a scope."),
    ),
    security(("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn by_status(
    _caller: PetsCaller,
    wanted: Wanted,
    State(petstore): State<Petstore>,
    Query(ByStatus(statuses)): Query<ByStatus>,
) -> Result<Response> {
    list(wanted, petstore, statuses, |tx, status, after| {
        store::ids_of_status(tx, *status, after, PAGE as i64)
    })
    .await
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct TagParameters {
    /// The tags to find, with commas between them or each as a parameter of its own.
    #[param(value_type = Vec<TagName>, inline, style = Form, explode, min_items = 1, max_items = 100, example = json!(["tag1", "tag2"]))]
    tags: Vec<String>,
}

/// One tag: a comma is the end of it.
struct TagName;

impl PartialSchema for TagName {
    fn schema() -> RefOr<Schema> {
        let name = ObjectBuilder::new().schema_type(Type::String).max_length(Some(LONGEST_NAME));
        name.pattern(Some(text_pattern(",", false))).into()
    }
}

impl ToSchema for TagName {}

pub(crate) struct ByTags(Vec<String>);

impl Input for ByTags {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let mut tags = fields.each("tags", rules::text(1..=LONGEST_NAME))?;
        tags.sort_unstable();
        tags.dedup();
        match tags.len() {
            0 => fields.fail("tags", "must name at least one tag"),
            1..=MOST_TAGS => Some(ByTags(tags)),
            found => fields.fail("tags", format!("must name at most {MOST_TAGS} tags, not {found}")),
        }
    }
}

/// Find pets by tags
///
/// Those with any of the tags, each once, in order of their ids.
#[utoipa::path(
    get, path = "/pet/findByTags", operation_id = "findPetsByTags", tag = "pet",
    params(TagParameters),
    responses(
        (status = 200, description = "The pets that have one of the tags.",
            content((Vec<Pet> = "application/json"), (inline(PetList) = "application/xml"))),
        (status = 400, description = "Invalid tag value"),
        (status = 403, description = "The access token lacks a scope."),
    ),
    security(("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn by_tags(
    _caller: PetsCaller,
    wanted: Wanted,
    State(petstore): State<Petstore>,
    Query(ByTags(tags)): Query<ByTags>,
) -> Result<Response> {
    list(wanted, petstore, tags, |tx, tag, after| store::ids_tagged(tx, tag, after, PAGE as i64)).await
}

/// The ids of the next pets of a key after an id.
type NextOf<K> = fn(&mut Tx<'_>, &K, Option<i64>) -> Result<Vec<i64>, Error>;

/// Lists the pets that `next` finds for any of the keys, each once, in order of their ids.
async fn list<K: Send + Sync + 'static>(
    wanted: Wanted,
    petstore: Petstore,
    keys: Vec<K>,
    next: NextOf<K>,
) -> Result<Response> {
    let keys = std::sync::Arc::new(keys);
    wanted
        .list("pets", None, move |after| {
            let (db, keys) = (petstore.db.clone(), keys.clone());
            async move { Ok(db.read_long(move |tx| page(tx, &keys, after, next)).await?) }
        })
        .await
}

/// A page: the ids first, of all keys, and then each pet once, as long as there is room.
fn page<K>(
    tx: &mut Tx<'_>,
    keys: &[K],
    after: Option<i64>,
    next: NextOf<K>,
) -> Result<Batch<Pet, Option<i64>>, Error> {
    let mut ids = Vec::new();
    for key in keys {
        ids.extend(next(tx, key, after)?);
        // No more than a page at any time, however many keys there are.
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(PAGE);
    }
    let (mut items, mut bytes, mut looked_at) = (Vec::new(), 0, 0);
    for some in ids.chunks(store::SOME) {
        if bytes >= PAGE_BYTES {
            break;
        }
        let (pets, size) = store::some(tx, some)?;
        items.extend(pets);
        bytes += size;
        looked_at += some.len();
    }
    let is_last = looked_at == ids.len() && ids.len() < PAGE;
    let next = if is_last { None } else { looked_at.checked_sub(1).map(|last| Some(ids[last])) };
    Ok(Batch { items, next })
}
