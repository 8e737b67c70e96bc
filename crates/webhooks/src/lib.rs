//! What leaves: events that are told to whoever subscribed to them, signed, until they arrive.
//!
//! A service writes an event in the transaction of what it is about ([`Webhooks::write`]), so that there is never the one
//! without the other. [`Webhooks::run`] sends what is due: several processes may do so on one database, since each takes on a
//! delivery for a while before it sends it, outside of any transaction.
//!
//! - [`place`]: where deliveries may go
//! - [`sign`]: how a subscriber knows that they are ours
//! - [`deliver`]: when they are sent, and again
//! - [`store`]: the SQL

mod deliver;
mod place;
mod sign;
mod store;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use db::{Db, Error, Migrations, WriteTx};
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::Notify;
use url::Url;
use uuid::Uuid;
use web::{Chance, Clock};

use deliver::Flights;

pub use place::{LookUp, Places, Unfit, by_system};
pub use sign::{NotASecret, Secret};

/// The tables of this crate, to be migrated with those of the service.
pub const MIGRATIONS: Migrations = db::migrations!("webhooks": "0001_webhooks");

/// How many subscriptions somebody can have.
pub const MOST_SUBSCRIPTIONS: i64 = 20;

/// Makes a bearer token for a delivery, from whose event it is and where it goes.
pub type TokenFor = Arc<dyn Fn(String, String) -> BoxFuture<'static, Option<String>> + Send + Sync>;

/// What a service says about its webhooks.
#[derive(Clone)]
pub struct Settings {
    pub places: Places,
    pub look_up: LookUp,
    pub token_for: Option<TokenFor>,
}

/// The webhooks of a service. Cloning it is cheap.
#[derive(Clone)]
pub struct Webhooks(Arc<Inner>);

struct Inner {
    settings: Settings,
    db: Db,
    clock: Clock,
    chance: Chance,
    http: reqwest::Client,
    woken: Notify,
    in_flight: Mutex<HashMap<Uuid, Flights>>,
}

/// Somebody who is told about events.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    pub id: Uuid,
    pub url: String,
    /// Since when nothing has arrived, if the last delivery failed.
    pub failing_since: Option<Timestamp>,
    /// Why nothing is sent any more, if so.
    pub disabled: Option<Disabled>,
}

/// Why nothing is sent to a subscription any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disabled {
    /// It answered 410.
    Gone,
    /// Nothing arrived for five days.
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
    /// The answer's, if there was one.
    pub status: Option<u16>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// Why there is no subscription.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    #[error("the address {0}")]
    Unfit(Unfit),
    #[error("there can be {MOST_SUBSCRIPTIONS} subscriptions at the most")]
    TooMany,
    #[error(transparent)]
    Db(#[from] Error),
}

/// Why webhooks cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("cannot make connections for webhooks: {0}")]
pub struct OpenError(#[from] reqwest::Error);

impl Webhooks {
    pub fn open(settings: Settings, db: Db, clock: Clock, chance: Chance) -> Result<Self, OpenError> {
        let checked = place::Checked { places: settings.places.clone(), look_up: settings.look_up.clone() };
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .dns_resolver(Arc::new(checked))
            .user_agent(concat!("triptych/", env!("CARGO_PKG_VERSION")))
            .build()?;
        let (woken, in_flight) = (Notify::new(), Mutex::default());
        Ok(Webhooks(Arc::new(Inner { settings, db, clock, chance, http, woken, in_flight })))
    }

    /// Writes an event of an owner's, in the transaction of what it is about. [`Webhooks::wake`] sends it at once after that.
    pub fn write(
        &self,
        tx: &mut WriteTx<'_>,
        owner: &str,
        event: Uuid,
        kind: &str,
        payload: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        store::insert_event(tx, owner, event, kind, payload, now)
    }

    /// There is something to send.
    pub fn wake(&self) {
        self.0.woken.notify_one();
    }

    /// Subscribes an address to an owner's events. The secret is told this once.
    pub async fn subscribe(&self, owner: &str, url: &Url) -> Result<(Subscription, Secret), SubscribeError> {
        self.0.settings.places.check(url).map_err(SubscribeError::Unfit)?;
        let secret = self.new_secret();
        let id = self.0.chance.uuid(self.0.clock.now());
        let url = url.as_str().trim_end_matches('/').to_owned();
        let subscription = Subscription { id, url: url.clone(), failing_since: None, disabled: None };
        let (owner, stored) = (owner.to_owned(), secret.clone());
        let added = self
            .0
            .db
            .write(move |tx| store::insert_subscription(tx, &owner, id, &url, &stored, MOST_SUBSCRIPTIONS));
        if added.await? { Ok((subscription, secret)) } else { Err(SubscribeError::TooMany) }
    }

    pub async fn subscriptions(&self, owner: &str) -> Result<Vec<Subscription>, Error> {
        let owner = owner.to_owned();
        self.0.db.read(move |tx| store::subscriptions(tx, &owner)).await
    }

    /// A subscription of an owner's, with its last attempts, the newest first.
    pub async fn subscription(
        &self,
        owner: &str,
        id: Uuid,
    ) -> Result<Option<(Subscription, Vec<Attempt>)>, Error> {
        let owner = owner.to_owned();
        self.0
            .db
            .read(move |tx| match store::subscription(tx, &owner, id)? {
                Some(subscription) => Ok(Some((subscription, store::attempts(tx, id)?))),
                None => Ok(None),
            })
            .await
    }

    /// Ends a subscription and all that is on its way to it; `false` when there is none.
    pub async fn unsubscribe(&self, owner: &str, id: Uuid) -> Result<bool, Error> {
        let owner = owner.to_owned();
        self.0.db.write(move |tx| store::delete_subscription(tx, &owner, id)).await
    }

    /// Gives a subscription another secret; the old one signs along for a day.
    pub async fn rotate(&self, owner: &str, id: Uuid) -> Result<Option<Secret>, Error> {
        let secret = self.new_secret();
        let (owner, stored, now) = (owner.to_owned(), secret.clone(), self.0.clock.now());
        let rotated = self.0.db.write(move |tx| store::rotate(tx, &owner, id, &stored, now)).await?;
        Ok(rotated.then_some(secret))
    }

    /// Sends an event to one subscription alone; gives the event's id, or nothing when there is no such subscription.
    pub async fn send_to(
        &self,
        owner: &str,
        id: Uuid,
        kind: &str,
        payload: &str,
    ) -> Result<Option<Uuid>, Error> {
        let (owner, kind, payload) = (owner.to_owned(), kind.to_owned(), payload.to_owned());
        let now = self.0.clock.now();
        let event = self.0.chance.uuid(now);
        let sent = self
            .0
            .db
            .write(move |tx| match store::subscription(tx, &owner, id)? {
                Some(_) => store::insert_event_for(tx, id, event, &kind, &payload, now).map(|()| true),
                None => Ok::<_, Error>(false),
            })
            .await?;
        self.wake();
        Ok(sent.then_some(event))
    }

    /// Sends an event again; `false` when it never went to this subscription.
    pub async fn redeliver(&self, owner: &str, id: Uuid, event: Uuid) -> Result<bool, Error> {
        let (owner, now) = (owner.to_owned(), self.0.clock.now());
        let found = self
            .0
            .db
            .write(move |tx| match store::subscription(tx, &owner, id)? {
                Some(_) => store::redeliver(tx, id, event, now),
                None => Ok::<_, Error>(false),
            })
            .await?;
        self.wake();
        Ok(found)
    }

    /// Sends again what failed and was made since then; how many events, or nothing when there is no such subscription.
    pub async fn redeliver_failed(
        &self,
        owner: &str,
        id: Uuid,
        since: Timestamp,
    ) -> Result<Option<u64>, Error> {
        let (owner, now) = (owner.to_owned(), self.0.clock.now());
        let found = self
            .0
            .db
            .write(move |tx| match store::subscription(tx, &owner, id)? {
                Some(_) => store::redeliver_failed(tx, id, since, now).map(Some),
                None => Ok::<_, Error>(None),
            })
            .await?;
        self.wake();
        Ok(found)
    }

    fn new_secret(&self) -> Secret {
        Secret(self.0.chance.bytes::<32>().to_vec())
    }

    fn in_flight(&self) -> MutexGuard<'_, HashMap<Uuid, Flights>> {
        self.0.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
