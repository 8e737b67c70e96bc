//! Secrets that the server issues: 256 random bits as text, of which only the hash is stored.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use web::Random;

/// The number of characters of a secret.
pub(crate) const LENGTH: usize = 43;

/// A new secret.
pub(crate) fn new(random: &Random) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(random.bytes::<32>())
}

/// The stored hash of a secret. A secret has too many bits to be guessed, so a plain hash is enough, and the time of a lookup
/// by hash reveals nothing about the secret.
pub(crate) fn hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}
