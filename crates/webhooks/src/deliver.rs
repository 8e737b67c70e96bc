//! Sends what is due, again and again until it arrives.

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Response, StatusCode, header};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout_at},
};
use url::Url;
use uuid::Uuid;

use crate::{
    Attempt, Disabled, Webhooks,
    place::Forbidden,
    store::{self, Claimed, Letter, Next, Waiting},
};

/// How long after an attempt that failed the next one is made.
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

/// How long a subscriber may fail before nothing is sent any more.
const PATIENCE: SignedDuration = SignedDuration::from_hours(24 * 5);

/// How long an attempt may take, and how much of the answer is read.
const TIMEOUT: Duration = Duration::from_secs(15);
const MOST_READ: usize = 64 * 1024;

/// How long whoever takes a delivery on has it for themselves: longer than an attempt can take.
const LEASE: SignedDuration = SignedDuration::from_secs(60);

/// How many attempts are made at once, for one subscription and in all.
const AT_ONCE_EACH: usize = 4;
const AT_ONCE: usize = 64;

/// The same for subscriptions that are failing: one shows whether they still are, and all of them together leave room for
/// those who are not, since it is the failing ones whose attempts take long.
const AT_ONCE_EACH_FAILING: usize = 1;
const AT_ONCE_FAILING: usize = AT_ONCE / 2;

/// How often to look for what other processes have left, at the least.
const AT_LEAST_EVERY: SignedDuration = SignedDuration::from_secs(5);

/// How many subscriptions are looked at in one go.
const BATCH: usize = 1000;

impl Webhooks {
    /// Sends for as long as the service runs.
    pub async fn run(self) {
        let mut sending = JoinSet::new();
        let mut ring = Uuid::nil();
        loop {
            while sending.try_join_next().is_some() {}
            let until = match self.start_due(&mut sending, &mut ring).await {
                Ok(until) => until,
                Err(error) => {
                    tracing::warn!(%error, "webhooks could not be sent; trying again");
                    self.0.clock.now() + SignedDuration::from_secs(1)
                }
            };
            tokio::select! {
                () = self.0.clock.wait_until(until) => {}
                () = self.0.woken.notified() => {}
                Some(_) = sending.join_next() => {}
            }
        }
    }

    /// Starts what is due and has a place, and gives when to look again. Where places are short, whose turn it is goes round:
    /// `ring` is who had the last one.
    async fn start_due(&self, sending: &mut JoinSet<()>, ring: &mut Uuid) -> Result<Timestamp, db::Error> {
        let inner = &self.0;
        let now = inner.clock.now();
        let latest = now + AT_LEAST_EVERY;
        let after = *ring;
        let due = inner.db.read(move |tx| store::due_subscriptions(tx, now, after, BATCH)).await?;
        let shares = self.share_out(&due, ring);
        if !shares.is_empty() {
            // The lease begins now, not before the search.
            let taken_at = inner.clock.now();
            let claim = {
                let shares = shares.clone();
                move |tx: &mut db::WriteTx<'_>| store::claim(tx, &shares, taken_at, LEASE)
            };
            for claimed in inner.db.write(claim).await? {
                let failing = shares.get(&claimed.subscription).is_some_and(|share| share.failing);
                let place = self.enter(claimed.subscription, failing);
                let webhooks = self.clone();
                sending.spawn(async move {
                    let _place = place;
                    if let Err(error) = webhooks.attempt(&claimed).await {
                        // Its lease ends, and it is sent again.
                        tracing::warn!(%error, "an attempt to deliver a webhook could not be recorded");
                    }
                });
            }
        }
        let next = inner.db.read(move |tx| store::next_due(tx, now)).await?;
        Ok(next.map_or(latest, |next| next.min(latest)))
    }

    /// Gives the places that are free to those whose turn it is.
    fn share_out(&self, due: &[Waiting], ring: &mut Uuid) -> BTreeMap<Uuid, Share> {
        let in_flight = self.in_flight();
        let count = |flights: &Flights| flights.count;
        let mut free = AT_ONCE.saturating_sub(in_flight.values().map(count).sum());
        let failing = in_flight.values().filter(|flights| flights.failing).map(count).sum();
        let mut free_failing = AT_ONCE_FAILING.saturating_sub(failing);
        let mut shares = BTreeMap::new();
        // Whoever is done will wake us, if somebody has to wait.
        let mut short = due.len() >= BATCH;
        let mut last = *ring;
        for Waiting { subscription, failing } in due {
            let here = in_flight.get(subscription).map_or(0, count);
            let (each, in_all) = match failing {
                true => (AT_ONCE_EACH_FAILING, free_failing.min(free)),
                false => (AT_ONCE_EACH, free),
            };
            let wanted = each.saturating_sub(here);
            let places = wanted.min(in_all);
            short |= places < wanted;
            if places > 0 {
                free -= places;
                if *failing {
                    free_failing -= places;
                }
                shares.insert(*subscription, Share { places, failing: *failing });
                last = *subscription;
            }
        }
        *ring = if short { last } else { Uuid::nil() };
        shares
    }

    fn enter(&self, subscription: Uuid, failing: bool) -> Place {
        let mut in_flight = self.in_flight();
        let flights = in_flight.entry(subscription).or_default();
        flights.count += 1;
        flights.failing = failing;
        Place(self.clone(), subscription)
    }

    async fn attempt(&self, claimed: &Claimed) -> Result<(), db::Error> {
        let inner = &self.0;
        let at = inner.clock.now();
        let claimed = *claimed;
        let Some(letter) = inner.db.read(move |tx| store::letter(tx, &claimed, at)).await? else {
            return inner.db.write(move |tx| store::give_up(tx, &claimed)).await;
        };
        let start = Instant::now();
        let outcome = self.send(&claimed, &letter, at, start + TIMEOUT).await;
        let duration_ms = i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
        let now = inner.clock.now();
        let attempt =
            Attempt { event: claimed.event, at, duration_ms, status: outcome.status, error: outcome.error };
        let retry_after = outcome.retry_after;
        let (good, gone) = (attempt.error.is_none(), attempt.status == Some(410));
        let next = if good { Next::Delivered } else { self.next(&claimed, retry_after, now) };
        let id = inner.chance.uuid(now);
        inner
            .db
            .write(move |tx| {
                // The subscription comes first: whoever changes one of its deliveries holds it, so that nobody waits
                // for somebody who waits for them.
                let disable = if good {
                    store::arrived(tx, claimed.subscription)?;
                    None
                } else {
                    let since = store::did_not_arrive(tx, claimed.subscription, now)?;
                    let too_long = since.is_some_and(|since| now.duration_since(since) >= PATIENCE);
                    if gone { Some(Disabled::Gone) } else { too_long.then_some(Disabled::Failing) }
                };
                store::record(tx, &claimed, &attempt, id, &next, disable)
            })
            .await
    }

    /// When an attempt that failed is made again, with some chance in it, so that not all come at once.
    fn next(&self, claimed: &Claimed, retry_after: Option<SignedDuration>, now: Timestamp) -> Next {
        let attempt = usize::try_from(claimed.attempts).unwrap_or(usize::MAX);
        let Some(wait) = SCHEDULE.get(attempt) else { return Next::Failed };
        let [chance] = self.0.chance.bytes();
        let wait = *wait + *wait * i32::from(chance) / 2550;
        let asked = retry_after.unwrap_or_default().min(SCHEDULE[SCHEDULE.len() - 1]);
        Next::At(now + wait.max(asked))
    }

    async fn send(&self, claimed: &Claimed, letter: &Letter, now: Timestamp, deadline: Instant) -> Outcome {
        let address = format!("{}/{}", letter.url.trim_end_matches('/'), letter.kind);
        let Ok(url) = Url::parse(&address) else { return Outcome::no_answer("the address is not valid") };
        // The settings may have changed since it was subscribed; names are checked when they are looked up.
        if let Err(unfit) = self.0.settings.places.check(&url) {
            return Outcome::no_answer(format!("the address {unfit}"));
        }
        let id = format!("msg_{}", claimed.event.simple());
        let seconds = now.as_second();
        let body = letter.payload.as_bytes();
        let signatures: Vec<_> =
            letter.secrets.iter().map(|secret| secret.sign(&id, seconds, body)).collect();
        let mut request = self
            .0
            .http
            .post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", signatures.join(" "))
            .body(letter.payload.clone());
        let answer = async {
            if let Some(token_for) = &self.0.settings.token_for
                && let Some(token) = token_for(letter.owner.clone(), letter.url.clone()).await
            {
                request = request.bearer_auth(token);
            }
            request.send().await
        };
        match timeout_at(deadline, answer).await {
            Ok(Ok(response)) => Outcome::of(response, now, deadline).await,
            Ok(Err(error)) => Outcome::no_answer(explain(&error)),
            Err(_) => Outcome::no_answer("no answer within 15 seconds"),
        }
    }
}

/// What became of an attempt. It is good if there is no error.
struct Outcome {
    status: Option<u16>,
    error: Option<String>,
    retry_after: Option<SignedDuration>,
}

impl Outcome {
    fn no_answer(why: impl Into<String>) -> Self {
        Outcome { status: None, error: Some(why.into()), retry_after: None }
    }

    async fn of(response: Response, now: Timestamp, deadline: Instant) -> Self {
        let status = response.status();
        let retry_after = response.headers().get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| read_wait(value.to_str().ok()?.trim(), now));
        // Read to its end, up to a point, so that the connection can be used again. What became of the delivery is said
        // already: a body that breaks or does not end makes it no worse.
        let mut body = response.bytes_stream();
        let mut read = 0;
        while let Ok(Some(Ok(piece))) = timeout_at(deadline, body.next()).await {
            read += piece.len();
            if read > MOST_READ {
                break;
            }
        }
        let error = match status {
            status if status.is_success() => None,
            StatusCode::GONE => Some("answered 410: nothing is sent there any more".to_owned()),
            status if status.is_redirection() => {
                Some(format!("answered {}: redirects are not followed", status.as_u16()))
            }
            status => Some(format!("answered {}", status.as_u16())),
        };
        Outcome { status: Some(status.as_u16()), error, retry_after }
    }
}

/// How long a subscriber asks us to wait: seconds, or a date.
fn read_wait(text: &str, now: Timestamp) -> Option<SignedDuration> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More than there can be is still very long.
        return Some(SignedDuration::from_secs(text.parse().unwrap_or(i64::MAX)));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(date.timestamp().duration_since(now))
}

/// Why there was no answer, in words that hold no address and no secret.
fn explain(error: &reqwest::Error) -> String {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = source {
        if cause.is::<Forbidden>() {
            return Forbidden.to_string();
        }
        source = cause.source();
    }
    match error {
        error if error.is_connect() => "could not connect".into(),
        error if error.is_timeout() => "no answer within 15 seconds".into(),
        _ => "the connection broke".into(),
    }
}

/// How many attempts may be begun for a subscription.
#[derive(Clone)]
pub(crate) struct Share {
    pub(crate) places: usize,
    failing: bool,
}

/// The attempts that are being made for a subscription.
#[derive(Default)]
pub(crate) struct Flights {
    count: usize,
    /// Whether it was failing when the last of them began.
    failing: bool,
}

/// A place among the attempts of a subscription; it is free when this goes.
struct Place(Webhooks, Uuid);

impl Drop for Place {
    fn drop(&mut self) {
        let mut in_flight = self.0.in_flight();
        if let Some(flights) = in_flight.get_mut(&self.1) {
            flights.count -= 1;
            if flights.count == 0 {
                in_flight.remove(&self.1);
            }
        }
    }
}
