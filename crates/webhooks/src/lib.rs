//! Webhooks: signed events that are delivered to subscriptions at least once.
//!
//! A service writes an event in the transaction of the change that it reports ([`Webhooks::write`]), so that neither is stored
//! without the other. [`Webhooks::run`] sends the deliveries. Several processes may do so on one database: each leases a
//! delivery before it sends it, outside of any transaction.
//!
//! - [`destination`]: allowed destinations
//! - [`receiver`]: destinations in this process
//! - [`sign`]: signatures of deliveries
//! - [`sender`]: the order of deliveries
//! - [`permits`]: limits on attempts in flight
//! - [`attempt`]: sending, and the schedule of retries
//! - [`store`]: the SQL
//! - [`tls`]: the TLS of deliveries

mod attempt;
mod destination;
mod permits;
mod receiver;
mod sender;
mod sign;
mod store;
mod tls;

use std::sync::Arc;

use db::{Db, Error, Migrations, Tx, WriteTx};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use trace::{TraceContext, Traces};
use url::Url;
use uuid::Uuid;
use web::{Clock, DeliveryGate, Random};

use sender::Sender;
use store::{Added, Rotated};

pub use destination::{Destinations, Resolver, system_resolver};
pub use receiver::Receiver;
pub use sign::{NotASecret, Secret};
pub use store::personal_data;

/// The tables of this crate, to be migrated with those of the service.
pub const MIGRATIONS: Migrations = model::migrations!("webhooks");

/// The most subscriptions of an owner.
pub const MOST_SUBSCRIPTIONS: i64 = 20;

/// How many attempts are stored for each subscription.
pub const MOST_ATTEMPTS: i64 = 50;

/// The lease of a delivery, unless a service has a reason for another.
pub const DEFAULT_LEASE: SignedDuration = SignedDuration::from_secs(60);

/// How many replaced secrets of a subscription may still sign.
pub(crate) const MOST_OLD_SECRETS: usize = 10;

/// Makes a bearer token for a delivery, from the owner and the URL.
pub type TokenFor = Arc<dyn Fn(String, String) -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// Whether deliveries may be sent for this owner now.
pub type MaySend = Arc<dyn Fn(String) -> BoxFuture<'static, bool> + Send + Sync>;

/// The settings of a service for its webhooks.
#[derive(Clone)]
pub struct Settings {
    pub destinations: Destinations,
    pub resolver: Resolver,
    /// How many test events and redeliveries may be requested for a subscription in an hour, counted from the first of them.
    /// The limit of an owner is [`MOST_SUBSCRIPTIONS`] times as much, and includes deleted subscriptions.
    pub test_events_per_hour: u32,
    /// `None`: deliveries may be sent for all owners.
    pub may_send: Option<MaySend>,
    pub token_for: Option<TokenFor>,
    /// Decides which deliveries fail on purpose; `None`: none.
    pub gate: Option<DeliveryGate>,
    /// Receives the deliveries to addresses of the service itself, if it has such addresses.
    pub receiver: Option<Arc<dyn Receiver>>,
    /// How long a process leases a delivery before it sends it; if the process stops, another one sends the delivery after that.
    /// An attempt takes at most a quarter of it, and 15 seconds.
    pub lease: SignedDuration,
    /// Records the attempts to deliver, as spans of this service; `None`: there are no spans. The trace of an event is passed on
    /// in any case.
    pub traces: Option<(Traces, &'static str)>,
}

/// A new event: its id, and the trace of the call that causes it.
#[derive(Debug, Clone)]
pub struct NewEvent {
    pub id: Uuid,
    pub trace: Option<TraceContext>,
}

/// The webhooks of a service. Cloning it is cheap.
#[derive(Clone)]
pub struct Webhooks(Arc<Inner>);

struct Inner {
    settings: Settings,
    db: Db,
    clock: Clock,
    /// For leases and permits, which do not depend on a clock that can be moved.
    machine: Clock,
    random: Random,
    http: reqwest::Client,
    woken: Notify,
}

/// A subscription to the events of an owner.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    pub id: Uuid,
    pub url: String,
    /// When the first attempt failed since the last one that succeeded.
    pub failing_since: Option<Timestamp>,
    /// Why it is disabled, if it is.
    pub disabled: Option<Disabled>,
}

/// Why a subscription is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disabled {
    /// The subscriber answered 410.
    Gone,
    /// All attempts of five days failed.
    Failing,
}

impl Disabled {
    pub fn word(self) -> &'static str {
        match self {
            Disabled::Gone => "gone",
            Disabled::Failing => "failing",
        }
    }

    fn from_word(word: &str) -> Self {
        if word == "gone" { Disabled::Gone } else { Disabled::Failing }
    }
}

/// An attempt to deliver an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    pub event: Uuid,
    pub at: Timestamp,
    pub duration_ms: i64,
    /// The status of the response, if there was one.
    pub status: Option<u16>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// Why there is no subscription.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    #[error("the address {0}")]
    Destination(&'static str),
    #[error("there can be {MOST_SUBSCRIPTIONS} subscriptions at the most")]
    TooMany,
    #[error("the owner was removed")]
    Removed,
    #[error(transparent)]
    Db(#[from] Error),
}

/// Why a secret is not replaced.
#[derive(Debug, thiserror::Error)]
pub enum RotateError {
    #[error("there is no such subscription")]
    Unknown,
    #[error("{MOST_OLD_SECRETS} secrets that were replaced within 24 hours still sign")]
    TooOften,
    #[error(transparent)]
    Db(#[from] Error),
}

/// Why a requested event is not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("there is no such subscription, or it has no delivery of this event")]
    Unknown,
    /// The limit of one subscription is reached until then.
    #[error("too many events were requested for this subscription within an hour")]
    TooMany(Timestamp),
    /// The limit of all of the owner's subscriptions is reached until then.
    #[error("too many events were requested for the owner's subscriptions within an hour")]
    TooManyOfOwner(Timestamp),
    #[error(transparent)]
    Db(#[from] Error),
}

/// Why webhooks cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot make connections for webhooks: {0}")]
    Http(#[from] reqwest::Error),
    #[error("cannot make connections for webhooks: {0}")]
    Tls(#[from] rustls::Error),
}

/// Deletes the subscriptions, deliveries and events of an owner, in a transaction of the service. The owner cannot subscribe
/// after that.
pub fn remove_owner(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    store::delete_owner(tx, owner)
}

/// A delivery of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub subscription: Uuid,
    /// `ready`, `sending`, `waiting`, `delivered` or `failed`.
    pub status: String,
    pub attempts: i64,
}

/// The deliveries of an event.
pub fn deliveries(tx: &mut Tx<'_>, event: Uuid) -> Result<Vec<Delivery>, Error> {
    store::deliveries(tx, event)
}

impl Webhooks {
    pub fn open(settings: Settings, db: Db, clock: Clock, random: Random) -> Result<Self, OpenError> {
        let resolver = destination::CheckedResolver {
            destinations: settings.destinations.clone(),
            resolver: settings.resolver.clone(),
        };
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config()?)
            .no_proxy()
            // The size of a response is counted as it is received, not after decompression.
            .gzip(false)
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Arc::new(resolver))
            .user_agent(concat!("triptych/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Webhooks(Arc::new(Inner {
            settings,
            db,
            machine: clock.of_machine(),
            clock,
            random,
            http,
            woken: Notify::new(),
        })))
    }

    /// Sends deliveries until `stop` completes, and then waits a limited time for the attempts in flight.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        Sender::new(self).run(stop).await;
    }

    /// Writes an event of an owner in the transaction of the change that it reports. Call [`Webhooks::wake`] after the commit
    /// to send it at once.
    pub fn write(
        &self,
        tx: &mut WriteTx<'_>,
        owner: &str,
        event: &NewEvent,
        kind: &str,
        payload: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        store::insert_event(tx, owner, event, kind, payload, now)
    }

    /// Wakes the sender: there is a delivery to send.
    pub fn wake(&self) {
        self.0.woken.notify_one();
    }

    /// Subscribes a URL to the events of an owner. The secret is given only here.
    pub async fn subscribe(&self, owner: &str, url: &Url) -> Result<(Subscription, Secret), SubscribeError> {
        self.check(url).map_err(SubscribeError::Destination)?;
        let secret = self.new_secret();
        let id = self.0.random.uuid(self.0.clock.now());
        let url = url.as_str().trim_end_matches('/').to_owned();
        let subscription = Subscription { id, url: url.clone(), failing_since: None, disabled: None };
        let (owner, stored) = (owner.to_owned(), secret.clone());
        let added = self.0.db.write(move |tx| store::insert_subscription(tx, &owner, id, &url, &stored));
        match added.await? {
            Added::Done => Ok((subscription, secret)),
            Added::TooMany => Err(SubscribeError::TooMany),
            Added::Removed => Err(SubscribeError::Removed),
        }
    }

    pub async fn subscriptions(&self, owner: &str) -> Result<Vec<Subscription>, Error> {
        let owner = owner.to_owned();
        self.0.db.read(move |tx| store::subscriptions(tx, &owner)).await
    }

    /// A subscription of an owner with its last attempts, the newest first.
    pub async fn subscription(
        &self,
        owner: &str,
        id: Uuid,
    ) -> Result<Option<(Subscription, Vec<Attempt>)>, Error> {
        let owner = owner.to_owned();
        self.0
            .db
            .snapshot(move |tx| match store::subscription(tx, &owner, id)? {
                Some(subscription) => Ok(Some((subscription, store::attempts(tx, id)?))),
                None => Ok(None),
            })
            .await
    }

    /// Deletes a subscription with its deliveries; `false` when there is none.
    pub async fn unsubscribe(&self, owner: &str, id: Uuid) -> Result<bool, Error> {
        let owner = owner.to_owned();
        self.0.db.write(move |tx| store::delete_subscription(tx, &owner, id)).await
    }

    /// Gives a subscription a new secret; the old one also signs for a day.
    pub async fn rotate(&self, owner: &str, id: Uuid) -> Result<Secret, RotateError> {
        let secret = self.new_secret();
        let (owner, stored, now) = (owner.to_owned(), secret.clone(), self.0.clock.now());
        match self.0.db.write(move |tx| store::rotate(tx, &owner, id, &stored, now)).await? {
            Rotated::Done => Ok(secret),
            Rotated::Unknown => Err(RotateError::Unknown),
            Rotated::TooOften => Err(RotateError::TooOften),
        }
    }

    /// Sends a test event to one subscription, and enables it. Gives the id of the event.
    pub async fn test(
        &self,
        owner: &str,
        id: Uuid,
        kind: &str,
        payload: &str,
        trace: Option<TraceContext>,
    ) -> Result<Uuid, SendError> {
        let (owner, kind, payload) = (owner.to_owned(), kind.to_owned(), payload.to_owned());
        let (now, most) = (self.0.clock.now(), self.0.settings.test_events_per_hour);
        let event = NewEvent { id: self.0.random.uuid(now), trace };
        let event_id = event.id;
        let send = move |tx: &mut WriteTx<'_>| {
            store::count_request(tx, &owner, id, most, now)?;
            store::insert_event_for(tx, &owner, id, &event, &kind, &payload, now)?;
            Ok::<_, SendError>(())
        };
        self.0.db.write(send).await?;
        self.wake();
        Ok(event_id)
    }

    /// Sends an event again to a subscription that has a delivery of it, and enables the subscription.
    pub async fn redeliver(&self, owner: &str, id: Uuid, event: Uuid) -> Result<(), SendError> {
        let owner = owner.to_owned();
        let (now, most) = (self.0.clock.now(), self.0.settings.test_events_per_hour);
        let send = move |tx: &mut WriteTx<'_>| {
            if !store::has_delivery(tx, id, event)? {
                return Err(SendError::Unknown);
            }
            store::count_request(tx, &owner, id, most, now)?;
            Ok(store::redeliver(tx, id, event, now)?)
        };
        self.0.db.write(send).await?;
        self.wake();
        Ok(())
    }

    /// Sends events again that were created since a time and did not arrive. Gives their number.
    pub async fn redeliver_failed(
        &self,
        owner: &str,
        id: Uuid,
        since: Timestamp,
    ) -> Result<usize, SendError> {
        let (now, most) = (self.0.clock.now(), self.0.settings.test_events_per_hour);
        let (mut events, mut after) = (0, None);
        loop {
            let owner = owner.to_owned();
            let send = move |tx: &mut WriteTx<'_>| {
                // All batches are one request.
                if after.is_none() {
                    store::count_request(tx, &owner, id, most, now)?;
                }
                let after = after.unwrap_or(Uuid::nil());
                let sent = store::redeliver_failed(tx, &owner, id, since, after, now)?;
                sent.ok_or(SendError::Unknown)
            };
            let (found, last) = self.0.db.write(send).await?;
            self.wake();
            events += found;
            match last {
                Some(last) => after = Some(last),
                None => return Ok(events),
            }
        }
    }

    fn new_secret(&self) -> Secret {
        Secret(self.0.random.bytes::<32>().to_vec())
    }
}
