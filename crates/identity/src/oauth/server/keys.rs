//! The RSA keys that sign access tokens. They are in the database, which all processes share.
//!
//! The first key is made when it is first needed: to make one takes longer than to open a service. A key signs for 30 days. The next
//! one is made a day before, so that every verifier knows it in time. An old one is published until the last token that it signed has
//! expired, and is then deleted: a later copy of the database cannot sign with it.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use aws_lc_rs::{
    encoding::AsDer,
    rand::SystemRandom,
    rsa::{KeyPair, KeySize},
    signature::{KeyPair as _, RSA_PKCS1_SHA256},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use db::{Db, Error, WriteTx};
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use web::{Clock, Controls};

use crate::oauth::resource::jwk::PublicKey;

const SIGNS_FOR: SignedDuration = SignedDuration::from_hours(24 * 30);
const PUBLISHED_BEFORE: SignedDuration = SignedDuration::from_hours(24);
/// More than the usual lifetime of the last token that a key signed.
const PUBLISHED_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// How often keys are read that another process may have made.
const REFRESH: SignedDuration = SignedDuration::from_mins(1);
/// The shortest time between two reads because of an unknown key id.
const REFRESH_UNKNOWN: SignedDuration = SignedDuration::from_secs(5);

/// How many keys are published. If keys are rotated more often than tokens expire, the oldest are deleted earlier.
const MOST: usize = 16;

/// What becomes of the keys before a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldKeys {
    /// They are published until the tokens that they signed have expired.
    Keep,
    /// They are deleted, and all tokens that they signed are rejected.
    Drop,
}

/// Why a signing key cannot be read, made or used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error(transparent)]
    Db(#[from] Error),
    #[error("cannot make a signing key: {0}")]
    Key(String),
}

/// The keys of a service. Cloning it is cheap.
#[derive(Clone)]
pub(crate) struct Keys {
    db: Db,
    clock: Clock,
    controls: Controls,
    held: Arc<RwLock<Held>>,
    /// Locked while a key is made, so that concurrent requests do not make one each.
    making: Arc<Mutex<()>>,
}

struct Held {
    keys: Vec<Arc<Key>>,
    /// By the service's clock, which decides when a key is made and deleted, and by the machine's, which cannot be frozen.
    read_at: [Timestamp; 2],
    /// The version of the controls when they were read.
    version: u64,
}

struct Key {
    number: i64,
    id: String,
    pair: KeyPair,
    signs_from: Timestamp,
    modulus: String,
    exponent: String,
    public: Arc<PublicKey>,
}

impl Keys {
    /// The keys in the database.
    pub(crate) async fn open(db: Db, clock: Clock, controls: Controls) -> Result<Self, KeyError> {
        let held = Held { keys: Vec::new(), read_at: [Timestamp::MIN; 2], version: 0 };
        let keys = Keys { db, clock, controls, held: Arc::new(RwLock::new(held)), making: Arc::default() };
        if keys.db.read(|tx| tx.row("SELECT 1 FROM signing_key LIMIT 1", &[], |_| Ok(()))).await?.is_some() {
            keys.refresh().await?;
        }
        Ok(keys)
    }

    /// Signs a token with the newest key that may sign already.
    pub(crate) async fn sign(&self, typ: &str, claims: &Value) -> Result<String, KeyError> {
        self.refresh_if_old().await?;
        let now = self.clock.now();
        let held = self.held().keys.clone();
        // A clock that was moved back can be before all of them.
        let key = held.iter().rev().find(|key| key.signs_from <= now).or(held.first());
        let key = key.ok_or_else(|| KeyError::Key("there is none".into()))?;
        let header = json!({"typ": typ, "alg": "RS256", "kid": key.id});
        let mut token = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(claims.to_string(), &mut token);
        let mut signature = vec![0; key.pair.public_modulus_len()];
        key.pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), token.as_bytes(), &mut signature)
            .map_err(|error| KeyError::Key(error.to_string()))?;
        token.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }

    /// The public key of this id. Another process may have made it, so an unknown id causes a read.
    pub(super) async fn public(&self, id: &str) -> Result<Option<Arc<PublicKey>>, KeyError> {
        if self.is_changed() {
            self.refresh().await?;
        }
        let find = || self.held().keys.iter().find(|key| key.id == id).map(|key| key.public.clone());
        if let Some(key) = find() {
            return Ok(Some(key));
        }
        if self.age() >= REFRESH_UNKNOWN {
            self.refresh().await?;
        }
        Ok(find())
    }

    /// The public keys as a JWK set.
    pub(crate) async fn jwks(&self) -> Result<Value, KeyError> {
        self.refresh_if_old().await?;
        let keys: Vec<_> = self
            .held()
            .keys
            .iter()
            .map(|key| {
                json!({
                    "kty": "RSA", "use": "sig", "alg": "RS256", "kid": key.id, "n": key.modulus, "e": key.exponent
                })
            })
            .collect();
        Ok(json!({ "keys": keys }))
    }

    async fn refresh_if_old(&self) -> Result<(), KeyError> {
        if self.age() >= REFRESH || self.is_changed() { self.refresh().await } else { Ok(()) }
    }

    /// Whether the controls changed since the keys were read: a process may have rotated them.
    fn is_changed(&self) -> bool {
        self.held().version != self.controls.version()
    }

    fn times(&self) -> [Timestamp; 2] {
        [self.clock.now(), self.clock.of_machine().now()]
    }

    /// How long ago the keys were read, by the clock that has moved more. One that was set back has moved as well.
    fn age(&self) -> SignedDuration {
        let (now, read_at) = (self.times(), self.held().read_at);
        let [service, machine] = [0, 1].map(|clock| now[clock].duration_since(read_at[clock]).abs());
        service.max(machine)
    }

    fn held(&self) -> std::sync::RwLockReadGuard<'_, Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the keys, and makes the next one if it is due.
    async fn refresh(&self) -> Result<(), KeyError> {
        let (read_at, version) = (self.times(), self.controls.version());
        let now = read_at[0];
        let mut keys = self.read().await?;
        if due(&keys, now).is_some() {
            let _making = self.making.lock().await;
            keys = self.read().await?;
            if let Some((number, signs_from)) = due(&keys, now) {
                self.make(number, signs_from).await?;
                keys = self.read().await?;
            }
        }
        let lifetime = self.controls.get().access_token_lifetime().unwrap_or(PUBLISHED_AFTER);
        let published_after = lifetime.max(PUBLISHED_AFTER);
        // A key expires when a later one has signed for that long. A clock can be moved, so the order is that of the numbers.
        let all = keys.len();
        let signed = |key: &Arc<Key>| now > key.signs_from + published_after;
        let oldest = keys.iter().rposition(signed).unwrap_or_default();
        let keys = keys.split_off(oldest);
        if let Some(oldest) = keys.first().filter(|_| keys.len() < all) {
            self.delete_before(oldest.number).await?;
        }
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Held { keys, read_at, version };
        Ok(())
    }

    /// Makes a new key that signs from now on, also after a published next key begins to.
    pub(crate) async fn rotate(&self, old: OldKeys) -> Result<(), KeyError> {
        let (id, der) = new_key().await?;
        let now = self.clock.now();
        self.db
            .write(move |tx| {
                let newest =
                    tx.row("SELECT max(number) FROM signing_key", &[], |row| row.get::<Option<i64>>(0))?;
                let number = newest.flatten().unwrap_or_default() + 1;
                match old {
                    OldKeys::Keep => tx.execute(
                        "DELETE FROM signing_key WHERE number <= $1",
                        &[(number - MOST as i64).into()],
                    )?,
                    OldKeys::Drop => tx.execute("DELETE FROM signing_key", &[])?,
                };
                insert(tx, number, &id, &der, now)
            })
            .await
            .map_err(|error: Error| KeyError::from(error))?;
        self.controls.touch();
        self.refresh().await
    }

    async fn make(&self, number: i64, signs_from: Timestamp) -> Result<(), KeyError> {
        let (id, der) = new_key().await?;
        self.db
            .write(move |tx| insert(tx, number, &id, &der, signs_from))
            .await
            .map_err(|error: Error| error.into())
    }

    async fn delete_before(&self, number: i64) -> Result<(), Error> {
        self.db
            .write(move |tx| {
                tx.execute("DELETE FROM signing_key WHERE number < $1", &[number.into()]).map(drop)
            })
            .await
    }

    async fn read(&self) -> Result<Vec<Arc<Key>>, KeyError> {
        let rows: Vec<(i64, String, Vec<u8>, Timestamp)> = self
            .db
            .read(|tx| {
                tx.rows(
                    "SELECT number, id, private_key, signs_from FROM signing_key ORDER BY number DESC LIMIT $1",
                    &[(MOST as i64).into()],
                    |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
                )
            })
            .await
            .map_err(|error: Error| KeyError::from(error))?;
        let known: HashMap<_, _> = self.held().keys.iter().map(|key| (key.id.clone(), key.clone())).collect();
        let keys = rows.into_iter().rev().map(|(number, id, der, signs_from)| match known.get(&id) {
            Some(key) => Ok(key.clone()),
            None => Key::new(number, id, &der, signs_from).map(Arc::new),
        });
        keys.collect()
    }
}

/// The number of the next key and the time from which it signs, if it must be made now.
fn due(keys: &[Arc<Key>], now: Timestamp) -> Option<(i64, Timestamp)> {
    match keys.last() {
        None => Some((1, now)),
        Some(newest) if now >= newest.signs_from + SIGNS_FOR - PUBLISHED_BEFORE => {
            Some((newest.number + 1, (newest.signs_from + SIGNS_FOR).max(now + PUBLISHED_BEFORE)))
        }
        Some(_) => None,
    }
}

/// Deletes all signing keys of a database that no instance has open: the next one makes a key of its own.
pub async fn delete_keys(db: &Db) -> Result<(), Error> {
    db.write(|tx| tx.execute("DELETE FROM signing_key", &[]).map(drop)).await
}

/// Makes a new signing key in a database at once. Instances with these controls use it from the next call on.
pub async fn rotate_keys(db: Db, clock: Clock, controls: Controls, old: OldKeys) -> Result<(), KeyError> {
    Keys::open(db, clock, controls).await?.rotate(old).await
}

/// A new key: its id, and its private part.
async fn new_key() -> Result<(String, Vec<u8>), KeyError> {
    let made = tokio::task::spawn_blocking(|| {
        let pair = KeyPair::generate(KeySize::Rsa2048)?;
        let der = pair.as_der()?.as_ref().to_vec();
        Ok::<_, aws_lc_rs::error::Unspecified>((key_id(&pair), der))
    });
    let made = made.await.map_err(|error| KeyError::Key(error.to_string()))?;
    made.map_err(|error| KeyError::Key(error.to_string()))
}

/// Adds a key, unless another process added one with this number.
fn insert(
    tx: &mut WriteTx<'_>,
    number: i64,
    id: &str,
    der: &[u8],
    signs_from: Timestamp,
) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO signing_key (number, id, private_key, signs_from) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
        &[number.into(), id.into(), der.into(), signs_from.into()],
    )
    .map(drop)
}

impl Key {
    fn new(number: i64, id: String, der: &[u8], signs_from: Timestamp) -> Result<Self, KeyError> {
        let broken =
            |error: String| KeyError::Key(format!("the one in the database cannot be used: {error}"));
        let pair = KeyPair::from_pkcs8(der).map_err(|error| broken(error.to_string()))?;
        let (modulus, exponent) = components(&pair);
        let public = DecodingKey::from_rsa_components(&modulus, &exponent)
            .map_err(|error| broken(error.to_string()))?;
        let public = Arc::new(PublicKey { key: public, algorithms: vec![Algorithm::RS256] });
        Ok(Key { number, id, pair, signs_from, modulus, exponent, public })
    }
}

fn components(pair: &KeyPair) -> (String, String) {
    let public = pair.public_key();
    let text = |number: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(number);
    (
        text(public.modulus().big_endian_without_leading_zero()),
        text(public.exponent().big_endian_without_leading_zero()),
    )
}

/// The thumbprint of a key (RFC 7638): processes derive the same id without agreeing on one.
fn key_id(pair: &KeyPair) -> String {
    let (modulus, exponent) = components(pair);
    let canonical = format!(r#"{{"e":"{exponent}","kty":"RSA","n":"{modulus}"}}"#);
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(canonical))
}
