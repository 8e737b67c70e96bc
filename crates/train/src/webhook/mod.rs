//! Webhooks: who is told about new bookings.

pub(crate) mod api;
pub(crate) mod document;

use std::{sync::Arc, time::Duration};

use db::Db;
use identity::oauth::{Signer, is_demo_subject};
use jiff::Timestamp;
use moka::sync::Cache;
use serde::Serialize;
use url::Url;
use utoipa::ToSchema;
use uuid::Uuid;
use web::{
    Clock,
    input::{
        Field, Fields, Input,
        rules::{self, Rule as _},
    },
    xml::{ToXml, Xml},
};
use webhooks::{Attempt, MaySend, Subscription, TokenFor};

use crate::traveller;

/// How many tokens for subscribers are remembered: making one costs about as much as a delivery.
const TOKENS: u64 = 10_000;
const TOKEN_KEPT: Duration = Duration::from_secs(60);

/// Makes the bearer tokens that deliveries carry. One lasts five minutes, and is used for one.
pub(crate) fn token_for(signer: Signer, db: Db, clock: Clock) -> TokenFor {
    let made: Cache<(String, String, i64), String> =
        Cache::builder().max_capacity(TOKENS).time_to_live(TOKEN_KEPT).build();
    Arc::new(move |owner, subscriber| {
        let minute = clock.now().as_second().div_euclid(60);
        let key = (owner, subscriber, minute);
        let (signer, db, made) = (signer.clone(), db.clone(), made.clone());
        Box::pin(async move {
            if let Some(token) = made.get(&key) {
                return Some(token);
            }
            let owner = key.0.clone();
            match db.read(move |tx| traveller::is_removed(tx, &owner)).await {
                Ok(false) => {}
                Ok(true) => return None,
                Err(error) => {
                    tracing::warn!(%error, "a webhook goes without its token");
                    return None;
                }
            }
            match signer.token_elsewhere(&key.0, &key.1, "read").await {
                Ok(token) => {
                    made.insert(key, token.clone());
                    Some(token)
                }
                Err(error) => {
                    tracing::warn!(%error, "a webhook goes without its token");
                    None
                }
            }
        })
    })
}

/// Says who is told of anything outside of a demo: whoever came with one is not.
pub(crate) fn outside_a_demo(db: Db) -> MaySend {
    Arc::new(move |owner| {
        let asked = db.clone();
        Box::pin(async move {
            let found = asked.read(move |tx| is_demo_subject(tx, &owner)).await;
            found.map(|demo| !demo).unwrap_or_else(|error| {
                tracing::warn!(%error, "a webhook is not sent now");
                false
            })
        })
    })
}

/// A subscription as its owner sees it.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook, xml(name = "webhook"))]
pub(crate) struct WebhookAnswer {
    id: Uuid,
    /// Events go to `newBooking` below this address.
    #[schema(format = "uri", examples("https://app.example.com/hooks"))]
    url: String,
    status: Status,
    /// Why nothing is sent any more: it answered 410 (`gone`), or nothing arrived for five days (`failing`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = DisabledBecause, inline, required = false)]
    disabled_because: Option<&'static str>,
    /// Since when nothing has arrived, if the last delivery failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, format = DateTime)]
    failing_since: Option<Timestamp>,
    /// What signs the events. It is told once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, pattern = "^whsec_[A-Za-z0-9+/]+={0,2}$",
        examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))]
    secret: Option<String>,
    /// The last attempts to deliver, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<Delivery>, required = false, max_items = 50, xml(wrapped(name = "deliveries")))]
    deliveries: Option<Vec<Delivery>>,
    links: WebhookLinks,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = WebhookStatus)]
enum Status {
    Active,
    Disabled,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
enum DisabledBecause {
    Gone,
    Failing,
}

/// An attempt to deliver an event.
#[derive(Serialize, ToSchema)]
#[schema(xml(name = "delivery"))]
pub(crate) struct Delivery {
    event_id: Uuid,
    #[schema(value_type = String, format = DateTime)]
    time: Timestamp,
    #[schema(minimum = 0)]
    duration_ms: i64,
    /// The status of the answer, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = i32, required = false, minimum = 100, maximum = 999)]
    status: Option<u16>,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, min_length = 1)]
    error: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct WebhookLinks {
    #[serde(rename = "self")]
    #[schema(format = "uri")]
    this: String,
}

impl WebhookAnswer {
    fn new(subscription: Subscription, address: &str) -> Self {
        let Subscription { id, url, failing_since, disabled } = subscription;
        WebhookAnswer {
            id,
            url,
            status: if disabled.is_some() { Status::Disabled } else { Status::Active },
            disabled_because: disabled.map(webhooks::Disabled::word),
            failing_since,
            secret: None,
            deliveries: None,
            links: WebhookLinks { this: format!("{address}/webhooks/{id}") },
        }
    }

    fn with_deliveries(self, attempts: Vec<Attempt>) -> Self {
        let deliveries = attempts.into_iter().map(|attempt| Delivery {
            event_id: attempt.event,
            time: attempt.at,
            duration_ms: attempt.duration_ms,
            status: attempt.status,
            error: attempt.error,
        });
        WebhookAnswer { deliveries: Some(deliveries.collect()), ..self }
    }
}

impl ToXml for WebhookAnswer {
    const ROOT: &'static str = "webhook";

    fn content(&self, xml: &mut Xml) {
        xml.value("id", self.id);
        xml.text("url", &self.url);
        xml.text(
            "status",
            match self.status {
                Status::Active => "active",
                Status::Disabled => "disabled",
            },
        );
        if let Some(because) = self.disabled_because {
            xml.text("disabled_because", because);
        }
        if let Some(since) = self.failing_since {
            xml.value("failing_since", since);
        }
        if let Some(secret) = &self.secret {
            xml.text("secret", secret);
        }
        if let Some(deliveries) = &self.deliveries {
            xml.element("deliveries", |xml| deliveries.iter().for_each(|delivery| xml.one(delivery)));
        }
        xml.element("links", |xml| xml.text("self", &self.links.this));
    }
}

impl web::xml::Listed for WebhookAnswer {
    const LIST: &'static str = "webhooks";
}

impl ToXml for Delivery {
    const ROOT: &'static str = "delivery";

    fn content(&self, xml: &mut Xml) {
        xml.value("event_id", self.event_id);
        xml.value("time", self.time);
        xml.value("duration_ms", self.duration_ms);
        if let Some(status) = self.status {
            xml.value("status", status);
        }
        if let Some(error) = &self.error {
            xml.text("error", error);
        }
    }
}

/// A subscription to be.
#[derive(ToSchema)]
#[schema(as = WebhookInput, xml(name = "webhook"))]
pub(crate) struct NewWebhook {
    /// A public address with https; in a demo that only this machine can reach, also one on this machine. Its host in ASCII, no
    /// user, no query.
    #[schema(value_type = String, format = "uri", max_length = 2000, examples("https://app.example.com/hooks"),
        pattern = r"^https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[^\s?#]*)?$")]
    url: Url,
}

impl Input for NewWebhook {
    const XML_ROOT: Option<&'static str> = Some("webhook");

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.required("url", url).map(|url| NewWebhook { url })
    }
}

/// How long an address can be. It counts as it is kept and sent, with whatever has to be percent-encoded.
const LONGEST_URL: usize = 2000;

fn url(field: &mut Field<'_>) -> Option<Url> {
    let text = rules::text(1..=LONGEST_URL).read(field)?;
    match Url::parse(&text) {
        Ok(url) if url.as_str().len() > LONGEST_URL => {
            field.fail("must be at most 2000 characters long when it is percent-encoded")
        }
        Ok(url) => Some(url),
        Err(_) => field.fail("must be a complete address like https://app.example.com/hooks"),
    }
}

/// What is to be sent again: one event, or all that did not arrive and were made since a time.
pub(crate) enum Redeliver {
    Event(Uuid),
    Since(Timestamp),
}

/// What to send again: one event, or all that did not arrive and were made since a time.
#[derive(ToSchema)]
#[schema(xml(name = "redeliver"))]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(super) struct RedeliverMembers {
    /// An event's id as a delivery tells it, or as the header `webhook-id` of the event has it.
    #[schema(value_type = String, required = false, examples("msg_0192f3c4a5b67c8d9e0f1a2b3c4d5e6f"),
        pattern = "^(msg_)?([0-9A-Fa-f]{32}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$")]
    event_id: Option<Uuid>,
    #[schema(value_type = String, required = false, format = DateTime)]
    since: Option<Timestamp>,
}

impl Input for Redeliver {
    const XML_ROOT: Option<&'static str> = Some("redeliver");

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let event_id = fields.optional("event_id", event_id);
        let since = fields.optional("since", rules::timestamp());
        match (event_id?, since?) {
            (Some(event), None) => Some(Redeliver::Event(event)),
            (None, Some(since)) => Some(Redeliver::Since(since)),
            _ => fields.fail("event_id", "must be given, or else since; not both"),
        }
    }
}

fn event_id(field: &mut Field<'_>) -> Option<Uuid> {
    let text = rules::text(1..=100).read(field)?;
    match Uuid::try_parse(text.strip_prefix("msg_").unwrap_or(&text)) {
        Ok(id) => Some(id),
        Err(_) => field.fail("must be the id of an event, as a delivery or the header webhook-id has it"),
    }
}

/// How many events are sent again.
#[derive(Serialize, ToSchema)]
#[schema(as = Redelivered, xml(name = "redelivered"))]
pub(crate) struct Redelivered {
    events: usize,
}

impl ToXml for Redelivered {
    const ROOT: &'static str = "redelivered";

    fn content(&self, xml: &mut Xml) {
        xml.value("events", self.events);
    }
}
