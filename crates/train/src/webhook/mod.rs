//! Webhooks: subscriptions to new bookings.

pub(crate) mod api;
pub(crate) mod document;
pub(crate) mod send;

use jiff::Timestamp;
use model::{Input, Resource, Words};
use serde_json::json;
use url::Url;
use utoipa::openapi::{Object, schema::Schema};
use uuid::Uuid;
use web::input::{
    Fields,
    rules::{Rule, text, text_object},
};
use webhooks::{Attempt, Disabled, MOST_ATTEMPTS, Subscription};

use crate::link::{link, uri};

/// A subscription as its owner sees it.
#[derive(Resource)]
#[resource(name = "Webhook", xml = "webhook", list = "webhooks")]
pub(crate) struct WebhookAnswer {
    id: Uuid,
    /// Events go to `newBooking` below this address.
    #[field(rule = uri(), example = "https://app.example.com/hooks")]
    url: String,
    status: Status,
    /// Why the subscription is disabled: it answered 410 (`gone`), or all attempts of five days failed (`failing`).
    disabled_because: Option<DisabledBecause>,
    /// Since when all attempts have failed, if the last one failed.
    failing_since: Option<Timestamp>,
    /// The secret that signs the events. It is sent once.
    #[field(rule = text(..).pattern("^whsec_[A-Za-z0-9+/]+={0,2}$"))]
    #[field(example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    secret: Option<String>,
    /// The last attempts, the newest first.
    #[field(items = 0..=MOST_ATTEMPTS as usize)]
    deliveries: Option<Vec<Delivery>>,
    links: WebhookLinks,
}

#[derive(Debug, Clone, Copy, Words)]
#[words(name = "WebhookStatus")]
enum Status {
    Active,
    Disabled,
}

#[derive(Debug, Clone, Copy, Words)]
#[words(inline)]
enum DisabledBecause {
    Gone,
    Failing,
}

impl From<Disabled> for DisabledBecause {
    fn from(disabled: Disabled) -> Self {
        match disabled {
            Disabled::Gone => DisabledBecause::Gone,
            Disabled::Failing => DisabledBecause::Failing,
        }
    }
}

/// An attempt to deliver an event.
#[derive(Resource)]
#[resource(xml = "delivery")]
pub(crate) struct Delivery {
    event_id: Uuid,
    time: Timestamp,
    #[field(rule = integer::<i64>(0..))]
    duration_ms: i64,
    /// The status of the answer, if there was one.
    #[field(rule = integer::<u16>(100..=999))]
    status: Option<u16>,
    /// Why the attempt failed, if it did.
    #[field(rule = text(1..))]
    error: Option<String>,
}

#[derive(Resource)]
#[resource(xml = "links")]
struct WebhookLinks {
    #[field(name = "self", rule = uri())]
    this: String,
}

impl WebhookAnswer {
    fn new(subscription: Subscription, address: &str) -> Self {
        let Subscription { id, url, failing_since, disabled } = subscription;
        WebhookAnswer {
            id,
            url,
            status: if disabled.is_some() { Status::Disabled } else { Status::Active },
            disabled_because: disabled.map(Into::into),
            failing_since,
            secret: None,
            deliveries: None,
            links: WebhookLinks { this: link(address, "/webhooks/", id) },
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

/// A new subscription.
#[derive(Input)]
#[resource(name = "WebhookInput", xml = "webhook")]
pub(crate) struct NewWebhook {
    /// A public address with https; a demo on loopback also accepts loopback addresses. Its host is in ASCII; it has no user name and
    /// no query.
    #[field(rule = subscribed_url(), example = "https://app.example.com/hooks")]
    url: Url,
}

/// The maximum length of an address after percent-encoding.
const LONGEST_URL: usize = 2000;

fn subscribed_url() -> impl Rule<Value = Url> {
    const PATTERN: &str = r"^https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[^\s?#]*)?$";
    text(1..=LONGEST_URL).format("uri").pattern(PATTERN).then(|field, text: String| match Url::parse(&text) {
        Ok(url) if url.as_str().len() > LONGEST_URL => {
            field.fail(format!("must be at most {LONGEST_URL} characters long when it is percent-encoded"))
        }
        Ok(url) => Some(url),
        Err(_) => field.fail("must be a complete address like https://app.example.com/hooks"),
    })
}

/// The events to send again: one event, or all events since a time that did not arrive.
#[derive(Input)]
#[resource(name = "RedeliverInput", xml = "redeliver", check = is_one_of_two, described = one_of_two)]
pub(crate) struct Redeliver {
    /// The id of an event, from an attempt or from the header `webhook-id`.
    #[field(rule = event_id(), example = "msg_0192f3c4a5b67c8d9e0f1a2b3c4d5e6f")]
    event_id: Option<Uuid>,
    since: Option<Timestamp>,
}

const NOT_ONE_OF_TWO: &str = "must be given, or else since; not both";

fn is_one_of_two(redeliver: &PartialRedeliver<'_>, fields: &mut Fields<'_>) {
    if let (Some(event), Some(since)) = (redeliver.event_id, redeliver.since)
        && event.is_some() == since.is_some()
    {
        fields.fail::<()>("event_id", NOT_ONE_OF_TWO);
    }
}

fn one_of_two(mut redeliver: Object) -> Schema {
    let either = json!([{"required": ["event_id"]}, {"required": ["since"]}]);
    redeliver.extensions.get_or_insert_default().insert("oneOf".into(), either);
    redeliver.into()
}

fn event_id() -> impl Rule<Value = Uuid> {
    const PATTERN: &str = "^(msg_)?([0-9A-Fa-f]{32}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$";
    let id = text(1..=100).then(|field, text: String| {
        match Uuid::try_parse(text.strip_prefix("msg_").unwrap_or(&text)) {
            Ok(id) => Some(id),
            Err(_) => field.fail("must be the id of an event, as a delivery or the header webhook-id has it"),
        }
    });
    id.described_as(text_object().pattern(Some(PATTERN)))
}

/// How many events are sent again.
#[derive(Resource)]
#[resource(xml = "redelivered")]
pub(crate) struct Redelivered {
    #[field(rule = integer::<i64>(0..))]
    events: i64,
}
