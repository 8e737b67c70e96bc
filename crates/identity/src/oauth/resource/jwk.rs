//! Public keys in a JWK set (RFC 7517), and the algorithms of each.
//!
//! The key determines the algorithms, not the token: a token that names HMAC, or an algorithm of another family than its key,
//! is rejected (RFC 8725, 3.1).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// The algorithms that an external issuer may sign with.
pub(super) const ALGORITHMS: &[Algorithm] =
    &[Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA];

/// A key, and the algorithms it is for.
pub(crate) struct PublicKey {
    pub(crate) key: DecodingKey,
    pub(crate) algorithms: Vec<Algorithm>,
}

/// Keys by their ids.
pub(super) type KeySet = HashMap<String, Arc<PublicKey>>;

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: String,
    #[serde(rename = "use")]
    used_for: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The keys of a set that can check signatures. Other keys are ignored: a set may hold keys for other uses. If two keys have
/// the same id, neither is used.
pub(super) fn read(set: &[u8]) -> Result<KeySet, serde_json::Error> {
    let Jwks { keys } = serde_json::from_slice(set)?;
    let mut found = KeySet::new();
    let mut twice = HashSet::new();
    for jwk in keys {
        let Some((id, key)) = serde_json::from_value(jwk).ok().and_then(usable) else { continue };
        if found.insert(id.clone(), Arc::new(key)).is_some() {
            twice.insert(id);
        }
    }
    found.retain(|id, _| !twice.contains(id));
    Ok(found)
}

fn usable(jwk: Jwk) -> Option<(String, PublicKey)> {
    let signs = jwk.used_for.is_none_or(|used_for| used_for == "sig")
        && jwk.key_ops.is_none_or(|operations| operations.iter().any(|operation| operation == "verify"));
    if !signs {
        return None;
    }
    let bytes = |text: Option<String>| BASE64_URL_SAFE_NO_PAD.decode(text?).ok();
    let (key, mut algorithms) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => {
            let (modulus, exponent) = (bytes(jwk.n)?, bytes(jwk.e)?);
            let bits = modulus.iter().skip_while(|&&byte| byte == 0).count() * 8;
            if !(2048..=8192).contains(&bits) {
                return None;
            }
            let key = DecodingKey::from_rsa_raw_components(&modulus, &exponent);
            (key, vec![Algorithm::RS256, Algorithm::PS256])
        }
        ("EC", Some("P-256")) => {
            let (x, y) = (jwk.x?, jwk.y?);
            let whole = |text: &String| bytes(Some(text.clone())).is_some_and(|bytes| bytes.len() == 32);
            if !whole(&x) || !whole(&y) {
                return None;
            }
            (DecodingKey::from_ec_components(&x, &y).ok()?, vec![Algorithm::ES256])
        }
        ("OKP", Some("Ed25519")) => (DecodingKey::from_ed_components(&jwk.x?).ok()?, vec![Algorithm::EdDSA]),
        _ => return None,
    };
    if let Some(only) = jwk.alg {
        algorithms.retain(|algorithm| format!("{algorithm:?}") == only);
    }
    (!algorithms.is_empty()).then_some((jwk.kid, PublicKey { key, algorithms }))
}
