//! Control tokens: secrets of 256 bits, of which the registry has the hash.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use web::{InstallationSecret, Random};

/// A new control token.
pub(crate) fn new(random: &Random) -> String {
    format!("sandbox_{}", BASE64_URL_SAFE_NO_PAD.encode(random.bytes::<32>()))
}

/// The stored hash. A token has too many bits to be guessed, so that a plain hash is enough.
pub(crate) fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

/// The operator's token: every process with the secret of the installation knows it.
pub fn operator_token(secret: &InstallationSecret) -> String {
    format!("operator_{}", BASE64_URL_SAFE_NO_PAD.encode(secret.key_for("sandbox operator")))
}

/// The hash of the bearer token of a request.
pub(crate) fn sent(headers: &HeaderMap) -> Option<Vec<u8>> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?.to_str().ok()?, values.next()) else { return None };
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| hash(token.trim()))
}
