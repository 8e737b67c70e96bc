//! How many calls an hour a caller may make, counted for all processes together.
//!
//! A write for every call would make each read as dear as a write. So a process takes calls from the database a few at a time,
//! a hundredth of the whole, and hands them out from memory. All processes together never hand out more than the limit; what a
//! process has taken and not handed out, another cannot.

use std::sync::{Arc, Mutex, PoisonError};

use db::{Db, Error, Migrations, WriteTx};
use moka::sync::Cache;
use web::{Clock, Problem, problem::TOO_MANY_REQUESTS};

/// The table of this part, for services that limit their callers.
pub const MIGRATIONS: Migrations = db::migrations!("quota": "quota_0001_calls");

/// How many callers a process remembers having taken calls for.
const REMEMBERED: u64 = 100_000;

const HOUR: i64 = 3600;

/// The limit on a service's callers. Cloning it is cheap.
#[derive(Clone)]
pub struct Quota {
    limit: i64,
    db: Db,
    clock: Clock,
    taken: Cache<String, Arc<Mutex<Taken>>>,
}

/// What a process has taken for a caller.
#[derive(Default)]
struct Taken {
    hour: i64,
    /// Calls to hand out.
    left: i64,
    /// Calls that nobody had taken when these were.
    untaken: i64,
}

/// Where a caller stands after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    pub limit: i64,
    pub remaining: i64,
    /// In how many seconds the next hour starts.
    pub reset: i64,
}

/// Why a call was not allowed.
#[derive(Debug, thiserror::Error)]
pub enum QuotaError {
    #[error("the calls of this hour are used up")]
    UsedUp(Standing),
    #[error(transparent)]
    Db(#[from] Error),
}

impl Quota {
    pub fn new(limit: u32, db: Db, clock: Clock) -> Self {
        Quota { limit: limit.into(), db, clock, taken: Cache::new(REMEMBERED) }
    }

    pub fn limit(&self) -> i64 {
        self.limit
    }

    /// Counts a call.
    pub async fn spend(&self, caller: &str) -> Result<Standing, QuotaError> {
        let now = self.clock.now().as_second();
        let (hour, reset) = (now.div_euclid(HOUR), HOUR - now.rem_euclid(HOUR));
        let standing = |remaining| Standing { limit: self.limit, remaining, reset };
        let taken = match self.taken.get(caller) {
            Some(taken) => taken,
            None => self.taken.get_with(caller.to_owned(), Arc::default),
        };
        if let Some(remaining) = lock(&taken).spend(hour) {
            return Ok(standing(remaining));
        }
        let step = (self.limit / 100).max(1);
        let (limit, name) = (self.limit, caller.to_owned());
        let granted = self.db.write(move |tx| take(tx, &name, hour, step, limit)).await?;
        let Some((granted, untaken)) = granted else { return Err(QuotaError::UsedUp(standing(0))) };
        let mut taken = lock(&taken);
        if taken.hour != hour {
            *taken = Taken { hour, ..Taken::default() };
        }
        taken.left += granted;
        taken.untaken = untaken;
        // What was just taken may have been handed out by others that waited for the lock.
        match taken.spend(hour) {
            Some(remaining) => Ok(standing(remaining)),
            None => Err(QuotaError::UsedUp(standing(0))),
        }
    }
}

impl Taken {
    fn spend(&mut self, hour: i64) -> Option<i64> {
        if self.hour != hour || self.left == 0 {
            return None;
        }
        self.left -= 1;
        Some(self.left + self.untaken)
    }
}

fn lock(taken: &Mutex<Taken>) -> std::sync::MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes up to `step` calls: how many, and how many are left to be taken. `None` when all are.
fn take(
    tx: &mut WriteTx<'_>,
    caller: &str,
    hour: i64,
    step: i64,
    limit: i64,
) -> Result<Option<(i64, i64)>, Error> {
    // A few of past hours go with every one of this hour, so that they cannot pile up.
    tx.execute(
        "DELETE FROM call_quota WHERE caller IN
         (SELECT caller FROM call_quota WHERE hour < $1 ORDER BY hour LIMIT 10)",
        &[(hour - 1).into()],
    )?;
    let used: Option<i64> = tx.row(
        "INSERT INTO call_quota (caller, hour, used) VALUES ($1, $2, $3)
         ON CONFLICT (caller) DO UPDATE SET hour = excluded.hour,
             used = CASE WHEN call_quota.hour = excluded.hour THEN call_quota.used ELSE 0 END + excluded.used
         WHERE call_quota.hour <> excluded.hour OR call_quota.used < $4
         RETURNING used",
        &[caller.into(), hour.into(), step.into(), limit.into()],
        |row| row.get(0),
    )?;
    Ok(used.map(|used| {
        let before = used - step;
        ((limit - before).min(step), (limit - used).max(0))
    }))
}

impl QuotaError {
    /// The answer to the call.
    pub fn into_problem(self) -> Problem {
        match self {
            QuotaError::UsedUp(Standing { limit, reset, .. }) => Problem::new(
                &TOO_MANY_REQUESTS,
                format!("This user may make {limit} calls an hour, and has. The next hour starts in {reset} seconds."),
            )
            .retry_after(reset.unsigned_abs()),
            QuotaError::Db(error) => error.into(),
        }
    }
}
