//! `Idempotency-Key`: a repeated request has one effect.
//!
//! The row of a key is committed in the transaction of the work. It is found by a hash of caller, operation and key; the body is
//! compared by a fingerprint, keyed with the key and the installation secret, which are not stored with it. So the row reveals
//! neither key nor body, even if the key can be guessed: bodies may have card numbers.

use axum::extract::FromRequestParts;
use db::{Error, Json, Keyed, Tx, WriteTx, to_json};
use hmac::{Hmac, KeyInit, Mac};
use http::request::Parts;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;
use web::{Problem, Result, problem::Kind};

use crate::problem::{self, KEY_IN_USE, KEY_REUSED};

const HEADER: &str = "Idempotency-Key";

/// How long an answer is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// The key of a request, if it has one.
pub(crate) struct Key(Option<String>);

impl<S: Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let wrong = |detail| Err(Problem::invalid_at(HEADER, detail));
        let mut sent = parts.headers.get_all(HEADER).iter();
        let Some(key) = sent.next() else { return Ok(Key(None)) };
        if sent.next().is_some() {
            return wrong("must be sent once");
        }
        match key.to_str() {
            Ok(key) if (1..=255).contains(&key.len()) => Ok(Key(Some(key.to_owned()))),
            _ => wrong("must be 1 to 255 characters of ASCII, such as a UUID"),
        }
    }
}

/// Identifies a request, and detects the same key with another body.
#[derive(Clone)]
pub(crate) struct Request {
    owner: String,
    hash: [u8; 32],
    fingerprint: [u8; 32],
}

impl Request {
    /// Identifies the row of the request.
    pub(crate) fn hash(&self) -> &[u8] {
        &self.hash
    }
}

impl Key {
    /// The request with this key, if it has one.
    pub(crate) fn request(
        &self,
        secret: &[u8; 32],
        caller: &str,
        operation: &str,
        body: &impl Serialize,
    ) -> Result<Option<Request>> {
        let Some(key) = &self.0 else { return Ok(None) };
        let mut hash = Sha256::new();
        for part in [caller, operation, key] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let body = serde_json::to_vec(body).map_err(Problem::internal)?;
        // An HMAC accepts a key of any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(Problem::internal)?;
        mac.update(&(key.len() as u64).to_be_bytes());
        mac.update(key.as_bytes());
        mac.update(&body);
        Ok(Some(Request {
            owner: caller.to_owned(),
            hash: hash.finalize().into(),
            fingerprint: mac.finalize().into_bytes().into(),
        }))
    }
}

/// A stored answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer<T> {
    Done(T),
    Refused(Rejection),
}

/// A rejected request, as it is stored and sent again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Rejection {
    kind: String,
    detail: String,
    /// After how many seconds the request may pass, if a limit was reached. Such a rejection is not stored.
    #[serde(skip)]
    retry_after: Option<u64>,
}

impl Rejection {
    pub(crate) fn new(kind: &'static Kind, detail: impl Into<String>) -> Self {
        Rejection { kind: kind.name.into(), detail: detail.into(), retry_after: None }
    }

    /// A request that is rejected because of a limit, until a time.
    pub(crate) fn limit(
        kind: &'static Kind,
        detail: impl Into<String>,
        now: Timestamp,
        until: Timestamp,
    ) -> Self {
        Rejection { retry_after: Some(seconds_until(until, now)), ..Rejection::new(kind, detail) }
    }
}

/// The number of whole seconds until a time, at least 1.
pub(crate) fn seconds_until(moment: Timestamp, now: Timestamp) -> u64 {
    let left = moment.duration_since(now);
    let whole = left.as_secs() + i64::from(left.subsec_nanos() > 0);
    u64::try_from(whole).unwrap_or(0).max(1)
}

impl From<Rejection> for Problem {
    fn from(refusal: Rejection) -> Self {
        match problem::by_name(&refusal.kind) {
            Some(kind) => {
                let problem = Problem::new(kind, refusal.detail);
                refusal.retry_after.into_iter().fold(problem, Problem::retry_after)
            }
            None => {
                Problem::internal(format!("an answer that was kept is of an unknown kind: {}", refusal.kind))
            }
        }
    }
}

/// The state of a request with a key.
pub(crate) enum Known<T> {
    /// The key was new and is now stored: do the work.
    New,
    Answered(Answer<T>),
    /// The work is being done, or the key was used with another body.
    Refused(Rejection),
}

/// Stores a request's key, or returns the state of the key.
pub(crate) fn take<T: for<'a> Deserialize<'a>>(
    tx: &mut WriteTx<'_>,
    request: Option<&Request>,
    now: Timestamp,
) -> Result<Known<T>, Error> {
    let Some(Request { owner, hash, fingerprint }) = request else { return Ok(Known::New) };
    // Each new key deletes a few expired ones, so that they do not accumulate, and its own row if that is expired.
    tx.execute(
        db::delete_some!("idempotency", "hash", "expires_at <= $1 ORDER BY expires_at LIMIT 10"),
        &[now.into()],
    )?;
    tx.execute(
        "DELETE FROM idempotency WHERE hash = $1 AND expires_at <= $2",
        &[hash.as_slice().into(), now.into()],
    )?;
    // Waits for the transaction of the same request in another process.
    let taken = tx.execute(
        "INSERT INTO idempotency (hash, owner, fingerprint, expires_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (hash) DO NOTHING",
        &[hash.as_slice().into(), owner.into(), fingerprint.as_slice().into(), (now + KEPT).into()],
    )?;
    if taken == 1 {
        return Ok(Known::New);
    }
    known(tx, hash, fingerprint)
}

fn known<T: for<'a> Deserialize<'a>>(
    tx: &mut Tx<'_>,
    hash: &[u8],
    fingerprint: &[u8; 32],
) -> Result<Known<T>, Error> {
    let found =
        tx.row("SELECT fingerprint, answer FROM idempotency WHERE hash = $1", &[hash.into()], |row| {
            Ok((row.get::<Vec<u8>>(0)?, row.get::<Option<Json>>(1)?))
        })?;
    Ok(match found {
        Some((kept, _)) if kept != fingerprint => Known::Refused(Rejection::new(
            &KEY_REUSED,
            "This Idempotency-Key was used with another body before; use a new key for another request.",
        )),
        Some((_, Some(Json(answer)))) => {
            let answer = serde_json::from_str(&answer).map_err(|error| Error::Fault(error.to_string()))?;
            Known::Answered(answer)
        }
        _ => Known::Refused(Rejection::new(
            &KEY_IN_USE,
            "The first request with this Idempotency-Key has not been answered yet.",
        )),
    })
}

/// Stores the answer to a request.
pub(crate) fn keep<T: Serialize>(
    tx: &mut WriteTx<'_>,
    request: Option<&Request>,
    answer: &Answer<T>,
) -> Result<(), Error> {
    if matches!(answer, Answer::Refused(Rejection { retry_after: Some(_), .. })) {
        return forget(tx, request);
    }
    let Some(Request { hash, .. }) = request else { return Ok(()) };
    tx.execute(
        "UPDATE idempotency SET answer = $2 WHERE hash = $1",
        &[hash.as_slice().into(), to_json(answer)?],
    )
    .map(drop)
}

/// Deletes a key whose request had no effect.
pub(crate) fn forget(tx: &mut WriteTx<'_>, request: Option<&Request>) -> Result<(), Error> {
    let Some(Request { hash, .. }) = request else { return Ok(()) };
    tx.execute("DELETE FROM idempotency WHERE hash = $1", &[hash.as_slice().into()]).map(drop)
}

/// Deletes all requests of an owner.
pub(crate) fn forget_all(tx: &mut WriteTx<'_>, owner: &str) -> Result<(), Error> {
    tx.execute("DELETE FROM idempotency WHERE owner = $1", &[owner.into()]).map(drop)
}

/// Some of an owner's requests after one: their answers, since neither key nor body is stored.
pub(crate) fn export(tx: &mut Tx<'_>, owner: &str, after: &[u8]) -> Result<Vec<Keyed>, Error> {
    tx.rows(
        "SELECT hash, payment_id, answer, expires_at FROM idempotency WHERE owner = $1 AND hash > $2
         ORDER BY hash LIMIT 500",
        &[owner.into(), after.into()],
        |row| {
            let document = json!({
                "payment_id": row.get::<Option<Uuid>>(1)?,
                "answer": row.json_or_null::<serde_json::Value>(2)?,
                "expires_at": row.get::<Timestamp>(3)?,
            });
            Ok(Keyed { key: row.get(0)?, document })
        },
    )
}

/// Deletes some of an owner's requests, and gives how many.
pub(crate) fn erase_some(tx: &mut WriteTx<'_>, owner: &str) -> Result<u64, Error> {
    tx.execute(db::delete_some!("idempotency", "hash", "owner = $1 ORDER BY hash LIMIT 500"), &[owner.into()])
}
