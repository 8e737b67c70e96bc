//! The journal of a sandbox.

use std::convert::Infallible;

use axum::{
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{Stream, stream};
use http::{HeaderMap, StatusCode, header};
use model::Resource;
use web::{
    Path, Problem, Query, Reply, Result,
    problem::{NOT_FOUND, TOO_MANY_REQUESTS},
};

use super::{Control, Controller};
use crate::{
    journal::{
        CallSummary, Entry, Filter, Followed, Follower, Har, JournalCall, JournalQuery, RecordedDelivery,
        curl, har,
    },
    open::OpenSandbox,
};

/// Calls of a sandbox.
#[derive(Debug, Clone, Resource)]
pub(super) struct JournalCalls {
    /// The newest first.
    #[field(items = 0..=1000)]
    calls: Vec<CallSummary>,
}

/// List calls
///
/// The last calls, the newest first, without their headers and bodies. The journal has the last 1,000 calls that this process
/// answered, as far as they fit into its memory.
#[utoipa::path(
    get, path = "/journal", operation_id = "listCalls", tag = "Journal",
    params(JournalQuery),
    responses((status = 200, description = "The calls.", body = JournalCalls)),
)]
pub(super) async fn list_calls(
    Controller(sandbox): Controller,
    Query(query): Query<JournalQuery>,
) -> Reply<JournalCalls> {
    let calls = sandbox.journal.list(&query.into());
    Reply(JournalCalls { calls: calls.iter().map(|entry| entry.summary()).collect() })
}

/// Clear the journal
#[utoipa::path(
    delete, path = "/journal", operation_id = "clearJournal", tag = "Journal",
    responses((status = 204, description = "The journal has no calls.")),
)]
pub(super) async fn clear_journal(Controller(sandbox): Controller) -> StatusCode {
    sandbox.journal.clear();
    StatusCode::NO_CONTENT
}

/// Get a call
///
/// With its headers and bodies, in which secrets are redacted, and with the webhook deliveries of the events that it caused.
#[utoipa::path(
    get, path = "/journal/{number}", operation_id = "getCall", tag = "Journal",
    params(("number" = i64, Path, description = "The number of the call.")),
    responses(
        (status = 200, description = "The call.", body = JournalCall),
        (status = 404, description = "The journal does not have this call."),
    ),
)]
pub(super) async fn get_call(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Path(number): Path<i64>,
) -> Result<Reply<JournalCall>> {
    let entry = entry(&sandbox, number)?;
    let deliveries = control.deliveries(&sandbox, &entry).await?;
    blocking(move || Reply(entry.call(deliveries))).await
}

/// Get a call as a curl command
#[utoipa::path(
    get, path = "/journal/{number}/curl", operation_id = "getCurl", tag = "Journal",
    params(("number" = i64, Path, description = "The number of the call.")),
    responses(
        (status = 200, description = "A command for a shell. Secrets are redacted.", body = String,
            content_type = "text/plain"),
        (status = 404, description = "The journal does not have this call."),
    ),
)]
pub(super) async fn get_curl(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Path(number): Path<i64>,
) -> Result<Response> {
    let entry = entry(&sandbox, number)?;
    let base_url = control.base_url(&entry.service);
    let command = blocking(move || format!("{}\n", curl(&entry, &base_url))).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], command).into_response())
}

/// Export the journal
///
/// As an HTTP Archive (HAR), which browsers and proxies can show. It has up to 16 MiB of bodies; those of later calls are left
/// out. A process makes one archive at a time.
#[utoipa::path(
    get, path = "/journal/har", operation_id = "exportHar", tag = "Journal",
    params(JournalQuery),
    responses((status = 200, description = "The calls as an HTTP Archive.", body = Har)),
)]
pub(super) async fn export_har(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Query(query): Query<JournalQuery>,
) -> Result<Response> {
    // The blocking task holds it, as that goes on when the client closes the connection.
    let one_at_a_time = control.sandboxes.0.exports.clone().lock_owned().await;
    blocking(move || {
        let _one_at_a_time = one_at_a_time;
        let calls = sandbox.journal.list(&query.into());
        Reply(har(&calls, |service| control.base_url(service))).into_response()
    })
    .await
}

/// Decompresses and redacts bodies on a thread that may be busy for a while.
async fn blocking<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<R> {
    tokio::task::spawn_blocking(work).await.map_err(Problem::internal)
}

/// Follow the journal
///
/// New calls, as Server-Sent Events: the `id` of an event is the number of the call, its `data` the call in JSON. A client that
/// sends `Last-Event-ID`, or `since`, first gets the calls after that number. An event `skipped` has the number of calls that
/// were dropped before they could be sent.
#[utoipa::path(
    get, path = "/journal/events", operation_id = "followCalls", tag = "Journal",
    params(JournalQuery),
    responses((status = 200, description = "The calls.", body = String, content_type = "text/event-stream")),
)]
pub(super) async fn follow_calls(
    Controller(sandbox): Controller,
    headers: HeaderMap,
    Query(query): Query<JournalQuery>,
) -> Result<Response> {
    let mut filter = Filter::from(query);
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    if let Some(last) = last {
        filter = filter.after(last);
    }
    let follower = sandbox.journal.follow(filter).ok_or_else(|| {
        Problem::new(&TOO_MANY_REQUESTS, "As many clients as can follow this journal already do.")
            .retry_after(60)
    })?;
    Ok(Sse::new(events(follower)).keep_alive(KeepAlive::default()).into_response())
}

fn events(follower: Follower) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(follower, async |mut follower| {
        let event = match follower.next().await? {
            Followed::Call(entry) => {
                let call = serde_json::to_string(&entry.summary()).unwrap_or_default();
                Event::default().id(entry.number.to_string()).data(call)
            }
            Followed::Skipped(calls) => Event::default().event("skipped").data(calls.to_string()),
        };
        Some((Ok(event), follower))
    })
}

fn entry(sandbox: &OpenSandbox, number: i64) -> Result<Entry> {
    let entry = u64::try_from(number).ok().and_then(|number| sandbox.journal.get(number));
    entry.ok_or_else(|| {
        Problem::new(&NOT_FOUND, "The journal does not have a call with this number, or not any more.")
    })
}

impl Control {
    /// Where clients reach the service of a call.
    fn base_url(&self, service: &str) -> String {
        let at = self.sandboxes.position(service);
        let address = at.map_or("", |at| &self.sandboxes.0.setup.services[at].address);
        format!("{address}{}", self.name.path())
    }

    /// The deliveries of the events of a call.
    async fn deliveries(&self, sandbox: &OpenSandbox, entry: &Entry) -> Result<Vec<RecordedDelivery>> {
        let at = self.sandboxes.position(&entry.service);
        let Some(at) = at.filter(|_| !entry.events.is_empty()) else { return Ok(Vec::new()) };
        let db = &self.sandboxes.service_of(sandbox, at).await?.instance.db;
        let found = self.sandboxes.0.setup.services[at].service.deliveries(db, &entry.events).await?;
        let shown = |delivery: service::Delivery| {
            let service::Delivery { event, subscription, status, attempts } = delivery;
            RecordedDelivery { event, subscription, status, attempts }
        };
        Ok(found.into_iter().map(shown).collect())
    }
}
