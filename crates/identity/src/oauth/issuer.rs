//! An issuer elsewhere, whose tokens a service takes instead of its own.
//!
//! Its keys are fetched in the background and kept. They are asked for again every hour, and for a key that nobody here
//! knows, but no more than once a minute however many tokens name one. While the issuer is away, the keys it had count.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use jiff::{SignedDuration, Timestamp};
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    task::JoinHandle,
};
use url::Url;
use web::Clock;

use super::{
    access::TokenError,
    discovery::{Description, Discovery, FetchError, check_address},
    jwk::{KeySet, PublicKey},
};

/// How old keys may be before they are fetched again behind a request's back.
const FRESH: SignedDuration = SignedDuration::from_hours(1);
/// How often the issuer is asked at the most.
const ASKED_EVERY: SignedDuration = SignedDuration::from_mins(1);
/// How often while we have no keys at all, so that nobody gets in.
const ASKED_EVERY_WITHOUT: SignedDuration = SignedDuration::from_secs(5);

/// What a service says about an issuer elsewhere.
#[derive(Debug, Clone)]
pub struct ExternalIssuer {
    /// The service's name in words.
    pub service: &'static str,
    /// The service's own address, without a slash at the end: where clients find out about its issuer.
    pub resource: String,
    /// The issuer, to the letter as its tokens name it.
    pub url: String,
    /// What its tokens for this service have as their audience.
    pub audience: String,
    /// The types its access tokens have: `at+jwt`, or what it sends instead. With `JWT` an identity token for the same
    /// audience cannot be told from an access token.
    pub types: Vec<String>,
    /// The claim with the scopes: `scope`, `scp`.
    pub scope_claim: String,
}

/// Why an issuer cannot be used, whatever it answers.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    #[error("the issuer {0:?} {1}")]
    Address(String, &'static str),
    #[error("the issuer's {0} must not be empty")]
    Empty(&'static str),
    #[error("cannot make connections to an issuer: {0}")]
    Http(String),
}

impl ExternalIssuer {
    fn check(&self) -> Result<(), IssuerError> {
        let wrong = |why| IssuerError::Address(self.url.clone(), why);
        let url = check_address(&self.url).map_err(wrong)?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("has a query or a fragment"));
        }
        let empty = [
            ("audience", self.audience.is_empty()),
            ("token types", self.types.is_empty() || self.types.iter().any(String::is_empty)),
            ("scope claim", self.scope_claim.is_empty()),
        ];
        match empty.into_iter().find(|(_, empty)| *empty) {
            Some((what, _)) => Err(IssuerError::Empty(what)),
            None => Ok(()),
        }
    }
}

/// The keys of an issuer elsewhere. Cloning it is cheap.
#[derive(Clone)]
pub(super) struct RemoteKeys(Arc<Inner>);

struct Inner {
    discovery: Discovery,
    clock: Clock,
    held: RwLock<Held>,
    /// Held by whoever is asking the issuer: there is never more than one.
    asking: Arc<Mutex<()>>,
}

struct Held {
    /// `None` until the issuer answered for the first time.
    keys: Option<KeySet>,
    /// When it last answered, and when it was last asked.
    read_at: Timestamp,
    asked_at: Timestamp,
    address: Option<Url>,
    /// Where clients get its tokens, as far as it said.
    endpoints: Option<(String, String)>,
}

impl RemoteKeys {
    /// Starts fetching, and does not wait for it.
    pub(super) fn open(issuer: &ExternalIssuer, clock: Clock) -> Result<Self, IssuerError> {
        issuer.check()?;
        let discovery = Discovery::new(&issuer.url).map_err(|error| IssuerError::Http(error.to_string()))?;
        let never = Timestamp::UNIX_EPOCH;
        let held = Held { keys: None, read_at: never, asked_at: never, address: None, endpoints: None };
        let asking = Arc::new(Mutex::new(()));
        let keys = RemoteKeys(Arc::new(Inner { discovery, clock, held: RwLock::new(held), asking }));
        keys.refresh_behind();
        Ok(keys)
    }

    /// Where clients get the issuer's tokens, once it was asked for the first time, whether or not it answered.
    pub(super) async fn endpoints(&self) -> Option<(String, String)> {
        drop(self.0.asking.lock().await);
        self.held().endpoints.clone()
    }

    /// The key of this id.
    pub(super) async fn public(&self, id: &str) -> Result<Option<Arc<PublicKey>>, TokenError> {
        if let Some(key) = self.find(id) {
            if self.0.since(self.held().read_at) >= FRESH && self.is_due() {
                self.refresh_behind();
            }
            return Ok(Some(key));
        }
        // It may be coming: whoever waits here waits for the answer that is under way.
        let asking = self.0.asking.clone().lock_owned().await;
        if let Some(key) = self.find(id) {
            return Ok(Some(key));
        }
        if self.is_due() {
            self.refresh(asking).await.map_err(|error| TokenError::Broken(error.to_string()))?;
        }
        let held = self.held();
        match &held.keys {
            Some(keys) => Ok(keys.get(id).cloned()),
            None => {
                let left = ASKED_EVERY_WITHOUT - self.0.since(held.asked_at);
                Err(TokenError::Away(u64::try_from(left.as_secs()).unwrap_or(0).max(1)))
            }
        }
    }

    fn find(&self, id: &str) -> Option<Arc<PublicKey>> {
        self.held().keys.as_ref()?.get(id).cloned()
    }

    fn is_due(&self) -> bool {
        let held = self.held();
        let every = if held.keys.is_some() { ASKED_EVERY } else { ASKED_EVERY_WITHOUT };
        self.0.since(held.asked_at) >= every
    }

    fn held(&self) -> RwLockReadGuard<'_, Held> {
        self.0.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches the keys without anybody waiting, unless somebody else is fetching them.
    fn refresh_behind(&self) {
        if let Ok(asking) = self.0.asking.clone().try_lock_owned() {
            drop(self.refresh(asking));
        }
    }

    /// Fetches the keys, in a task of its own: a client that hangs up must not undo what others wait for.
    fn refresh(&self, asking: OwnedMutexGuard<()>) -> JoinHandle<()> {
        let inner = self.0.clone();
        tokio::spawn(async move {
            inner.fetch().await;
            drop(asking);
        })
    }
}

impl Inner {
    fn since(&self, time: Timestamp) -> SignedDuration {
        // A clock that was set back must not keep us from asking.
        self.clock.now().duration_since(time).abs()
    }

    fn change(&self, change: impl FnOnce(&mut Held)) {
        change(&mut self.held.write().unwrap_or_else(PoisonError::into_inner));
    }

    async fn fetch(&self) {
        let now = self.clock.now();
        let mut known = None;
        self.change(|held| {
            held.asked_at = now;
            known = held.address.clone();
        });
        match self.ask(known).await {
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
                // The keys may have moved: next time the issuer is asked where they are.
                self.change(|held| held.address = None);
                match error {
                    FetchError::Unfit(..) => tracing::error!(%error, "the issuer's keys cannot be used"),
                    _ => {
                        tracing::warn!(%error, "the issuer's keys cannot be fetched; those known still count");
                    }
                }
            }
        }
    }

    async fn ask(&self, known: Option<Url>) -> Result<(Url, KeySet), FetchError> {
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
