//! Finding pets: lists as long as the data makes them, written page by page.

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

/// How many pets are on a page while a list is written: so many, or fewer if they are so many bytes.
const PAGE: usize = 64;
const PAGE_BYTES: usize = 256 * 1024;
/// How many tags can be asked for at once: each is a look-up of its own.
const MOST_TAGS: usize = 100;

#[derive(Parameters)]
pub(crate) struct ByStatus {
    /// The statuses to find, with commas between them or each as a parameter of its own. Available ones if absent.
    #[field(rule = values(word::<Status>().inline()), default = vec![Status::Available],
        example = [Status::Available, Status::Pending])]
    status: Vec<Status>,
}

/// Find pets by status
///
/// In order of their ids.
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
    /// The tags to find, with commas between them or each as a parameter of its own.
    #[field(rule = values(tag()).named(1..=MOST_TAGS, "tag"), example = ["tag1", "tag2"])]
    tags: Vec<String>,
}

/// One tag: a comma is the end of it.
fn tag() -> impl Rule<Value = String> {
    let described = text_object().max_length(Some(LONGEST_NAME)).pattern(Some(text_pattern(",", false)));
    text(1..=LONGEST_NAME).described_as(described)
}

/// Find pets by tags
///
/// Those with any of the tags, each once, in order of their ids.
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
