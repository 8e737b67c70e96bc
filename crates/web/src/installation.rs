//! The installation secret: it keys stored hashes, so that a copy of the database alone does not reveal their input.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A secret that all processes on one database share, and that is kept apart from it.
#[derive(Clone)]
pub struct InstallationSecret(Vec<u8>);

impl InstallationSecret {
    /// From unpredictable bytes; 32 are enough.
    pub fn new(bytes: &[u8]) -> Self {
        InstallationSecret(bytes.to_vec())
    }

    /// The key for one purpose. It reveals neither the secret nor the key for another purpose.
    pub fn key_for(&self, purpose: &str) -> [u8; 32] {
        keyed(&self.0, purpose.as_bytes())
    }
}

impl fmt::Debug for InstallationSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InstallationSecret(hidden)")
    }
}

fn keyed(key: &[u8], text: &[u8]) -> [u8; 32] {
    // Any length of key will do for an HMAC.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| unreachable!());
    mac.update(text);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_secret_and_purpose() {
        let (one, other) = (InstallationSecret::new(&[1; 32]), InstallationSecret::new(&[2; 32]));
        assert_eq!(one.key_for("a"), one.clone().key_for("a"));
        assert_ne!(one.key_for("a"), one.key_for("b"));
        assert_ne!(one.key_for("a"), other.key_for("a"));
        assert_eq!(format!("{one:?}"), "InstallationSecret(hidden)");
    }
}
