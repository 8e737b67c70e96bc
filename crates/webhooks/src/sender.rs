//! Sends deliveries that are ready, with a fair share of the permits for each subscription and each owner.
//!
//! Each attempt in flight needs a permit. Subscriptions get theirs round robin, in the order of their ids. A subscription is slow
//! if its last attempt failed or took more than a second: it has one permit, and all slow subscriptions together have half of
//! the permits, so that they cannot delay the others. An attempt of another subscription that takes more than a second releases
//! its permit, until too many are in flight.
//!
//! One transaction records the attempts that have ended and claims the deliveries that are sent next.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use db::{Error, WriteTx};
use jiff::Timestamp;
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::Instant,
};
use uuid::Uuid;

use crate::{
    Webhooks,
    attempt::panics,
    permits::{InFlight, Permits},
    store::{self, Completed, Grant, Message, Next, Now},
};

/// The longest pause between two searches for waiting deliveries: another process may have written them.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The pause after an error.
const ERROR_PAUSE: Duration = Duration::from_secs(1);

/// The shortest time between two rounds, so that events that arrive together share a transaction. The first event after
/// an idle time does not wait.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// How long a stop waits for the attempts in flight.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Sender {
    webhooks: Webhooks,
    attempts: JoinSet<Option<Completed>>,
    in_flight: HashMap<Id, InFlight>,
    /// Attempts that have ended and are not recorded yet.
    completed: Vec<Completed>,
    /// The last subscription that was considered, of the slow ones and of the others.
    last: [Uuid; 2],
    /// When deliveries that wait may be due, by the service's clock.
    due_at: Timestamp,
    /// When a lease may expire, by the machine's clock.
    lease_ends_at: Timestamp,
}

impl Sender {
    pub(crate) fn new(webhooks: Webhooks) -> Self {
        Sender {
            due_at: webhooks.0.clock.now(),
            lease_ends_at: webhooks.0.machine.now(),
            webhooks,
            attempts: JoinSet::new(),
            in_flight: HashMap::new(),
            completed: Vec::new(),
            last: [Uuid::nil(); 2],
        }
    }

    pub(crate) async fn run(mut self, stop: impl Future<Output = ()>) {
        // The counter exists from the start, so that the first panic is seen as a change.
        panics().increment(0);
        let mut stop = std::pin::pin!(stop);
        loop {
            let next_round = Instant::now() + SHORTEST_PAUSE;
            match self.round().await {
                Ok(true) => {}
                Ok(false) => {
                    let release_at = self.release_at();
                    tokio::select! {
                        biased;
                        () = &mut stop => break,
                        () = self.webhooks.0.clock.wait_until(self.due_at) => {}
                        () = self.webhooks.0.machine.wait_until(release_at) => {}
                        // A clock may have been set back.
                        () = tokio::time::sleep_until(next_round + LONGEST_PAUSE) => {}
                        () = self.webhooks.0.woken.notified() => {}
                        Some(ended) = self.attempts.join_next_with_id() => self.ended(ended),
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "webhooks could not be sent; retrying");
                    tokio::select! {
                        biased;
                        () = &mut stop => break,
                        () = tokio::time::sleep_until(next_round + ERROR_PAUSE) => {}
                    }
                }
            }
            tokio::time::sleep_until(next_round).await;
            while let Some(ended) = self.attempts.try_join_next_with_id() {
                self.ended(ended);
            }
            // A stop takes effect before attempts that ended after it free their permits.
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = std::future::ready(()) => {}
            }
        }
        self.finish().await;
    }

    /// Waits a limited time for the attempts in flight, and claims nothing more.
    async fn finish(mut self) {
        let all = async {
            while let Some(ended) = self.attempts.join_next_with_id().await {
                self.ended(ended);
            }
        };
        let _ = tokio::time::timeout(STOP_TIMEOUT, all).await;
        if let Err(error) = self.write(BTreeMap::new()).await {
            tracing::warn!(%error, "the last attempts to deliver webhooks could not be recorded");
        }
    }

    fn ended(&mut self, ended: Result<(Id, Option<Completed>), JoinError>) {
        let (id, completed) = ended.unwrap_or_else(|error| {
            // Panics of an attempt are caught before. The delivery is sent again when its lease expires.
            tracing::error!(%error, "an attempt to deliver a webhook was not recorded");
            (error.id(), None)
        });
        self.in_flight.remove(&id);
        self.completed.extend(completed);
    }

    /// Starts the attempts that have a permit; `true` when there may be more to do at once.
    async fn round(&mut self) -> Result<bool, Error> {
        let now = self.now();
        let is_near = |now: Timestamp, then: Timestamp| now < then && then <= now + LONGEST_PAUSE;
        if !is_near(now.service, self.due_at) || !is_near(now.machine, self.lease_ends_at) {
            self.promote(now).await?;
        }
        let grants = self.grant(now.machine).await?;
        // A recorded attempt may have made a delivery ready again.
        let may_be_more = !grants.is_empty() || !self.completed.is_empty();
        for message in self.write(grants).await? {
            self.start(message);
        }
        Ok(may_be_more)
    }

    fn now(&self) -> Now {
        Now { service: self.webhooks.0.clock.now(), machine: self.webhooks.0.machine.now() }
    }

    /// When the next attempt releases its permit or the next lease expires, by the machine's clock.
    fn release_at(&self) -> Timestamp {
        let now = self.webhooks.0.machine.now();
        let releases = self.in_flight.values().filter_map(InFlight::releases_at).filter(|at| *at > now);
        releases.chain([self.lease_ends_at]).min().unwrap_or(self.lease_ends_at)
    }

    /// Makes deliveries ready that are due, and deletes old events.
    async fn promote(&mut self, now: Now) -> Result<(), Error> {
        let db = &self.webhooks.0.db;
        let next = db.read(store::upcoming).await?;
        let today = now.service;
        let may_be_more = if next.is_due(now) {
            db.write(move |tx| store::promote(tx, now)).await?;
            true
        } else {
            db.read(move |tx| store::has_old_events(tx, today)).await?
                && db.write(move |tx| store::delete_old_events(tx, today)).await? > 0
        };
        let until = |next: Option<Timestamp>, now: Timestamp| {
            let latest = now + LONGEST_PAUSE;
            if may_be_more { now } else { next.map_or(latest, |next| next.min(latest)) }
        };
        (self.due_at, self.lease_ends_at) =
            (until(next.attempt, now.service), until(next.lease, now.machine));
        Ok(())
    }

    /// Grants the free permits to subscriptions that have ready deliveries.
    async fn grant(&mut self, now: Timestamp) -> Result<BTreeMap<Uuid, Grant>, Error> {
        let mut permits = Permits::new(self.in_flight.values(), now);
        let mut grants = BTreeMap::new();
        let mut last = self.last;
        // Slow subscriptions first: they never get more than half of the permits.
        for (last, slow) in last.iter_mut().zip([true, false]) {
            if permits.free(slow) == 0 {
                continue;
            }
            for ready in self.ready(slow, *last, permits.most_read(slow)).await? {
                let grant = permits.grant(&ready, slow);
                if grant.permits > 0 {
                    grants.insert(ready.subscription, grant);
                }
                *last = ready.subscription;
                if permits.free(slow) == 0 {
                    break;
                }
            }
        }
        self.last = last;
        Ok(grants)
    }

    /// Subscriptions that have ready deliveries, from the one after `last` on, and around.
    async fn ready(&self, slow: bool, last: Uuid, limit: usize) -> Result<Vec<store::Ready>, Error> {
        let db = &self.webhooks.0.db;
        let search = |after, limit| db.read(move |tx| store::ready_subscriptions(tx, slow, after, limit));
        let mut found = search(last, limit).await?;
        if found.len() < limit && !last.is_nil() {
            let rest = search(Uuid::nil(), limit - found.len()).await?;
            found.extend(rest.into_iter().take_while(|ready| ready.subscription <= last));
        }
        Ok(found)
    }

    /// Records the completed attempts, and claims the deliveries that are sent next.
    async fn write(&mut self, grants: BTreeMap<Uuid, Grant>) -> Result<Vec<Message>, Error> {
        if grants.is_empty() && self.completed.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.now();
        let (completed, lease) = (self.completed.clone(), self.webhooks.0.settings.lease);
        let write = move |tx: &mut WriteTx<'_>| {
            let disabled = store::record(tx, &completed, now.service)?;
            Ok((disabled, store::claim(tx, &grants, now, lease)?))
        };
        let written = self.webhooks.0.db.write(write).await;
        match &written {
            Ok(_) | Err(Error::Busy | Error::Unavailable(_) | Error::Conflict(_)) => {}
            // A retry would fail too. The deliveries are sent again when their leases expire.
            Err(_) => self.completed.clear(),
        }
        let (disabled, messages) = written?;
        for (subscription, because) in disabled {
            tracing::info!(%subscription, because = because.word(), "a webhook subscription is disabled");
        }
        for completed in self.completed.drain(..) {
            if let Next::At(then) = completed.next {
                self.due_at = self.due_at.min(then);
            }
        }
        Ok(messages)
    }

    fn start(&mut self, message: Message) {
        let since = self.webhooks.0.machine.now();
        let in_flight = InFlight { subscriber: message.subscriber.clone(), slow: message.slow, since };
        let webhooks = self.webhooks.clone();
        let task = self.attempts.spawn(async move { webhooks.attempt(message).await });
        self.in_flight.insert(task.id(), in_flight);
    }
}
