//! Signs access tokens as a service does: without its key no token would get past the check of the signature.

use aws_lc_rs::{rand::SystemRandom, rsa::KeyPair, signature::RSA_PKCS1_SHA256};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use db::{Db, Error};
use serde_json::Value;

pub(crate) struct Signer {
    key: KeyPair,
    key_id: String,
    /// The id of a grant, with which the id of a token begins.
    grant: String,
}

impl Signer {
    /// The signer of a service with this database, after it has issued a token: this is the answer.
    pub(crate) async fn new(db: &Db, answer: &[u8]) -> Self {
        let keys = "SELECT id, private_key FROM signing_key";
        let read =
            db.read(move |tx| tx.row(keys, &[], |row| Ok((row.get::<String>(0)?, row.get::<Vec<u8>>(1)?))));
        let found: Result<_, Error> = read.await;
        let (key_id, key) = found.unwrap().unwrap();
        let answer: Value = serde_json::from_slice(answer).unwrap();
        let token = answer["access_token"].as_str().unwrap_or_else(|| panic!("no token: {answer}"));
        let claims = BASE64.decode(token.split('.').nth(1).unwrap()).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        let (grant, _) = claims["jti"].as_str().unwrap().split_once('.').unwrap();
        Signer { key: KeyPair::from_pkcs8(&key).unwrap(), key_id, grant: grant.to_owned() }
    }

    /// A token with this header, in which `KEY` is the id of the key, and these claims, in which `GRANT` is that of the grant.
    pub(crate) fn token(&self, header: &[u8], claims: &[u8]) -> String {
        let mut token = BASE64.encode(replaced(header, b"KEY", self.key_id.as_bytes()));
        token.push('.');
        BASE64.encode_string(replaced(claims, b"GRANT", self.grant.as_bytes()), &mut token);
        let mut signature = vec![0; self.key.public_modulus_len()];
        let random = SystemRandom::new();
        self.key.sign(&RSA_PKCS1_SHA256, &random, token.as_bytes(), &mut signature).unwrap();
        token.push('.');
        BASE64.encode_string(signature, &mut token);
        token
    }
}

/// The bytes, with one word in place of another where that is first.
fn replaced(bytes: &[u8], word: &[u8], by: &[u8]) -> Vec<u8> {
    match bytes.windows(word.len()).position(|window| window == word) {
        Some(at) => [&bytes[..at], by, &bytes[at + word.len()..]].concat(),
        None => bytes.to_owned(),
    }
}
