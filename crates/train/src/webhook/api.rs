//! The operations on webhooks.

use axum::{extract::State, response::Response};
use http::StatusCode;
use model::Parameters;
use uuid::Uuid;
use web::{
    Body, Paging, Path, Problem, Query, RequestContext, ResponseFormat, Result, WithBody,
    problem::{CONFLICT, NOT_FOUND, TOO_MANY_REQUESTS},
};
use webhooks::{MOST_SUBSCRIPTIONS, RotateError, SendError, SubscribeError};

use super::{NOT_ONE_OF_TWO, NewWebhook, Redeliver, Redelivered, WebhookAnswer};
use crate::{
    Train,
    booking::{Booking, BookingLinks, NEW_BOOKING, Status},
    cache::{NOT_CACHED, cached},
    caller::{Caller, Read, Write},
    idempotency::seconds_until,
    page::{self, MOST, Page, PageAddress, USUAL},
    traveller,
};

#[derive(Parameters)]
pub(crate) struct WebhookQuery {
    /// Which page, from 1.
    #[field(rule = page(), default = 1)]
    page: i64,
    /// How many subscriptions a page has.
    #[field(rule = limit(MOST), default = USUAL)]
    limit: i64,
}

/// A page of subscriptions, as the document describes it.
type WebhookPage = Page<WebhookAnswer>;

/// Subscribe to new bookings
///
/// Each new booking of the caller is sent to `newBooking` below the address. It is signed with a secret, which only this answer
/// has.
#[utoipa::path(
    post, path = "/webhooks", operation_id = "create-webhook", tag = "Webhooks",
    request_body = NewWebhook,
    responses(
        (status = 201, description = "The subscription, with its secret.",
            body = WebhookAnswer,
            headers(("Location" = String, description = "Where the subscription is."))),
        (status = 409, description = "The caller has as many subscriptions as there can be."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn create(
    caller: Caller<Write>,
    format: ResponseFormat,
    State(train): State<Train>,
    Body(NewWebhook { url }): Body<NewWebhook>,
) -> Result<Response> {
    let (subscription, secret) =
        train.webhooks.subscribe(&caller.subject, &url).await.map_err(|error| match error {
            SubscribeError::Destination(why) => Problem::invalid_at("#/url", why),
            SubscribeError::TooMany => {
                Problem::new(&CONFLICT, format!("The caller has reached the limit: {error}."))
            }
            SubscribeError::Removed => traveller::gone(),
            SubscribeError::Db(error) => error.into(),
        })?;
    let location = format!("{}/webhooks/{}", train.address, subscription.id);
    let answer = WebhookAnswer::new(subscription, &train.address);
    let answer = WebhookAnswer { secret: Some(secret.shown()), ..answer };
    Ok(cached(format.created(Some(location), &answer), NOT_CACHED))
}

/// List subscriptions
#[utoipa::path(
    get, path = "/webhooks", operation_id = "get-webhooks", tag = "Webhooks",
    params(WebhookQuery),
    responses((status = 200, description = "A page of the caller's subscriptions.",
        body = WebhookPage)),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn list(
    caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    here: PageAddress,
    Query(WebhookQuery { page, limit }): Query<WebhookQuery>,
) -> Result<Response> {
    let paging = Paging::new(page, limit);
    let (found, more) = page::cut(train.webhooks.subscriptions(&caller.subject).await?, paging);
    let links = here.links(&train.address, paging, more);
    let data: Vec<_> = found.into_iter().map(|found| WebhookAnswer::new(found, &train.address)).collect();
    Ok(cached(format.reply(&Page { data, links }), NOT_CACHED))
}

/// Get a subscription
///
/// The answer has its last 50 attempts.
#[utoipa::path(
    get, path = "/webhooks/{webhookId}", operation_id = "get-webhook", tag = "Webhooks",
    params(("webhookId" = Uuid, Path, description = "The subscription's id.")),
    responses(
        (status = 200, description = "The subscription.",
            body = WebhookAnswer),
        (status = 404, description = "The caller has no such subscription."),
    ),
    security(("OAuth2" = ["read"])),
)]
pub(crate) async fn get(
    caller: Caller<Read>,
    format: ResponseFormat,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let found = train.webhooks.subscription(&caller.subject, id).await?;
    let (subscription, attempts) = found.ok_or_else(unknown)?;
    let answer = WebhookAnswer::new(subscription, &train.address).with_deliveries(attempts);
    Ok(cached(format.reply(&answer), NOT_CACHED))
}

/// Delete a subscription
#[utoipa::path(
    delete, path = "/webhooks/{webhookId}", operation_id = "delete-webhook", tag = "Webhooks",
    params(("webhookId" = Uuid, Path, description = "The subscription's id.")),
    responses(
        (status = 204, description = "The subscription is gone."),
        (status = 404, description = "The caller has no such subscription."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn delete(
    caller: Caller<Write>,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<StatusCode> {
    let deleted = train.webhooks.unsubscribe(&caller.subject, id).await?;
    if deleted { Ok(StatusCode::NO_CONTENT) } else { Err(unknown()) }
}

/// Replace the secret
///
/// Only this answer has the new secret. For 24 hours events are signed with both.
#[utoipa::path(
    post, path = "/webhooks/{webhookId}/secret", operation_id = "rotate-webhook-secret", tag = "Webhooks",
    params(("webhookId" = Uuid, Path, description = "The subscription's id.")),
    responses(
        (status = 200, description = "The subscription, with its new secret.",
            body = WebhookAnswer),
        (status = 404, description = "The caller has no such subscription."),
        (status = 409, description = "As many secrets still sign as can."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn rotate(
    caller: Caller<Write>,
    format: ResponseFormat,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<Response> {
    let secret = train.webhooks.rotate(&caller.subject, id).await.map_err(|error| match error {
        RotateError::Unknown => unknown(),
        RotateError::TooOften => Problem::new(&CONFLICT, format!("Wait before replacing it again: {error}.")),
        RotateError::Db(error) => error.into(),
    })?;
    let (subscription, _) = train.webhooks.subscription(&caller.subject, id).await?.ok_or_else(unknown)?;
    let answer = WebhookAnswer::new(subscription, &train.address);
    let answer = WebhookAnswer { secret: Some(secret.shown()), ..answer };
    Ok(cached(format.reply(&answer), NOT_CACHED))
}

/// Send a test event
///
/// Sends an event with a made-up booking only to this subscription, also if it is disabled.
#[utoipa::path(
    post, path = "/webhooks/{webhookId}/test", operation_id = "test-webhook", tag = "Webhooks",
    params(("webhookId" = Uuid, Path, description = "The subscription's id.")),
    responses(
        (status = 202, description = "The event is on its way."),
        (status = 404, description = "The caller has no such subscription."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn test(
    caller: Caller<Write>,
    context: RequestContext,
    State(train): State<Train>,
    Path(id): Path<Uuid>,
) -> Result<StatusCode> {
    let booking = Booking {
        id: Uuid::nil(),
        trip_id: Uuid::nil(),
        passenger_name: "Test Passenger".into(),
        has_bicycle: false,
        has_dog: false,
        status: Status::Held,
        expires_at: Some(train.held_until(train.clock.now())),
        links: BookingLinks::default(),
    };
    let payload = serde_json::to_string(&booking.linked(&train.address)).map_err(Problem::internal)?;
    let trace = context.trace().cloned();
    let sent = train.webhooks.test(&caller.subject, id, NEW_BOOKING, &payload, trace).await;
    context.add_event(sent.map_err(|error| train.not_sent(error))?);
    Ok(StatusCode::ACCEPTED)
}

/// Send events again
///
/// Sends one event again, or all events since a time that did not arrive. This enables a disabled subscription.
#[utoipa::path(
    post, path = "/webhooks/{webhookId}/redeliver", operation_id = "redeliver-webhook", tag = "Webhooks",
    params(("webhookId" = Uuid, Path, description = "The subscription's id.")),
    request_body = Redeliver,
    responses(
        (status = 200, description = "How many events are sent again.",
            body = Redelivered),
        (status = 404, description = "The caller has no such subscription, or the event never went there."),
    ),
    security(("OAuth2" = ["write"])),
)]
pub(crate) async fn redeliver(
    caller: Caller<Write>,
    format: ResponseFormat,
    State(train): State<Train>,
    WithBody(Path(id), Body(Redeliver { event_id, since })): WithBody<Path<Uuid>, Body<Redeliver>>,
) -> Result<Response> {
    let owner = &caller.subject;
    let sent = match (event_id, since) {
        (Some(event), None) => train.webhooks.redeliver(owner, id, event).await.map(|()| 1),
        (None, Some(since)) => train.webhooks.redeliver_failed(owner, id, since).await,
        _ => return Err(Problem::invalid_at("#/event_id", NOT_ONE_OF_TWO)),
    };
    let sent = sent.map_err(|error| train.not_sent(error))?;
    let events = i64::try_from(sent).unwrap_or(i64::MAX);
    Ok(cached(format.reply(&Redelivered { events }), NOT_CACHED))
}

impl Train {
    /// The problem for an event that cannot be sent.
    fn not_sent(&self, error: SendError) -> Problem {
        let most = i64::from(self.settings.test_events_per_hour);
        let (most, whose, until) = match error {
            SendError::Unknown => return unknown(),
            SendError::Db(error) => return error.into(),
            SendError::TooMany(until) => (most, "this subscription", until),
            SendError::TooManyOfOwner(until) => {
                (most * MOST_SUBSCRIPTIONS, "the caller's subscriptions", until)
            }
        };
        let detail =
            format!("{most} test events and redeliveries were requested for {whose} within an hour.");
        let seconds = seconds_until(until, self.clock.now());
        Problem::new(&TOO_MANY_REQUESTS, detail).retry_after(seconds)
    }
}

fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, "There is no such subscription, or no such event of its.")
}
