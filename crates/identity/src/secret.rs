//! Secrets that we hand out: 256 random bits as text, of which only the hash is kept.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use web::Chance;

/// How many characters a secret has.
pub(crate) const LENGTH: usize = 43;

/// A new secret, to be told once.
pub(crate) fn new(chance: &Chance) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(chance.bytes::<32>())
}

/// What is kept of a secret. It has too many bits to be guessed, so a plain hash will do, and looking a hash up tells
/// nothing about others that are close to it.
pub(crate) fn hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}
