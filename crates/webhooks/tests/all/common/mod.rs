//! Webhooks on either engine, with a manual clock and a receiver.

use db::{Db, Migrations};
use jiff::{SignedDuration, Timestamp};
use testkit::{Engine, Fixture, Store};
use tokio::task::JoinHandle;
use uuid::Uuid;
use web::{Clock, Random};
use webhooks::{
    Attempt, DEFAULT_LEASE, Destinations, NewEvent, Secret, Settings, Subscription, Webhooks, system_resolver,
};

pub(crate) use testkit::receiver::{Got, Receiver, Reply, reply};

pub(crate) const KIND: &str = "newBooking";

pub(crate) struct Harness {
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    pub(crate) webhooks: Webhooks,
    pub(crate) receiver: Receiver,
    // Dropped last, after the database is closed.
    pub(crate) store: Store,
}

impl Fixture for Harness {
    async fn start(engine: Engine) -> Self {
        Harness::on(Store::new(engine), &[webhooks::MIGRATIONS]).await
    }
}

impl Harness {
    pub(crate) async fn on(store: Store, migrations: &[Migrations]) -> Self {
        // The time of the machine, which the independent check of signatures uses.
        let now = Timestamp::from_microsecond(Clock::system().now().as_microsecond()).unwrap();
        let clock = Clock::manual(now);
        let db = store.open("test", migrations);
        let webhooks = Webhooks::open(settings(), db.clone(), clock.clone(), Random::system()).unwrap();
        Harness { db, clock, webhooks, receiver: Receiver::start().await, store }
    }
}

/// An event of no trace.
pub(crate) fn untraced(id: Uuid) -> NewEvent {
    NewEvent { id, trace: None }
}

/// The settings of a demo: deliveries may go to this machine.
pub(crate) fn settings() -> Settings {
    let destinations = Destinations { loopback: true, networks: Vec::new() };
    Settings {
        destinations,
        resolver: system_resolver(),
        test_events_per_hour: 60,
        may_send: None,
        token_for: None,
        gate: None,
        receiver: None,
        lease: DEFAULT_LEASE,
        traces: None,
    }
}

/// A sender that ends when this value is dropped, like a killed process.
pub(crate) struct Running(JoinHandle<()>);

impl Running {
    pub(crate) fn new(webhooks: &Webhooks) -> Self {
        Running(tokio::spawn(webhooks.clone().run(std::future::pending())))
    }

    /// Ends the sender at once.
    pub(crate) async fn kill(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Harness {
    /// Starts sending.
    pub(crate) fn run(&self) -> Running {
        Running::new(&self.webhooks)
    }

    /// The webhooks with other settings.
    pub(crate) fn with(&self, settings: Settings) -> Webhooks {
        Webhooks::open(settings, self.db.clone(), self.clock.clone(), Random::system()).unwrap()
    }

    /// The webhooks of another process on the same database.
    pub(crate) fn another(&self) -> Webhooks {
        let db = self.store.open("test", &[webhooks::MIGRATIONS]);
        Webhooks::open(settings(), db, self.clock.clone(), Random::system()).unwrap()
    }

    pub(crate) async fn subscribe(&self, owner: &str, name: &str) -> (Uuid, Secret) {
        let (subscription, secret) = self.webhooks.subscribe(owner, &self.receiver.url(name)).await.unwrap();
        (subscription.id, secret)
    }

    /// Writes an event whose payload is its id, and wakes the sender.
    pub(crate) async fn write(&self, owner: &str) -> Uuid {
        let event = Random::system().uuid(self.clock.now());
        let (webhooks, now, owner) = (self.webhooks.clone(), self.clock.now(), owner.to_owned());
        let write = move |tx: &mut db::WriteTx<'_>| {
            webhooks.write(tx, &owner, &untraced(event), KIND, &payload(event), now)
        };
        self.db.write(write).await.unwrap();
        self.webhooks.wake();
        event
    }

    pub(crate) async fn see(&self, owner: &str, id: Uuid) -> (Subscription, Vec<Attempt>) {
        self.webhooks.subscription(owner, id).await.unwrap().unwrap()
    }

    /// Waits until `count` attempts are recorded, and gives them, the newest first.
    #[track_caller]
    pub(crate) fn attempts(&self, owner: &str, id: Uuid, count: usize) -> impl Future<Output = Vec<Attempt>> {
        let caller = std::panic::Location::caller();
        async move {
            let mut found = Vec::new();
            testkit::until(async || {
                found = self.see(owner, id).await.1;
                found.len() >= count
            })
            .await;
            assert_eq!(found.len(), count, "{caller}: {found:?}");
            found
        }
    }

    /// Waits until the newest recorded attempt is for this event, and gives it.
    pub(crate) async fn newest(&self, owner: &str, id: Uuid, event: Uuid) -> Attempt {
        let mut newest = None;
        testkit::until(async || {
            newest = self.see(owner, id).await.1.into_iter().next().filter(|newest| newest.event == event);
            newest.is_some()
        })
        .await;
        newest.expect("an attempt at this event")
    }

    /// Waits until all deliveries that are due are claimed: two later marker events, one after the other, have arrived.
    pub(crate) async fn wait_for_claims(&self) {
        self.wait_for_claims_of(&self.webhooks).await;
    }

    /// The same where another process sends.
    pub(crate) async fn wait_for_claims_of(&self, sender: &Webhooks) {
        if self.webhooks.subscriptions("marker").await.unwrap().is_empty() {
            self.subscribe("marker", "marker").await;
        }
        for _ in 0..2 {
            let count = self.receiver.count("marker");
            self.write("marker").await;
            sender.wake();
            self.receiver.wait_for("marker", count + 1).await;
        }
    }

    /// The stored status of a delivery, and when it is due.
    pub(crate) async fn delivery(&self, id: Uuid, event: Uuid) -> Option<(String, Option<Timestamp>)> {
        let read = move |tx: &mut db::Tx<'_>| {
            tx.row(
                "SELECT status, due_at FROM webhook_delivery WHERE subscription_id = $1 AND event_id = $2",
                &[id.into(), event.into()],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
        };
        self.db.read(read).await.unwrap()
    }

    /// The number of rows of a subscription in all tables.
    pub(crate) async fn rows_of(&self, id: Uuid) -> i64 {
        let read = move |tx: &mut db::Tx<'_>| {
            tx.row(
                "SELECT (SELECT count(*) FROM webhook_subscription WHERE id = $1)
                 + (SELECT count(*) FROM webhook_delivery WHERE subscription_id = $1)
                 + (SELECT count(*) FROM webhook_attempt WHERE subscription_id = $1)",
                &[id.into()],
                |row| row.get::<i64>(0),
            )
        };
        self.db.read(read).await.unwrap().unwrap()
    }

    pub(crate) fn advance(&self, by: SignedDuration) {
        self.clock.advance(by);
    }

    pub(crate) fn seconds(&self, seconds: i64) {
        self.advance(SignedDuration::from_secs(seconds));
    }

    pub(crate) fn hours(&self, hours: i64) {
        self.advance(SignedDuration::from_hours(hours));
    }
}

pub(crate) fn payload(event: Uuid) -> String {
    format!(r#"{{"event":"{event}"}}"#)
}

/// The id of an event in a request.
pub(crate) fn message(event: Uuid) -> String {
    format!("msg_{}", event.simple())
}
