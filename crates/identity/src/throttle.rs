//! Throttles password guesses, without locking out the owner of an account.
//!
//! Three meters fill with each try and drain with time: one per account, one per address, one per both. A try is charged
//! before the password is checked, so that concurrent tries count, and refunded if the password was right. The meter of an
//! account does not apply to an address from which its owner has signed in before: guesses from other addresses cannot lock
//! out the owner. The meters are in the database, because all processes share the accounts.
//!
//! What a caller may add without signing in has a meter per address too, so that no address can fill the database.

use std::net::IpAddr;

use db::{Db, WriteTx};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use web::Clock;

/// How many tries are allowed at once, and how long it takes until one more is.
#[derive(Clone, Copy)]
pub(crate) struct Meter {
    /// The prefix of its subjects.
    word: &'static str,
    burst: i64,
    refill: SignedDuration,
}

const ACCOUNT: Meter = Meter { word: "account", burst: 100, refill: SignedDuration::from_secs(10) };
const ADDRESS: Meter = Meter { word: "address", burst: 100, refill: SignedDuration::from_secs(5) };
const BOTH: Meter = Meter { word: "both", burst: 10, refill: SignedDuration::from_secs(30) };

impl Meter {
    /// Accounts that are added without sign-in: a limit per hour and address.
    pub(crate) fn sign_ups(per_hour: u32) -> Self {
        let refill = SignedDuration::from_hours(1) / i32::try_from(per_hour.max(1)).unwrap_or(i32::MAX);
        Meter { word: SIGN_UP.word, burst: per_hour.into(), refill }
    }
}

/// Accounts that users add on a page: 20 an hour from an address.
pub(crate) const SIGN_UP: Meter = Meter { word: "sign-up", burst: 20, refill: SignedDuration::from_mins(3) };
/// Clients that register without a token: 60 an hour from an address.
pub(crate) const REGISTRATION: Meter =
    Meter { word: "registration", burst: 60, refill: SignedDuration::from_mins(1) };

/// How long an address is known as one that the owner of an account uses.
const KNOWN_FOR: SignedDuration = SignedDuration::from_hours(24 * 30);

#[derive(Clone)]
pub(crate) struct Throttle {
    db: Db,
    /// That of the machine: a caller waits by it, also when the service's clock is frozen or was set back.
    clock: Clock,
}

/// The key of a meter: a hash of what is counted.
pub(crate) type Subject = [u8; 16];

/// The subjects of a try.
#[derive(Clone)]
pub(crate) struct Try {
    account: Subject,
    address: Subject,
    both: Subject,
    familiar: Subject,
}

/// A charged try, to be refunded if the password was right.
pub(crate) struct Charge {
    tried: Try,
    /// Whether the account's meter was charged too.
    account: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ThrottleError {
    #[error("too many tries; the next one in {0} seconds")]
    Wait(u64),
    #[error(transparent)]
    Db(#[from] db::Error),
}

impl Throttle {
    pub(crate) fn new(db: Db, clock: &Clock) -> Self {
        Throttle { db, clock: clock.of_machine() }
    }

    /// Charges a try, or says how long to wait.
    pub(crate) async fn charge(&self, tried: Try) -> Result<Charge, ThrottleError> {
        let (subjects, now) = (tried.clone(), self.clock.now());
        let account = self
            .db
            .write(move |tx| {
                delete_expired(tx, now)?;
                // Lock order: account, address, both.
                let stranger = !is_familiar(tx, &subjects.familiar, now)?;
                if stranger {
                    fill(tx, &subjects.account, &ACCOUNT, now)?;
                }
                fill(tx, &subjects.address, &ADDRESS, now)?;
                fill(tx, &subjects.both, &BOTH, now)?;
                Ok::<_, ThrottleError>(stranger)
            })
            .await?;
        Ok(Charge { tried, account })
    }

    /// Charges an address for one thing that it adds, or says how long to wait. There is no refund.
    pub(crate) async fn charge_address(&self, meter: &Meter, address: IpAddr) -> Result<(), ThrottleError> {
        self.charge_address_by(meter, address, 1).await
    }

    /// The same for several things at once.
    pub(crate) async fn charge_address_by(
        &self,
        meter: &Meter,
        address: IpAddr,
        count: i64,
    ) -> Result<(), ThrottleError> {
        let (meter, subject, now) = (*meter, subject(&[meter.word, &network(address)]), self.clock.now());
        self.db
            .write(move |tx| {
                delete_expired(tx, now)?;
                fill_by(tx, &subject, &meter, count, now)
            })
            .await
    }

    /// Refunds a try with the right password, and stores the address as one of the owner's.
    pub(crate) async fn succeed(&self, charge: Charge) -> Result<(), db::Error> {
        let now = self.clock.now();
        let Charge { tried: right, account } = charge;
        self.db
            .write(move |tx| {
                if account {
                    refund(tx, &right.account, &ACCOUNT)?;
                }
                refund(tx, &right.address, &ADDRESS)?;
                tx.execute(
                    "DELETE FROM sign_in_throttle WHERE subject = $1",
                    &[right.both.as_slice().into()],
                )?;
                tx.execute(
                    "INSERT INTO sign_in_throttle (subject, full_at) VALUES ($1, $2)
                     ON CONFLICT (subject) DO UPDATE SET full_at = excluded.full_at",
                    &[right.familiar.as_slice().into(), (now + KNOWN_FOR).as_microsecond().into()],
                )
                .map(drop)
            })
            .await
    }
}

impl Try {
    pub(crate) fn new(name: &str, address: IpAddr) -> Self {
        let address = network(address);
        Try {
            account: subject(&[ACCOUNT.word, name]),
            address: subject(&[ADDRESS.word, &address]),
            both: subject(&[BOTH.word, name, &address]),
            familiar: subject(&["familiar", name, &address]),
        }
    }

    pub(crate) fn account_and_address(&self) -> &Subject {
        &self.both
    }
}

/// The network of a client: an IPv4 address, or an IPv6 /64.
fn network(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("{:x?}", &address.segments()[..4]),
    }
}

fn subject(parts: &[&str]) -> Subject {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut subject = Subject::default();
    subject.copy_from_slice(&hash.finalize()[..16]);
    subject
}

fn fill(tx: &mut WriteTx<'_>, subject: &[u8], meter: &Meter, now: Timestamp) -> Result<(), ThrottleError> {
    fill_by(tx, subject, meter, 1, now)
}

/// Charges one meter for several tries; one statement decides whether its limit allows all of them.
fn fill_by(
    tx: &mut WriteTx<'_>,
    subject: &[u8],
    meter: &Meter,
    count: i64,
    now: Timestamp,
) -> Result<(), ThrottleError> {
    let refill = meter.refill.as_micros() as i64;
    let now = now.as_microsecond();
    let latest = now + (meter.burst - count) * refill;
    let refill = count * refill;
    if latest < now {
        // More than even an empty meter has room for.
        return Err(ThrottleError::Wait(u64::try_from(now - latest).unwrap_or_default().div_ceil(1_000_000)));
    }
    let room = tx.row(
        "INSERT INTO sign_in_throttle (subject, full_at) VALUES ($1, $2)
         ON CONFLICT (subject) DO UPDATE
         SET full_at = CASE WHEN sign_in_throttle.full_at > $3 THEN sign_in_throttle.full_at ELSE $3 END + $4
         WHERE sign_in_throttle.full_at <= $5
         RETURNING full_at",
        &[subject.into(), (now + refill).into(), now.into(), refill.into(), latest.into()],
        |row| row.get::<i64>(0),
    )?;
    if room.is_some() {
        return Ok(());
    }
    let full_at =
        tx.row("SELECT full_at FROM sign_in_throttle WHERE subject = $1", &[subject.into()], |row| {
            row.get::<i64>(0)
        })?;
    let wait = full_at.unwrap_or(latest) - latest;
    Err(ThrottleError::Wait(u64::try_from(wait).unwrap_or_default().div_ceil(1_000_000).max(1)))
}

fn refund(tx: &mut WriteTx<'_>, subject: &[u8], meter: &Meter) -> Result<(), db::Error> {
    tx.execute(
        "UPDATE sign_in_throttle SET full_at = full_at - $2 WHERE subject = $1",
        &[subject.into(), (meter.refill.as_micros() as i64).into()],
    )
    .map(drop)
}

fn is_familiar(tx: &mut WriteTx<'_>, subject: &[u8], now: Timestamp) -> Result<bool, db::Error> {
    let found = tx.row(
        "SELECT 1 FROM sign_in_throttle WHERE subject = $1 AND full_at > $2",
        &[subject.into(), now.as_microsecond().into()],
        |row| row.get::<i64>(0),
    )?;
    Ok(found.is_some())
}

/// Deletes a few expired rows with every try: more than a try adds, so that their number stays bounded.
fn delete_expired(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<(), db::Error> {
    tx.execute(
        db::delete_some!("sign_in_throttle", "subject", "full_at < $1 ORDER BY full_at LIMIT 10"),
        &[now.as_microsecond().into()],
    )
    .map(drop)
}
