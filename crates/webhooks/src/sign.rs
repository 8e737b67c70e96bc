//! Signatures of Standard Webhooks: an HMAC over id, time and body.

use base64::{Engine, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

const PREFIX: &str = "whsec_";

/// How much the time of a signature may differ from the time of the receiver, in seconds.
const TOLERANCE: u64 = 300;

/// The secret that the subscriber and the sender share.
#[derive(Clone)]
pub struct Secret(pub(crate) Vec<u8>);

/// The text is not a secret.
#[derive(Debug, thiserror::Error)]
#[error("a secret is whsec_ and then base64")]
pub struct NotASecret;

impl Secret {
    /// The text for the subscriber: `whsec_…`.
    pub fn shown(&self) -> String {
        format!("{PREFIX}{}", BASE64_STANDARD.encode(&self.0))
    }

    pub fn parse(text: &str) -> Result<Self, NotASecret> {
        let encoded = text.trim().strip_prefix(PREFIX).ok_or(NotASecret)?;
        let bytes = BASE64_STANDARD.decode(encoded).map_err(|_| NotASecret)?;
        if bytes.is_empty() { Err(NotASecret) } else { Ok(Secret(bytes)) }
    }

    /// One signature, `v1,…`.
    pub(crate) fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        // An HMAC accepts keys of any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!());
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }

    /// Checks that a message was signed with this secret in the last five minutes. The error is a text for people.
    pub fn verify(
        &self,
        id: &str,
        timestamp: &str,
        signatures: &str,
        body: &[u8],
        now: jiff::Timestamp,
    ) -> Result<(), &'static str> {
        let seconds: i64 = timestamp.parse().map_err(|_| "the timestamp is no number")?;
        if now.as_second().abs_diff(seconds) > TOLERANCE {
            return Err("the timestamp is more than five minutes off");
        }
        let expected = self.sign(id, seconds, body);
        let matches = |given: &str| bool::from(given.as_bytes().ct_eq(expected.as_bytes()));
        if signatures.split(' ').any(matches) { Ok(()) } else { Err("no signature fits the secret") }
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}
