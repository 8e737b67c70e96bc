//! Hashing passwords: argon2id, off the threads that serve, a few at a time.

use std::{
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread::available_parallelism,
};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{Error, PasswordHasher, PasswordVerifier},
};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use web::Chance;

/// How many may wait for a turn. Each turn takes some 20 ms and 19 MiB, so a longer queue would only be a longer
/// wait for a "busy".
const MOST_WAITING: usize = 256;

/// Hashes and verifies. Cloning it is cheap, and clones share the bound on how many run at once.
#[derive(Clone)]
pub(crate) struct Passwords {
    argon2: Argon2<'static>,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// What an unknown name's password is verified against, so that it costs what a known name's costs.
    nobody: Arc<str>,
    chance: Chance,
    realm: &'static str,
    /// How many passwords were hashed to be compared.
    checks: Arc<AtomicU64>,
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

/// A place in the queue of passwords to be hashed, held until the last clone goes.
#[derive(Clone)]
pub(crate) struct Place(#[expect(dead_code, reason = "holding it is its use")] Arc<OwnedSemaphorePermit>);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("too many passwords are being checked")]
    Busy,
    #[error("hashing failed: {0}")]
    Broken(String),
}

impl Passwords {
    pub(crate) fn new(realm: &'static str, chance: Chance) -> Result<Self, Failure> {
        // OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
        let params = Params::new(19 * 1024, 2, 1, None).map_err(broken)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let nobody = hash(&argon2, &chance.bytes::<32>(), &chance.bytes())?;
        let cores = available_parallelism().map_or(1, NonZero::get);
        Ok(Passwords {
            argon2,
            running: Arc::new(Semaphore::new(cores)),
            waiting: Arc::new(Semaphore::new(MOST_WAITING)),
            nobody: nobody.into(),
            chance,
            realm,
            checks: Arc::default(),
        })
    }

    pub(crate) fn checks(&self) -> u64 {
        self.checks.load(Relaxed)
    }

    /// All turns there are: while somebody holds them, nothing is hashed.
    #[cfg(test)]
    pub(crate) async fn all_turns(&self) -> OwnedSemaphorePermit {
        let turns = available_parallelism().map_or(1, NonZero::get);
        self.running.clone().acquire_many_owned(turns as u32).await.unwrap_or_else(|_| unreachable!())
    }

    /// Waits until somebody has a place in the queue.
    #[cfg(test)]
    pub(crate) async fn somebody_waits(&self) {
        while self.waiting.available_permits() == MOST_WAITING {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn nobody(&self) -> &str {
        &self.nobody
    }

    /// A place in the queue, or "busy" at once.
    pub(crate) fn place(&self) -> Result<Place, Failure> {
        self.waiting
            .clone()
            .try_acquire_owned()
            .map(|permit| Place(Arc::new(permit)))
            .map_err(|_| Failure::Busy)
    }

    pub(crate) async fn hash(&self, place: &Place, password: SecretString) -> Result<PasswordHash, Failure> {
        let salt = self.chance.bytes();
        self.run(place, move |argon2| hash(argon2, password.expose_secret().as_bytes(), &salt))
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
        self.run(place, move |argon2| {
            let password = password.expose_secret().as_bytes();
            let right = match argon2.verify_password(password, stored.as_str()) {
                Ok(()) => true,
                Err(Error::PasswordInvalid) => false,
                // Nothing was hashed.
                Err(error) => return Err(Failure::Broken(format!("a stored hash cannot be used: {error}"))),
            };
            checks.fetch_add(1, Relaxed);
            metrics::counter!("triptych_password_checks_total", "realm" => realm).increment(1);
            Ok(right)
        })
        .await
    }

    async fn run<R: Send + 'static>(
        &self,
        place: &Place,
        work: impl FnOnce(&Argon2<'static>) -> Result<R, Failure> + Send + 'static,
    ) -> Result<R, Failure> {
        let turn = self.running.clone().acquire_owned().await.map_err(broken)?;
        let (argon2, place) = (self.argon2.clone(), place.clone());
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also when whoever asked has gone.
            let _held = (turn, place);
            work(&argon2)
        });
        done.await.map_err(broken)?
    }
}

fn hash(argon2: &Argon2<'_>, password: &[u8], salt: &[u8; 16]) -> Result<String, Failure> {
    argon2.hash_password_with_salt(password, salt).map(|hash| hash.to_string()).map_err(broken)
}

fn broken(error: impl std::fmt::Display) -> Failure {
    Failure::Broken(error.to_string())
}
