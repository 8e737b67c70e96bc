//! Finds pets: streamed lists.

use axum::{extract::State, response::Response};
use db::{Error, Tx};
use model::Parameters;
use web::{
    Query, ResponseFormat, Result,
    input::rules::{Rule, text, text_object},
    openapi::text_pattern,
    reply::Batch,
};

use super::{LONGEST_NAME, Pet, Status, store};
use crate::{Petstore, caller::PetsCaller};

/// The maximum number of pets and bytes of a page of a streamed list.
const PAGE: usize = 64;
const PAGE_BYTES: usize = 256 * 1024;
/// How many tags a search may have: each is a separate query.
const MOST_TAGS: usize = 100;

#[derive(Parameters)]
pub(crate) struct ByStatus {
    /// The statuses to find, separated by commas or as repeated parameters. The default is `available`.
    #[field(rule = values(word::<Status>().inline()), default = vec![Status::Available],
        example = [Status::Available, Status::Pending])]
    status: Vec<Status>,
}

/// Find pets by status
///
/// Lists the pets in order of their ids.
#[utoipa::path(
    get, path = "/pet/findByStatus", operation_id = "findPetsByStatus", tag = "pet",
    params(ByStatus),
    responses(
        (status = 200, description = "The pets that have one of the statuses.", body = Vec<Pet>),
        (status = 400, description = "Invalid status value"),
    ),
    security(("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn by_status(
    _caller: PetsCaller,
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    Query(ByStatus { status }): Query<ByStatus>,
) -> Result<Response> {
    list(format, petstore, status, |tx, status, after| store::ids_of_status(tx, *status, after, PAGE as i64))
        .await
}

#[derive(Parameters)]
pub(crate) struct ByTags {
    /// The tags to find, separated by commas or as repeated parameters.
    #[field(rule = values(tag()).named(1..=MOST_TAGS, "tag"), example = ["tag1", "tag2"])]
    tags: Vec<String>,
}

/// One tag, without commas.
fn tag() -> impl Rule<Value = String> {
    let described = text_object().max_length(Some(LONGEST_NAME)).pattern(Some(text_pattern(",", false)));
    text(1..=LONGEST_NAME).described_as(described)
}

/// Find pets by tags
///
/// Lists the pets with any of the tags, each once, in order of their ids.
#[utoipa::path(
    get, path = "/pet/findByTags", operation_id = "findPetsByTags", tag = "pet",
    params(ByTags),
    responses(
        (status = 200, description = "The pets that have one of the tags.", body = Vec<Pet>),
        (status = 400, description = "Invalid tag value"),
    ),
    security(("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn by_tags(
    _caller: PetsCaller,
    format: ResponseFormat,
    State(petstore): State<Petstore>,
    Query(ByTags { tags }): Query<ByTags>,
) -> Result<Response> {
    list(format, petstore, tags, |tx, tag, after| store::ids_tagged(tx, tag, after, PAGE as i64)).await
}

/// The ids of the next pets of a key after an id.
type NextOf<K> = fn(&mut Tx<'_>, &K, Option<i64>) -> Result<Vec<i64>, Error>;

/// Lists the pets that `next` finds for any of the keys, each once, in order of their ids.
async fn list<K: Ord + Send + Sync + 'static>(
    format: ResponseFormat,
    petstore: Petstore,
    mut keys: Vec<K>,
    next: NextOf<K>,
) -> Result<Response> {
    keys.sort_unstable();
    keys.dedup();
    let keys = std::sync::Arc::new(keys);
    format
        .list(None, move |after| {
            let (db, keys) = (petstore.db.clone(), keys.clone());
            async move { Ok(db.read_long_stale(move |tx| page(tx, &keys, after, next)).await?) }
        })
        .await
}

/// Reads a page: first the ids for all keys, then each pet once, up to the limits of a page.
fn page<K>(
    tx: &mut Tx<'_>,
    keys: &[K],
    after: Option<i64>,
    next: NextOf<K>,
) -> Result<Batch<Pet, Option<i64>>, Error> {
    let mut ids = Vec::new();
    for key in keys {
        ids.extend(next(tx, key, after)?);
        // At most one page of ids in memory, for any number of keys.
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
