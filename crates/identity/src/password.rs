//! Hashing passwords: argon2id, off the threads that serve, a few at a time.
//!
//! Checking passwords and setting new ones have queues of their own: however many users are being made, signing in goes on.

use std::{
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::available_parallelism,
};

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use web::Chance;

use crate::hasher::{Hasher, broken};

/// How many may wait for a turn. Each turn takes some 20 ms, so a longer queue would only be a longer wait for a "busy". Who
/// sets passwords may set fifty in one place, one after the other.
const CHECKS_WAITING: usize = 256;
const CHANGES_WAITING: usize = 64;

/// How many run at once, at most: each takes 19 MiB.
const CHECKS_RUNNING: usize = 8;
const CHANGES_RUNNING: usize = 4;

/// Hashes and verifies. Cloning it is cheap, and clones share the bounds on how many run at once.
#[derive(Clone)]
pub(crate) struct Passwords {
    hasher: Arc<Hasher>,
    checks_queue: Queue,
    changes_queue: Queue,
    /// What an unknown name's password is verified against, so that it costs what a known name's costs.
    nobody: Arc<str>,
    chance: Chance,
    realm: &'static str,
    /// How many passwords were hashed to be compared.
    checks: Arc<AtomicU64>,
}

#[derive(Clone)]
struct Queue {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Queue {
    fn new(running: usize, waiting: usize) -> Self {
        Queue { running: Arc::new(Semaphore::new(running)), waiting: Arc::new(Semaphore::new(waiting)) }
    }

    /// A place in the queue, or "busy" at once.
    fn place(&self) -> Result<Place, Failure> {
        let permit = self.waiting.clone().try_acquire_owned().map_err(|_| Failure::Busy)?;
        Ok(Place { _permit: Arc::new(permit), running: self.running.clone() })
    }
}

/// A password's hash, as it is stored: argon2id with a salt of its own.
#[derive(Clone)]
pub struct PasswordHash(String);

impl PasswordHash {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// A place in a queue, held until the last clone goes. Any number of passwords can be hashed in it, one after the other.
#[derive(Clone)]
pub(crate) struct Place {
    _permit: Arc<OwnedSemaphorePermit>,
    running: Arc<Semaphore>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("too many passwords are being checked")]
    Busy,
    #[error("hashing failed: {0}")]
    Broken(String),
}

impl Passwords {
    pub(crate) fn new(realm: &'static str, chance: Chance) -> Result<Self, Failure> {
        let hasher = Hasher::new()?;
        let nobody = hasher.hash(&chance.bytes::<32>(), &chance.bytes())?;
        let cores = available_parallelism().map_or(1, NonZero::get);
        Ok(Passwords {
            hasher: Arc::new(hasher),
            checks_queue: Queue::new(cores.min(CHECKS_RUNNING), CHECKS_WAITING),
            changes_queue: Queue::new((cores / 2).clamp(1, CHANGES_RUNNING), CHANGES_WAITING),
            nobody: nobody.into(),
            chance,
            realm,
            checks: Arc::default(),
        })
    }

    pub(crate) fn checks(&self) -> u64 {
        self.checks.load(Relaxed)
    }

    pub(crate) fn nobody(&self) -> &str {
        &self.nobody
    }

    /// A place in the queue of passwords to be checked, or "busy" at once.
    pub(crate) fn place_to_check(&self) -> Result<Place, Failure> {
        self.checks_queue.place()
    }

    /// A place in the queue of new passwords, or "busy" at once.
    pub(crate) fn place_to_set(&self) -> Result<Place, Failure> {
        self.changes_queue.place()
    }

    pub(crate) async fn hash(&self, place: &Place, password: SecretString) -> Result<PasswordHash, Failure> {
        let salt = self.chance.bytes();
        self.run(place, move |hasher| hasher.hash(password.expose_secret().as_bytes(), &salt))
            .await
            .map(PasswordHash)
    }

    pub(crate) async fn verify(
        &self,
        place: &Place,
        password: SecretString,
        stored: String,
    ) -> Result<bool, Failure> {
        let (realm, checks) = (self.realm, self.checks.clone());
        self.run(place, move |hasher| {
            let right = hasher.verify(password.expose_secret().as_bytes(), &stored)?;
            checks.fetch_add(1, Relaxed);
            metrics::counter!("triptych_password_checks_total", "realm" => realm).increment(1);
            Ok(right)
        })
        .await
    }

    async fn run<R: Send + 'static>(
        &self,
        place: &Place,
        work: impl FnOnce(&Hasher) -> Result<R, Failure> + Send + 'static,
    ) -> Result<R, Failure> {
        let turn = place.running.clone().acquire_owned().await.map_err(broken)?;
        let (hasher, place) = (self.hasher.clone(), place.clone());
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also when the caller has gone.
            let _held = (turn, place);
            work(&hasher)
        });
        done.await.map_err(broken)?
    }
}

#[cfg(test)]
impl Passwords {
    /// All turns to check a password: while they are held, none is checked.
    pub(crate) async fn all_checks(&self) -> OwnedSemaphorePermit {
        let cores = available_parallelism().map_or(1, NonZero::get);
        let turns = cores.min(CHECKS_RUNNING) as u32;
        let running = self.checks_queue.running.clone();
        running.acquire_many_owned(turns).await.unwrap_or_else(|_| unreachable!())
    }

    /// The same for setting passwords.
    pub(crate) async fn all_changes(&self) -> OwnedSemaphorePermit {
        let cores = available_parallelism().map_or(1, NonZero::get);
        let turns = (cores / 2).clamp(1, CHANGES_RUNNING) as u32;
        let running = self.changes_queue.running.clone();
        running.acquire_many_owned(turns).await.unwrap_or_else(|_| unreachable!())
    }

    /// All places in the queue of new passwords that are free.
    pub(crate) fn free_places_to_set(&self) -> Vec<Place> {
        std::iter::from_fn(|| self.place_to_set().ok()).collect()
    }

    /// Waits until a check has a place in the queue.
    pub(crate) async fn a_check_waits(&self) {
        while self.checks_queue.waiting.available_permits() == CHECKS_WAITING {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until a change has a place in the queue.
    pub(crate) async fn a_change_waits(&self) {
        while self.changes_queue.waiting.available_permits() == CHANGES_WAITING {
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn there_are_no_more_buffers_than_turns() {
        let passwords = Passwords::new("Test", Chance::system()).unwrap();
        let hash = |at: usize| {
            let place =
                if at.is_multiple_of(2) { passwords.place_to_check() } else { passwords.place_to_set() };
            let passwords = &passwords;
            async move { passwords.hash(&place?, "secret".into()).await }
        };
        for hash in join_all((0..24).map(hash)).await {
            hash.unwrap();
        }
        let cores = available_parallelism().map_or(1, NonZero::get);
        let turns = cores.min(CHECKS_RUNNING) + (cores / 2).clamp(1, CHANGES_RUNNING);
        assert!((1..=turns).contains(&passwords.hasher.buffers()), "{}", passwords.hasher.buffers());
    }
}
