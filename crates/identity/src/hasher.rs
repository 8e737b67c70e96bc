//! Argon2id with reused memory.
//!
//! A hash needs 19 MiB. If each allocated its own, the allocator would keep one buffer per thread. So buffers are reused. All
//! services of a process share them: as many are kept as one service uses at once, which `password.rs` limits; others are
//! freed after use. A server with little to check should be small, so kept buffers are freed when they are not used for a while.

use std::sync::{Mutex, PoisonError};

use argon2::{
    Algorithm, Argon2, Block, Params, Version,
    password_hash::phc::{Output, ParamsString, PasswordHash, Salt},
};
use web::Random;

/// Why a password could not be hashed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HashError {
    #[error("too many passwords are being checked")]
    Busy,
    #[error("hashing failed: {0}")]
    Broken(String),
}

/// Buffers that are not in use.
type Buffers = Mutex<Vec<Kept>>;

struct Kept {
    memory: Vec<Block>,
    /// Whether it was used since [`free_unused_buffers`] was last called.
    used: bool,
}

/// The buffers of the process.
static BUFFERS: Buffers = Mutex::new(Vec::new());

/// Frees the buffers of the process that were not used since the last call.
pub fn free_unused_buffers() {
    free_unused(&BUFFERS);
}

fn free_unused(buffers: &Buffers) {
    let mut kept = buffers.lock().unwrap_or_else(PoisonError::into_inner);
    kept.retain_mut(|buffer| std::mem::take(&mut buffer.used));
}

/// How the passwords of a service are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashing {
    /// The cost of a new hash. A stored hash is verified at its own cost.
    pub memory_kib: u32,
    pub passes: u32,
    /// The largest number of passwords that wait to be checked. A request for more gets 503 at once instead of a timeout.
    pub checks_waiting: usize,
}

impl Hashing {
    /// The least work that argon2id allows. It does not protect passwords: for tests only.
    pub const LEAST_WORK: Hashing =
        Hashing { memory_kib: Params::MIN_M_COST, passes: Params::MIN_T_COST, checks_waiting: 256 };
}

impl Default for Hashing {
    /// OWASP's first choice for argon2id: 19 MiB, two passes, one lane. A check takes some 20 ms, so a full queue is a few
    /// seconds of work.
    fn default() -> Self {
        Hashing { memory_kib: 19 * 1024, passes: 2, checks_waiting: 256 }
    }
}

pub(crate) struct Hasher {
    argon2: Argon2<'static>,
    buffers: &'static Buffers,
    /// How many buffers are kept.
    most: usize,
}

impl Hasher {
    /// A hasher that keeps this many buffers after use.
    pub(crate) fn new(hashing: Hashing, most: usize) -> Result<Self, HashError> {
        let Hashing { memory_kib, passes, .. } = hashing;
        let params = Params::new(memory_kib, passes, 1, Some(Params::DEFAULT_OUTPUT_LEN)).map_err(broken)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        Ok(Hasher { argon2, buffers: &BUFFERS, most })
    }

    /// The hash of a password with this salt, as it is stored.
    pub(crate) fn hash(&self, password: &[u8], salt: &[u8; 16]) -> Result<String, HashError> {
        let output = self.output(&self.argon2, password, salt, Params::DEFAULT_OUTPUT_LEN)?;
        self.text(salt, output)
    }

    /// A random text in the form of a hash. To verify a password against it takes as long as against any other, and fails.
    pub(crate) fn decoy(&self, random: &Random) -> Result<String, HashError> {
        let output = Output::new(&random.bytes::<{ Params::DEFAULT_OUTPUT_LEN }>()).map_err(broken)?;
        self.text(&random.bytes(), output)
    }

    fn text(&self, salt: &[u8; 16], output: Output) -> Result<String, HashError> {
        let hash = PasswordHash {
            algorithm: Algorithm::Argon2id.ident(),
            version: Some(Version::V0x13.into()),
            params: ParamsString::try_from(self.argon2.params()).map_err(broken)?,
            salt: Some(Salt::new(salt).map_err(broken)?),
            hash: Some(output),
        };
        Ok(hash.to_string())
    }

    /// Whether a stored hash is this password's.
    pub(crate) fn verify(&self, password: &[u8], stored: &str) -> Result<bool, HashError> {
        let unusable = |error: &dyn std::fmt::Display| {
            HashError::Broken(format!("a stored hash cannot be used: {error}"))
        };
        let stored = PasswordHash::new(stored).map_err(|error| unusable(&error))?;
        let (Some(salt), Some(expected)) = (&stored.salt, &stored.hash) else {
            return Err(unusable(&"it has no salt or no hash"));
        };
        // With the parameters in the hash: an older hash may have others.
        let algorithm = Algorithm::try_from(stored.algorithm.as_str()).map_err(|error| unusable(&error))?;
        let version = stored.version.map_or(Ok(Version::default()), Version::try_from);
        let params = Params::try_from(&stored).map_err(|error| unusable(&error))?;
        let argon2 = Argon2::new(algorithm, version.map_err(|error| unusable(&error))?, params);
        let found = self.output(&argon2, password, salt, expected.len())?;
        // Compared in constant time.
        Ok(found == *expected)
    }

    fn output(
        &self,
        argon2: &Argon2<'_>,
        password: &[u8],
        salt: &[u8],
        length: usize,
    ) -> Result<Output, HashError> {
        let mut memory = self.lock().pop().map_or_else(Vec::new, |kept| kept.memory);
        let (needed, usual) = (argon2.params().block_count(), self.argon2.params().block_count());
        if memory.len() < needed {
            // Exact: a buffer that grows by doubling would be nearly twice as large as needed.
            memory.reserve_exact(needed - memory.len());
            memory.resize(needed, Block::new());
        }
        let mut buffer = [0; Output::MAX_LENGTH];
        let out = buffer.get_mut(..length).ok_or_else(|| broken("the hash is too long"))?;
        let done = argon2.hash_password_into_with_memory(password, salt, out, &mut memory[..]);
        let mut kept = self.lock();
        // A larger buffer than usual is not kept.
        if memory.len() <= usual && kept.len() < self.most {
            kept.push(Kept { memory, used: true });
        }
        drop(kept);
        done.map_err(broken)?;
        Output::new(out).map_err(broken)
    }

    /// How many buffers are kept.
    #[cfg(test)]
    pub(crate) fn buffers(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn broken(error: impl std::fmt::Display) -> HashError {
    HashError::Broken(error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use argon2::password_hash::{PasswordHasher, PasswordVerifier};

    use super::*;

    const SALT: &[u8; 16] = b"sixteen bytes ok";

    /// A hasher with buffers of its own, which other tests do not use.
    fn hasher(most: usize) -> Hasher {
        Hasher { buffers: Box::leak(Box::default()), ..Hasher::new(Hashing::default(), most).unwrap() }
    }

    #[test]
    fn decoy_costs_as_much_as_a_hash_and_is_of_no_password() {
        let (hasher, random) = (hasher(1), Random::system());
        let (decoy, other) = (hasher.decoy(&random).unwrap(), hasher.decoy(&random).unwrap());
        let hash = hasher.hash(b"correct horse", SALT).unwrap();
        let cost = |hash: &str| {
            let hash = PasswordHash::new(hash).unwrap();
            (
                hash.algorithm,
                hash.version,
                hash.params.to_string(),
                hash.salt.unwrap().len(),
                hash.hash.unwrap().len(),
            )
        };
        assert_eq!(cost(&decoy), cost(&hash));
        assert!(decoy.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{decoy}");
        assert_ne!(decoy, other);
        assert!(!hasher.verify(b"", &decoy).unwrap());
        assert!(!hasher.verify(b"correct horse", &decoy).unwrap());
    }

    #[test]
    fn hashes_equal_those_of_the_library() {
        let hasher = hasher(1);
        for password in ["correct horse", "", "pass wörd"] {
            let hash = hasher.hash(password.as_bytes(), SALT).unwrap();
            let theirs = hasher.argon2.hash_password_with_salt(password.as_bytes(), SALT).unwrap();
            assert_eq!(hash, theirs.to_string());
            assert!(hasher.argon2.verify_password(password.as_bytes(), hash.as_str()).is_ok());
            assert!(hasher.verify(password.as_bytes(), &hash).unwrap());
            assert!(!hasher.verify(b"another", &hash).unwrap());
        }
    }

    #[test]
    fn hashes_with_other_parameters_are_verified_with_them() {
        let hasher = hasher(1);
        for (memory, passes, lanes) in [(8, 1, 1), (64, 3, 2), (20 * 1024, 1, 1)] {
            let params = Params::new(memory, passes, lanes, None).unwrap();
            let other = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
            let hash = other.hash_password_with_salt(b"old", SALT).unwrap().to_string();
            assert!(hasher.verify(b"old", &hash).unwrap(), "{hash}");
            assert!(!hasher.verify(b"new", &hash).unwrap(), "{hash}");
        }
        for unusable in ["", "plain", "$argon2id$v=19$m=8,t=1,p=1$c2l4dGVlbg", "$scrypt$ln=1$c2l4dGVlbg$c2l4"]
        {
            assert!(hasher.verify(b"old", unusable).is_err(), "{unusable}");
        }
    }

    #[test]
    fn buffer_is_reused_by_the_next_hash() {
        let hasher = hasher(1);
        let hash = hasher.hash(b"one", SALT).unwrap();
        let buffer = hasher.lock()[0].memory.as_ptr();
        for _ in 0..3 {
            assert!(hasher.verify(b"one", &hash).unwrap());
            hasher.hash(b"two", SALT).unwrap();
        }
        let kept = hasher.lock();
        let memory = &kept[0].memory;
        assert_eq!((kept.len(), memory.len(), memory.capacity()), (1, 19 * 1024, 19 * 1024));
        assert_eq!(memory.as_ptr(), buffer);
    }

    #[test]
    fn buffer_that_is_not_used_for_a_while_is_freed() {
        let hasher = hasher(2);
        hasher.hash(b"one", SALT).unwrap();
        free_unused(hasher.buffers);
        assert_eq!(hasher.buffers(), 1);
        hasher.hash(b"one", SALT).unwrap();
        free_unused(hasher.buffers);
        assert_eq!(hasher.buffers(), 1);
        free_unused(hasher.buffers);
        assert_eq!(hasher.buffers(), 0);
    }

    #[test]
    fn buffers_past_the_limit_are_freed() {
        let none = hasher(0);
        none.hash(b"one", SALT).unwrap();
        assert_eq!(none.buffers(), 0);
        let one = Hasher { buffers: none.buffers, ..Hasher::new(Hashing::default(), 1).unwrap() };
        for _ in 0..2 {
            one.hash(b"one", SALT).unwrap();
            // Shared by both, and taken by the one that does not keep any.
            assert_eq!((one.buffers(), none.buffers()), (1, 1));
        }
        none.hash(b"one", SALT).unwrap();
        assert_eq!((one.buffers(), none.buffers()), (0, 0));
    }
}
