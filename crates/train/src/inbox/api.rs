//! The operations on inboxes.

use axum::{extract::State, response::Response};
use http::StatusCode;
use jiff::{Timestamp, Unit};
use model::Parameters;
use uuid::Uuid;
use web::{
    Paging, Path, Problem, Query, ResponseFormat, Result,
    problem::{CONFLICT, NOT_FOUND},
};

use super::{Inbox, InboxAnswer, LIFETIME, MOST_INBOXES, PATH, store};
use crate::{
    Train,
    cache::{NOT_CACHED, cached, dated},
    caller::{Caller, Read, Write},
    page::{self, MOST, Page, PageAddress, USUAL},
    traveller,
};

#[derive(Parameters)]
pub(crate) struct InboxQuery {
    /// Which page, from 1.
    #[field(rule = page(), default = 1)]
    page: i64,
    /// How many inboxes a page has.
    #[field(rule = limit(MOST), default = USUAL)]
    limit: i64,
}

/// A page of inboxes, as the document describes it.
type InboxPage = Page<InboxAnswer>;

/// Create an inbox
///
/// An inbox is an address of this service that receives webhooks, for trying them out without a server. Subscribe its `url` with
/// `POST /webhooks`; what is sent to `newBooking` below it can be read at the inbox. It is deleted after an hour. It keeps the last
/// 20 messages of at most 32 KiB, and receives at most 1,000.
#[utoipa::path(
    post, path = "/inboxes", operation_id = "create-inbox", tag = "Webhooks",
    responses(
        (status = 201, description = "The inbox.",
            body = InboxAnswer,
            headers(("Location" = String, description = "Where the inbox is."))),
        (status = 409, description = "The caller has as many inboxes as there can be."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn create(
    caller: Caller<Write>,
    format: ResponseFormat,
    State(train): State<Train>,
) -> Result<Response> {
    let now = train.clock.now();
    let inbox = Inbox { id: train.random.uuid(now), expires_at: expires_at(now) };
    let stored = inbox.clone();
    let added = train.db.write(move |tx| {
        if !traveller::enter(tx, &caller.subject)? {
            return Err(traveller::gone());
        }
        Ok(store::insert(tx, &caller.subject, &stored, now)?)
    });
    if !added.await? {
        let detail = format!(
            "The caller has {MOST_INBOXES} inboxes, the maximum. Delete one, or wait until one expires."
        );
        return Err(Problem::new(&CONFLICT, detail));
    }
    let answer = InboxAnswer::new(inbox, &train.address);
    let location = format!("{}{PATH}/{}", train.address, answer.id);
    Ok(dated(cached(format.created(Some(location), &answer), NOT_CACHED), now))
}

/// When an inbox that is created now expires, in the precision of the database.
fn expires_at(now: Timestamp) -> Timestamp {
    let until = now.checked_add(LIFETIME).unwrap_or(Timestamp::MAX);
    until.round(Unit::Microsecond).unwrap_or(until)
}

/// List inboxes
#[utoipa::path(
    get, path = "/inboxes", operation_id = "get-inboxes", tag = "Webhooks",
    params(InboxQuery),
    responses((status = 200, description = "A page of the caller's inboxes.",
        body = InboxPage)),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn list(
    caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    here: PageAddress,
    Query(InboxQuery { page, limit }): Query<InboxQuery>,
) -> Result<Response> {
    let (paging, now) = (Paging::new(page, limit), train.clock.now());
    let found = train.db.read(move |tx| store::list(tx, &caller.subject, now)).await?;
    let (found, more) = page::cut(found, paging);
    let links = here.links(&train.address, paging, more);
    let data: Vec<_> = found.into_iter().map(|inbox| InboxAnswer::new(inbox, &train.address)).collect();
    Ok(dated(cached(format.reply(&Page { data, links }), NOT_CACHED), now))
}

/// Get an inbox
///
/// The answer has its last 20 messages, the newest first.
#[utoipa::path(
    get, path = "/inboxes/{inboxId}", operation_id = "get-inbox", tag = "Webhooks",
    params(("inboxId" = Uuid, Path, description = "The inbox's id.")),
    responses(
        (status = 200, description = "The inbox.",
            body = InboxAnswer),
        (status = 404, description = "The caller has no such inbox."),
    ),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn get(
    caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let now = train.clock.now();
    let found = train.db.snapshot(move |tx| store::by_id(tx, &caller.subject, id, now)).await?;
    let (inbox, messages) = found.ok_or_else(unknown)?;
    let answer = InboxAnswer { messages: Some(messages), ..InboxAnswer::new(inbox, &train.address) };
    Ok(dated(cached(format.reply(&answer), NOT_CACHED), now))
}

/// Delete an inbox
#[utoipa::path(
    delete, path = "/inboxes/{inboxId}", operation_id = "delete-inbox", tag = "Webhooks",
    params(("inboxId" = Uuid, Path, description = "The inbox's id.")),
    responses(
        (status = 204, description = "The inbox and its messages are deleted."),
        (status = 404, description = "The caller has no such inbox."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn delete(
    caller: Caller<Write>,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<StatusCode> {
    let now = train.clock.now();
    let deleted = train.db.write(move |tx| store::delete(tx, &caller.subject, id, now)).await?;
    if deleted { Ok(StatusCode::NO_CONTENT) } else { Err(unknown()) }
}

fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, "There is no inbox with this id, or it has expired.")
}
