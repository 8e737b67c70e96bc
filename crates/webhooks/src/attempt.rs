//! An attempt to deliver: the request, its result, and the schedule of retries.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::{FutureExt, StreamExt};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::{SignedDuration, Timestamp};
use reqwest::{Response, header};
use tokio::time::{Instant, timeout_at};
use trace::{Kind, Span};
use url::Url;
use web::{DeliveryFault, DeliveryGate};

use crate::{
    Attempt, Webhooks,
    destination::Forbidden,
    store::{Completed, Lease, Message, Next, Subscriber},
};

/// The waits between attempts.
const SCHEDULE: [SignedDuration; 9] = [
    SignedDuration::from_secs(5),
    SignedDuration::from_mins(5),
    SignedDuration::from_mins(30),
    SignedDuration::from_hours(2),
    SignedDuration::from_hours(5),
    SignedDuration::from_hours(10),
    SignedDuration::from_hours(14),
    SignedDuration::from_hours(20),
    SignedDuration::from_hours(24),
];

/// The longest timeout of an attempt.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(15);

/// How much of the response body is read, and for how long, so that the connection can be used again.
const MOST_READ: usize = 64 * 1024;
const READ_FOR: Duration = Duration::from_secs(1);

/// An attempt that takes longer than this is slow.
pub(crate) const SLOW: Duration = Duration::from_secs(1);

/// Counts attempts that panicked.
pub(crate) fn panics() -> metrics::Counter {
    metrics::counter!("triptych_webhook_panics_total")
}

impl Webhooks {
    /// Makes an attempt; `None` when not enough of the lease is left. An attempt that panics has failed.
    pub(crate) async fn attempt(&self, message: Message) -> Option<Completed> {
        let inner = &self.0;
        let (lease, at) = (message.lease, inner.clock.now());
        // The claim took so long that another process, whose clock may be ahead, could get the lease before this attempt ends.
        if lease.until.duration_since(inner.machine.now()) < inner.settings.lease / 2 {
            return None;
        }
        let start = Instant::now();
        let mut span = self.span(&message);
        let sending = AssertUnwindSafe(self.send(message, &mut span)).catch_unwind();
        let outcome = sending.await.unwrap_or_else(|panic| {
            let (cause, subscription, event) =
                (web::panic_message(panic.as_ref()), lease.subscription, lease.event);
            tracing::error!(%subscription, %event, cause, "an attempt to deliver a webhook panicked");
            panics().increment(1);
            Outcome::no_answer("an internal error")
        });
        if let Some(span) = span {
            outcome.record(span);
        }
        let took = start.elapsed();
        let now = inner.clock.now();
        let next = match outcome.error {
            None => Next::Delivered,
            Some(_) => self.next(&lease, outcome.retry_after, now),
        };
        let outcome_name = match next {
            Next::Delivered => "delivered",
            Next::At(_) => "retried",
            Next::Failed => "failed",
        };
        metrics::histogram!("triptych_webhook_attempt_seconds", "outcome" => outcome_name).record(took);
        let duration_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        let attempt =
            Attempt { event: lease.event, at, duration_ms, status: outcome.status, error: outcome.error };
        Some(Completed { lease, id: inner.random.uuid(now), attempt, slow: took >= SLOW, next })
    }

    /// The span of an attempt, which continues the trace of its event.
    fn span(&self, message: &Message) -> Option<Span> {
        let (traces, service) = self.0.settings.traces.as_ref()?;
        let name = format!("POST {}", message.kind);
        let mut span = traces.span(service, Kind::Client, name, message.trace.as_ref());
        span.set("http.request.method", "POST");
        if message.lease.attempts > 0 {
            span.set("http.request.resend_count", message.lease.attempts);
        }
        Some(span)
    }

    /// The time of the next attempt, with a random delay, so that retries do not arrive together.
    fn next(&self, lease: &Lease, retry_after: Option<SignedDuration>, now: Timestamp) -> Next {
        let attempt = usize::try_from(lease.attempts).unwrap_or(usize::MAX);
        let Some(wait) = SCHEDULE.get(attempt) else { return Next::Failed };
        let [random] = self.0.random.bytes();
        let wait = *wait + *wait * i32::from(random) / 2550;
        let asked = retry_after.unwrap_or_default().min(SCHEDULE[SCHEDULE.len() - 1]);
        Next::At(now + wait.max(asked))
    }

    /// The timeout of an attempt: half of what must be left of its lease when it starts.
    fn timeout(&self) -> Duration {
        LONGEST_TIMEOUT.min(self.0.settings.lease.unsigned_abs() / 4)
    }

    /// Sends a message.
    async fn send(&self, message: Message, span: &mut Option<Span>) -> Outcome {
        let deadline = Instant::now() + self.timeout();
        let Message { lease, subscriber, kind, payload, trace, .. } = message;
        let address = format!("{}/{kind}", subscriber.url.trim_end_matches('/'));
        let Ok(url) = Url::parse(&address) else { return Outcome::no_answer("the address is not valid") };
        if let Some(span) = span {
            span.set("server.address", url.host_str().unwrap_or_default().to_owned());
            span.set("server.port", url.port_or_known_default().unwrap_or_default());
        }
        // The settings may have changed since the subscription was made; host names are checked when they are resolved.
        if let Err(why) = self.check(&url) {
            return Outcome::no_answer(format!("the address {why}"));
        }
        if let Some(may_send) = &self.0.settings.may_send
            && !may_send(subscriber.owner.clone()).await
        {
            return Outcome::no_answer("nothing is sent for this owner now");
        }
        if let Some(DeliveryGate(fault)) = &self.0.settings.gate
            && let Some(fault) = fault().await
        {
            return self.failed_on_purpose(fault);
        }
        let Ok(token) = timeout_at(deadline, self.token(&subscriber)).await else { return self.timed_out() };
        let id = format!("msg_{}", lease.event.simple());
        // The time of the machine: a receiver compares it with its own, which a moved clock does not move. Taken after the token, which
        // must be valid at that time.
        let now = self.0.machine.now();
        let seconds = now.as_second();
        let signatures: Vec<_> =
            subscriber.secrets.iter().map(|secret| secret.sign(&id, seconds, payload.as_bytes())).collect();
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in [
            ("webhook-id", id),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signatures.join(" ")),
        ] {
            let Ok(value) = HeaderValue::try_from(value) else {
                return Outcome::no_answer("an internal error");
            };
            headers.insert(name, value);
        }
        if let Some(token) = token {
            headers.insert(header::AUTHORIZATION, token);
        }
        if let Some(trace) = span.as_ref().map(Span::context).or(trace.as_ref()) {
            trace.add_to(&mut headers);
        }
        let answer = async {
            match self.receiver_of(&url) {
                Some(receiver) => Ok(Answer::Here(receiver.receive(url, headers, payload).await)),
                None => self.0.http.post(url).headers(headers).body(payload).send().await.map(Answer::There),
            }
        };
        match timeout_at(deadline, answer).await {
            Ok(Ok(Answer::Here(status))) => Outcome::of_status(status.as_u16()),
            Ok(Ok(Answer::There(response))) => Outcome::of(response, now, deadline).await,
            Ok(Err(error)) => Outcome::no_answer(explain(&error)),
            Err(_) => self.timed_out(),
        }
    }

    /// The value of `Authorization` for a delivery, if it has one.
    async fn token(&self, subscriber: &Subscriber) -> Option<HeaderValue> {
        let token_for = self.0.settings.token_for.as_ref()?;
        let token = token_for(subscriber.owner.clone(), subscriber.url.clone()).await?;
        let mut token = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
        token.set_sensitive(true);
        Some(token)
    }

    fn timed_out(&self) -> Outcome {
        Outcome::no_answer(format!("no answer within {} seconds", self.timeout().as_secs_f64()))
    }

    fn failed_on_purpose(&self, fault: DeliveryFault) -> Outcome {
        match fault {
            DeliveryFault::Timeout => self.timed_out(),
            DeliveryFault::Status(status) => Outcome::of_status(status),
        }
    }
}

/// The answer to an attempt: of a receiver in this process, or over HTTP.
enum Answer {
    Here(StatusCode),
    There(Response),
}

/// The result of an attempt. It succeeded if there is no error.
struct Outcome {
    status: Option<u16>,
    error: Option<String>,
    retry_after: Option<SignedDuration>,
}

impl Outcome {
    fn no_answer(why: impl Into<String>) -> Self {
        Outcome { status: None, error: Some(why.into()), retry_after: None }
    }

    /// Ends the span of the attempt.
    fn record(&self, mut span: Span) {
        if let Some(status) = self.status {
            span.set("http.response.status_code", status);
        }
        match (&self.error, self.status) {
            (None, _) => {}
            (Some(_), Some(status)) => span.fail(status.to_string()),
            (Some(error), None) => span.fail(error.clone()),
        }
    }

    fn of_status(status: u16) -> Self {
        Outcome { status: Some(status), error: status_error(status), retry_after: None }
    }

    async fn of(response: Response, now: Timestamp, deadline: Instant) -> Self {
        let status = response.status();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| read_wait(value.to_str().ok()?.trim(), now));
        // The status decides. A body that breaks or does not end changes nothing.
        let deadline = deadline.min(Instant::now() + READ_FOR);
        let mut body = response.bytes_stream();
        let mut read = 0;
        while let Ok(Some(Ok(piece))) = timeout_at(deadline, body.next()).await {
            read += piece.len();
            if read > MOST_READ {
                break;
            }
        }
        Outcome { retry_after, ..Outcome::of_status(status.as_u16()) }
    }
}

/// What is wrong with the status of an answer.
fn status_error(status: u16) -> Option<String> {
    match status {
        200..=299 => None,
        410 => Some("answered 410: nothing is sent there any more".to_owned()),
        300..=399 => Some(format!("answered {status}: redirects are not followed")),
        _ => Some(format!("answered {status}")),
    }
}

/// The value of `Retry-After`: seconds, or a date.
fn read_wait(text: &str, now: Timestamp) -> Option<SignedDuration> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that overflows is a very long wait.
        return Some(SignedDuration::from_secs(text.parse().unwrap_or(i64::MAX)));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(date.timestamp().duration_since(now))
}

/// Why there was no response, without any address or secret.
fn explain(error: &reqwest::Error) -> String {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if cause.is::<Forbidden>() {
            return Forbidden.to_string();
        }
        source = cause.source();
    }
    if error.is_connect() { "could not connect".into() } else { "the connection broke".into() }
}
