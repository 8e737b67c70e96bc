//! The keys of an external issuer.
//!
//! They are fetched in the background and kept. They are fetched again every hour, and for an unknown key id, but at most
//! once a minute however many tokens have such an id. While the issuer is down, the last known keys stay in use.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use futures_util::{FutureExt, future::BoxFuture};
use jiff::{SignedDuration, Timestamp};
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    task::JoinHandle,
};
use url::Url;
use web::Clock;

use super::{
    discovery::{Description, Discovery, FetchError},
    external_issuer::{ExternalIssuer, IssuerError},
    issuer::Issuer,
    jwk::{KeySet, PublicKey},
};
use crate::oauth::claims::{Claims, TokenError};

/// How old keys may be before they are fetched again in the background.
const FRESH: SignedDuration = SignedDuration::from_hours(1);
/// The shortest time between two fetches.
const FETCH_INTERVAL: SignedDuration = SignedDuration::from_mins(1);
/// The same while no keys are known, and every request with a token fails.
const FIRST_FETCH_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// The keys of an external issuer. Cloning it is cheap.
#[derive(Clone)]
pub(crate) struct RemoteKeys(Arc<Inner>);

struct Inner {
    discovery: Discovery,
    clock: Clock,
    held: RwLock<Held>,
    /// Locked during a fetch: there is at most one at a time.
    fetching: Arc<Mutex<()>>,
}

struct Held {
    /// `None` until the first fetch succeeds.
    keys: Option<KeySet>,
    /// When a fetch last succeeded, and when one last began.
    read_at: Timestamp,
    fetched_at: Timestamp,
    address: Option<Url>,
    /// The issuer's authorization and token endpoints, if it publishes them.
    endpoints: Option<(String, String)>,
}

impl RemoteKeys {
    /// Starts fetching, and does not wait for it.
    pub(crate) fn open(issuer: &ExternalIssuer, clock: &Clock) -> Result<Self, IssuerError> {
        issuer.check()?;
        let discovery = Discovery::new(&issuer.url).map_err(|error| IssuerError::Http(error.to_string()))?;
        let never = Timestamp::UNIX_EPOCH;
        let held = Held { keys: None, read_at: never, fetched_at: never, address: None, endpoints: None };
        let fetching = Arc::new(Mutex::new(()));
        // The issuer is outside: how often it is asked does not depend on a clock that can be moved or frozen.
        let clock = clock.of_machine();
        let keys = RemoteKeys(Arc::new(Inner { discovery, clock, held: RwLock::new(held), fetching }));
        keys.refresh_in_background();
        Ok(keys)
    }

    /// The issuer's authorization and token endpoints. Waits for the first fetch, whether or not it succeeds.
    pub(crate) async fn endpoints(&self) -> Option<(String, String)> {
        drop(self.0.fetching.lock().await);
        self.held().endpoints.clone()
    }

    /// The key of this id.
    async fn public(&self, id: &str) -> Result<Option<Arc<PublicKey>>, TokenError> {
        if let Some(key) = self.find(id) {
            if self.0.since(self.held().read_at) >= FRESH && self.is_due() {
                self.refresh_in_background();
            }
            return Ok(Some(key));
        }
        // Waits for a fetch that is under way: it may bring the key.
        let fetching = self.0.fetching.clone().lock_owned().await;
        if let Some(key) = self.find(id) {
            return Ok(Some(key));
        }
        if self.is_due() {
            self.refresh(fetching).await.map_err(|error| TokenError::Broken(error.to_string()))?;
        }
        let held = self.held();
        match &held.keys {
            Some(keys) => Ok(keys.get(id).cloned()),
            None => {
                let left = FIRST_FETCH_INTERVAL - self.0.since(held.fetched_at);
                Err(TokenError::KeysUnavailable(u64::try_from(left.as_secs()).unwrap_or(0).max(1)))
            }
        }
    }

    fn find(&self, id: &str) -> Option<Arc<PublicKey>> {
        self.held().keys.as_ref()?.get(id).cloned()
    }

    fn is_due(&self) -> bool {
        let held = self.held();
        let every = if held.keys.is_some() { FETCH_INTERVAL } else { FIRST_FETCH_INTERVAL };
        self.0.since(held.fetched_at) >= every
    }

    fn held(&self) -> RwLockReadGuard<'_, Held> {
        self.0.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a fetch, unless one is under way, and does not wait for it.
    fn refresh_in_background(&self) {
        if let Ok(fetching) = self.0.fetching.clone().try_lock_owned() {
            drop(self.refresh(fetching));
        }
    }

    /// Fetches the keys in a separate task: a client that disconnects must not cancel what other requests wait for.
    fn refresh(&self, fetching: OwnedMutexGuard<()>) -> JoinHandle<()> {
        let inner = self.0.clone();
        tokio::spawn(async move {
            inner.fetch().await;
            drop(fetching);
        })
    }
}

impl Issuer for RemoteKeys {
    fn key<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Arc<PublicKey>>, TokenError>> {
        self.public(id).boxed()
    }

    /// An external issuer cannot be asked.
    fn is_revoked<'a>(&'a self, _: &'a Claims) -> BoxFuture<'a, Result<bool, db::Error>> {
        std::future::ready(Ok(false)).boxed()
    }
}

impl Inner {
    fn since(&self, time: Timestamp) -> SignedDuration {
        // A clock that was set back must not prevent a fetch.
        self.clock.now().duration_since(time).abs()
    }

    fn change(&self, change: impl FnOnce(&mut Held)) {
        change(&mut self.held.write().unwrap_or_else(PoisonError::into_inner));
    }

    async fn fetch(&self) {
        let now = self.clock.now();
        let mut known = None;
        self.change(|held| {
            held.fetched_at = now;
            known = held.address.clone();
        });
        match self.read(known).await {
            Ok((address, keys)) => {
                if keys.is_empty() {
                    tracing::warn!(%address, "the issuer shows no key that can check an access token");
                }
                self.change(|held| {
                    held.keys = Some(keys);
                    held.read_at = now;
                    held.address = Some(address);
                });
            }
            Err(error) => {
                // The keys may have moved: the next fetch asks the issuer where they are.
                self.change(|held| held.address = None);
                match error {
                    FetchError::Invalid(..) => tracing::error!(%error, "the issuer's keys cannot be used"),
                    _ => {
                        tracing::warn!(%error, "the issuer's keys cannot be fetched; those known still count");
                    }
                }
            }
        }
    }

    async fn read(&self, known: Option<Url>) -> Result<(Url, KeySet), FetchError> {
        let address = match known {
            Some(address) => address,
            None => {
                let Description { keys, endpoints } = self.discovery.description().await?;
                self.change(|held| held.endpoints = endpoints);
                keys
            }
        };
        let keys = self.discovery.keys(&address).await?;
        Ok((address, keys))
    }
}
