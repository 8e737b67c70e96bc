//! Hashes passwords by argon2id, a few at a time, on threads that serve no requests.
//!
//! Checks and changes have separate queues: however many users are added, sign-in continues.

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
use web::Random;

use crate::hasher::{HashError, Hasher, Hashing, broken};

/// The largest number of new passwords in their queue. A list of passwords takes a permit for each.
const CHANGES_WAITING: usize = 128;

/// The largest number of passwords that are hashed at once: each takes 19 MiB.
const CHECKS_RUNNING: usize = 8;
const CHANGES_RUNNING: usize = 4;

/// Hashes and verifies passwords. Cloning it is cheap, and clones share the limits.
#[derive(Clone)]
pub(crate) struct Passwords {
    hasher: Arc<Hasher>,
    hashing: Hashing,
    checks_queue: Queue,
    changes_queue: Queue,
    /// The hash for unknown names, so that these take as long as known ones.
    decoy: Arc<str>,
    random: Random,
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

    /// A permit for this number of passwords; `Busy` if the queue is full.
    fn permit(&self, passwords: usize) -> Result<Permit, HashError> {
        let passwords = u32::try_from(passwords).map_err(|_| HashError::Busy)?;
        let permits = self.waiting.clone().try_acquire_many_owned(passwords).map_err(|_| HashError::Busy)?;
        Ok(Permit { _permits: Arc::new(permits), running: self.running.clone() })
    }
}

/// The stored hash of a password: argon2id with its salt.
#[derive(Clone)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// A hash that was computed before.
    pub(crate) fn stored(hash: &str) -> Self {
        PasswordHash(hash.to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// A permit to hash some passwords, one after the other. It is held until the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Permit {
    _permits: Arc<OwnedSemaphorePermit>,
    running: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new(realm: &'static str, random: Random, hashing: Hashing) -> Result<Self, HashError> {
        let (checks, changes) = running();
        let hasher = Hasher::new(hashing, checks + changes)?;
        let decoy = hasher.decoy(&random)?;
        Ok(Passwords {
            hasher: Arc::new(hasher),
            hashing,
            checks_queue: Queue::new(checks, hashing.checks_waiting),
            changes_queue: Queue::new(changes, CHANGES_WAITING),
            decoy: decoy.into(),
            random,
            realm,
            checks: Arc::default(),
        })
    }

    /// How new passwords are hashed.
    pub(crate) fn hashing(&self) -> Hashing {
        self.hashing
    }

    pub(crate) fn checks(&self) -> u64 {
        self.checks.load(Relaxed)
    }

    pub(crate) fn decoy(&self) -> &str {
        &self.decoy
    }

    /// A permit to check a password; `Busy` if the queue is full.
    pub(crate) fn permit_to_check(&self) -> Result<Permit, HashError> {
        self.checks_queue.permit(1)
    }

    /// A permit to hash this number of new passwords; `Busy` if the queue is full.
    pub(crate) fn permit_to_set(&self, passwords: usize) -> Result<Permit, HashError> {
        self.changes_queue.permit(passwords)
    }

    pub(crate) async fn hash(
        &self,
        permit: &Permit,
        password: SecretString,
    ) -> Result<PasswordHash, HashError> {
        let salt = self.random.bytes();
        self.run(permit, move |hasher| hasher.hash(password.expose_secret().as_bytes(), &salt))
            .await
            .map(PasswordHash)
    }

    pub(crate) async fn verify(
        &self,
        permit: &Permit,
        password: SecretString,
        stored: String,
    ) -> Result<bool, HashError> {
        let (realm, checks) = (self.realm, self.checks.clone());
        self.run(permit, move |hasher| {
            let right = hasher.verify(password.expose_secret().as_bytes(), &stored)?;
            checks.fetch_add(1, Relaxed);
            metrics::counter!("triptych_password_checks_total", "realm" => realm).increment(1);
            Ok(right)
        })
        .await
    }

    async fn run<R: Send + 'static>(
        &self,
        permit: &Permit,
        work: impl FnOnce(&Hasher) -> Result<R, HashError> + Send + 'static,
    ) -> Result<R, HashError> {
        web::release_admission();
        let turn = permit.running.clone().acquire_owned().await.map_err(broken)?;
        let (hasher, permit) = (self.hasher.clone(), permit.clone());
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also if the request is cancelled.
            let _held = (turn, permit);
            work(&hasher)
        });
        done.await.map_err(broken)?
    }
}

/// How many checks and how many changes of a service may run at once.
fn running() -> (usize, usize) {
    let cores = available_parallelism().map_or(1, NonZero::get);
    (cores.min(CHECKS_RUNNING), (cores / 2).clamp(1, CHANGES_RUNNING))
}

#[cfg(test)]
impl Passwords {
    /// All turns to check a password: while they are held, none is checked.
    pub(crate) async fn all_checks(&self) -> OwnedSemaphorePermit {
        let turns = running().0 as u32;
        let running = self.checks_queue.running.clone();
        running.acquire_many_owned(turns).await.unwrap_or_else(|_| unreachable!())
    }

    /// The same for setting passwords.
    pub(crate) async fn all_changes(&self) -> OwnedSemaphorePermit {
        let turns = running().1 as u32;
        let running = self.changes_queue.running.clone();
        running.acquire_many_owned(turns).await.unwrap_or_else(|_| unreachable!())
    }

    /// All permits for new passwords that are free, one each.
    pub(crate) fn free_permits_to_set(&self) -> Vec<Permit> {
        std::iter::from_fn(|| self.permit_to_set(1).ok()).collect()
    }

    /// Waits until a check has a permit.
    pub(crate) async fn wait_for_queued_check(&self) {
        while self.checks_queue.waiting.available_permits() == Hashing::default().checks_waiting {
            tokio::task::yield_now().await;
        }
    }

    /// Waits until a change has a permit.
    pub(crate) async fn wait_for_queued_change(&self) {
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
    async fn services_of_a_process_share_their_buffers() {
        let services =
            [(); 3].map(|()| Passwords::new("Test", Random::system(), Hashing::default()).unwrap());
        let hash = |at: usize| {
            let passwords = &services[at % 3];
            let permit =
                if at.is_multiple_of(2) { passwords.permit_to_check() } else { passwords.permit_to_set(1) };
            async move { passwords.hash(&permit?, "secret".into()).await }
        };
        for hash in join_all((0..24).map(hash)).await {
            hash.unwrap();
        }
        let (checks, changes) = running();
        for Passwords { hasher, .. } in &services {
            assert!((1..=checks + changes).contains(&hasher.buffers()), "{}", hasher.buffers());
        }
    }
}
