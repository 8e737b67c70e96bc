//! Signing keys of an issuer, and tokens made by hand, valid and invalid.

use std::sync::LazyLock;

use aws_lc_rs::{
    rand::SystemRandom,
    rsa::{KeyPair as RsaKeyPair, KeySize},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
        KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding,
    },
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

pub(crate) enum Pair {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

/// A key and its id.
pub(crate) struct Signer {
    pub(crate) id: &'static str,
    pub(crate) pair: Pair,
}

fn rsa(id: &'static str) -> Signer {
    Signer { id, pair: Pair::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()) }
}

pub(crate) static FIRST: LazyLock<Signer> = LazyLock::new(|| rsa("first"));
pub(crate) static SECOND: LazyLock<Signer> = LazyLock::new(|| rsa("second"));
pub(crate) static CURVE: LazyLock<Signer> = LazyLock::new(|| Signer {
    id: "curve",
    pair: Pair::Ec(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap()),
});
pub(crate) static OTHER_CURVE: LazyLock<Signer> = LazyLock::new(|| Signer {
    id: "other-curve",
    pair: Pair::Ec(EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap()),
});
pub(crate) static EDWARDS: LazyLock<Signer> =
    LazyLock::new(|| Signer { id: "edwards", pair: Pair::Ed(Ed25519KeyPair::generate().unwrap()) });

impl Signer {
    /// The public key, with these members replaced.
    pub(crate) fn jwk_with(&self, changes: &Value) -> Value {
        let mut jwk = match &self.pair {
            Pair::Rsa(pair) => {
                let public = pair.public_key();
                json!({
                    "kty": "RSA",
                    "n": encode(public.modulus().big_endian_without_leading_zero()),
                    "e": encode(public.exponent().big_endian_without_leading_zero()),
                })
            }
            Pair::Ec(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": curve, "x": encode(x), "y": encode(y)})
            }
            Pair::Ed(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref())})
            }
        };
        jwk["kid"] = self.id.into();
        merge(&mut jwk, changes);
        jwk
    }

    pub(crate) fn jwk(&self) -> Value {
        self.jwk_with(&json!({}))
    }

    fn signature(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let encoding: &dyn RsaEncoding =
                    if algorithm == "PS256" { &RSA_PSS_SHA256 } else { &RSA_PKCS1_SHA256 };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(encoding, &random, message, &mut signature).unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// A token with this header and these claims, valid or not.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signature = self.signature(header["alg"].as_str().unwrap(), message.as_bytes());
        format!("{message}.{}", encode(&signature))
    }
}

/// A token with a keyed hash in place of a signature.
pub(crate) fn hashed(key: &[u8], header: &Value, claims: &Value) -> String {
    let message = message(header, claims);
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message.as_bytes());
    format!("{message}.{}", encode(&mac.finalize().into_bytes()))
}

pub(crate) fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.", message(header, claims))
}

fn message(header: &Value, claims: &Value) -> String {
    format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()))
}

/// Puts the members of `changes` in; a null takes one out.
pub(crate) fn merge(value: &mut Value, changes: &Value) {
    let members = value.as_object_mut().unwrap();
    for (name, change) in changes.as_object().unwrap() {
        if change.is_null() {
            members.remove(name);
        } else {
            members.insert(name.clone(), change.clone());
        }
    }
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
