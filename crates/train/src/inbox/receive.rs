//! Receives messages for inboxes: from the sender of this process, and over HTTP from any other.

use axum::{
    Router,
    extract::{Path, State},
    response::{IntoResponse, Response},
    routing::post,
};
use db::Db;
use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode, header};
use url::Url;
use uuid::Uuid;
use web::{
    Clock, Problem, RawBody, Result,
    input::Param,
    problem::{TOO_LARGE, TOO_MANY_REQUESTS},
};
use webhooks::Receiver;

use super::{
    Header, LARGEST, MOST_RECEIVED, PATH,
    store::{self, Received},
};
use crate::{booking::NEW_BOOKING, idempotency::seconds_until, problem::INBOX_GONE};

/// The headers that an inbox keeps.
pub(super) const KEPT: [&str; 6] =
    ["content-type", "user-agent", "authorization", "webhook-id", "webhook-timestamp", "webhook-signature"];

/// How much of a header's value an inbox keeps: eleven signatures.
const LONGEST_VALUE: usize = 1000;

/// The inboxes of an instance, for messages.
#[derive(Clone)]
pub(crate) struct Inboxes {
    /// The address in front of the ids of inboxes.
    above: String,
    db: Db,
    clock: Clock,
}

impl Inboxes {
    /// The inboxes of an instance at this address.
    pub(crate) fn new(address: &str, db: Db, clock: Clock) -> Self {
        let above = format!("{address}{PATH}/");
        // As the library writes it, to compare it with other URLs.
        let above = Url::parse(&above).map(String::from).unwrap_or(above);
        Inboxes { above, db, clock }
    }

    /// The id of the inbox at or below which a URL is, if it is one of these.
    fn id_in(&self, url: &Url) -> Option<Uuid> {
        let rest = url.as_str().strip_prefix(&self.above)?;
        let id =
            rest.split_once('/').map_or(rest, |(id, below)| if below == NEW_BOOKING { id } else { rest });
        Uuid::try_parse(id).ok()
    }

    async fn take(&self, id: Uuid, headers: &HeaderMap, body: &[u8]) -> Result<()> {
        if body.len() > LARGEST {
            return Err(Problem::new(&TOO_LARGE, format!("A message has at most {LARGEST} bytes.")));
        }
        let headers = kept(headers);
        // PostgreSQL stores no text with a zero character.
        let body = String::from_utf8_lossy(body).replace('\0', "\u{fffd}");
        let now = self.clock.now();
        match self.db.write(move |tx| store::receive(tx, id, &headers, &body, now)).await? {
            Received::Done => Ok(()),
            Received::Unknown => {
                Err(Problem::new(&INBOX_GONE, "There is no inbox with this id, or it has expired."))
            }
            Received::Full(until) => {
                let detail = format!("The inbox has received {MOST_RECEIVED} messages, the maximum.");
                Err(Problem::new(&TOO_MANY_REQUESTS, detail).retry_after(seconds_until(until, now)))
            }
        }
    }

    /// The route of messages over HTTP.
    pub(crate) fn router(self) -> Router {
        Router::new().route(&format!("{PATH}/{{inboxId}}/{NEW_BOOKING}"), post(over_http)).with_state(self)
    }
}

/// The headers that are kept. Of a token only its kind is: an inbox is no place for secrets.
fn kept(headers: &HeaderMap) -> Vec<Header> {
    let of_name = |name: &&'static str| {
        let value = String::from_utf8_lossy(headers.get(*name)?.as_bytes()).replace('\0', "\u{fffd}");
        let value = match *name {
            "authorization" => format!("{} …", value.split(' ').next().unwrap_or_default()),
            _ => value,
        };
        Some(Header { name: (*name).into(), value: value.chars().take(LONGEST_VALUE).collect() })
    };
    KEPT.iter().filter_map(of_name).collect()
}

async fn over_http(
    State(inboxes): State<Inboxes>,
    Path(id): Path<String>,
    headers: HeaderMap,
    RawBody(body): RawBody<LARGEST>,
) -> Result<Response> {
    let id = Uuid::parse(&id).ok_or_else(|| Problem::invalid_at("{inboxId}", Uuid::WANTED))?;
    inboxes.take(id, &headers, &body).await?;
    Ok((StatusCode::NO_CONTENT, [(header::CACHE_CONTROL, "no-store")]).into_response())
}

impl Receiver for Inboxes {
    fn has(&self, url: &Url) -> bool {
        self.id_in(url).is_some()
    }

    fn receive(&self, url: Url, headers: HeaderMap, body: String) -> BoxFuture<'static, StatusCode> {
        let inboxes = self.clone();
        Box::pin(async move {
            let Some(id) = inboxes.id_in(&url) else { return StatusCode::GONE };
            match inboxes.take(id, &headers, body.as_bytes()).await {
                Ok(()) => StatusCode::NO_CONTENT,
                Err(problem) => problem.into_response().status(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn of_a_token_only_its_kind_is_kept() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("authorization", "Bearer secret"), ("cookie", "a=b"), ("webhook-id", "msg_1"), ("x-other", "1")]
        {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let found = kept(&headers);
        let found: Vec<_> = found.iter().map(|header| (&*header.name, &*header.value)).collect();
        assert_eq!(found, [("authorization", "Bearer …"), ("webhook-id", "msg_1")]);
    }
}
