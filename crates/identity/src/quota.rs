//! Limits how many calls a caller may make in an hour, over all processes.
//!
//! A write for every call would make each read as slow as a write. So a process takes calls from the database in batches, and
//! spends them from memory. All processes together never allow more than the limit; what one process has taken and not spent,
//! another cannot spend. A batch is as large as those before it in the hour together, from a thousandth to a hundredth of the
//! limit: a process that is killed loses few calls if it was asked for few, so that a hundred restarts do not use up the limit.
//! While SQLite cannot write, as on a full disk, calls are not counted.
//!
//! The clocks of machines differ. Around the full hour, when one machine is in the next hour already, the calls of the others
//! count in that hour too: if the count switched between the two hours, each switch would reset it.

use std::sync::{Arc, Mutex, PoisonError};

use db::{Db, Error, WriteTx};
use moka::sync::Cache;
use uuid::Uuid;
use web::{Clock, Controls, Problem, problem::TOO_MANY_REQUESTS};

/// The table of this part, for services that limit their callers.
pub use crate::migrations::QUOTA as MIGRATIONS;

/// For how many callers a process keeps its batch.
const CALLERS: u64 = 100_000;

const HOUR: i64 = 3600;

/// The limit on a service's callers. Cloning it is cheap.
#[derive(Clone)]
pub struct Quota {
    limit: i64,
    db: Db,
    clock: Clock,
    callers: Cache<String, Arc<Caller>>,
    controls: Controls,
}

/// The key of a user.
pub fn user(account: Uuid) -> String {
    format!("user:{account}")
}

/// The key of an API key.
pub fn api_key(name: &str) -> String {
    format!("key:{name}")
}

/// What a process holds for a caller.
#[derive(Default)]
struct Caller {
    taken: Mutex<Batch>,
    /// Locked while a batch is taken. If each of many concurrent calls took a batch, the last would find none left, while the
    /// first have calls to spare.
    taking: tokio::sync::Mutex<()>,
}

/// A batch of calls that a process has taken for a caller.
#[derive(Default)]
struct Batch {
    hour: i64,
    /// Calls to spend.
    left: i64,
    /// Calls that no process had taken at that time.
    untaken: i64,
    /// Calls that this process has taken in the hour, spent or not.
    taken: i64,
}

impl Batch {
    fn spend(&mut self) -> Option<i64> {
        self.left = self.left.checked_sub(1).filter(|left| *left >= 0)?;
        Some(self.left + self.untaken)
    }
}

/// The quota of a caller after a call, as rate limit headers state it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaStatus {
    pub limit: i64,
    pub remaining: i64,
    /// In how many seconds the next hour starts.
    pub reset: i64,
}

/// Why a call was not allowed.
#[derive(Debug, thiserror::Error)]
pub enum QuotaError {
    #[error("the calls of this hour are used up")]
    UsedUp(QuotaStatus),
    #[error(transparent)]
    Db(#[from] Error),
}

impl Quota {
    pub fn new(limit: u32, db: Db, clock: Clock) -> Self {
        Quota { limit: limit.into(), db, clock, callers: Cache::new(CALLERS), controls: Controls::default() }
    }

    /// The same limit, or a lower one that these controls set.
    #[must_use]
    pub fn controlled_by(self, controls: Controls) -> Self {
        Quota { controls, ..self }
    }

    /// How many calls an hour a caller may make now.
    pub fn limit(&self) -> i64 {
        self.lower_limit().unwrap_or(self.limit)
    }

    /// The limit that the controls set, if it is lower than the usual one.
    fn lower_limit(&self) -> Option<i64> {
        let set = self.controls.get().calls_per_hour?;
        Some(i64::from(set.max(1))).filter(|set| *set < self.limit)
    }

    /// Counts a call.
    pub async fn spend(&self, caller: &str) -> Result<QuotaStatus, QuotaError> {
        match self.lower_limit() {
            None => self.spend_of(self.limit, caller).await,
            // Counted apart: otherwise the calls from before the change, and the batch taken for them, would use it up at once.
            Some(limit) => self.spend_of(limit, &format!("{caller} of {limit}")).await,
        }
    }

    async fn spend_of(&self, limit: i64, caller: &str) -> Result<QuotaStatus, QuotaError> {
        let now = self.clock.now().as_second();
        let (hour, reset) = (now.div_euclid(HOUR), HOUR - now.rem_euclid(HOUR));
        let status = |remaining| QuotaStatus { limit, remaining, reset };
        let held = match self.callers.get(caller) {
            Some(held) => held,
            None => self.callers.get_with(caller.to_owned(), Arc::default),
        };
        if let Some(remaining) = held.spend(hour) {
            return Ok(status(remaining));
        }
        let _turn = held.taking.lock().await;
        if let Some(remaining) = held.spend(hour) {
            return Ok(status(remaining));
        }
        let step = held.step(hour, limit);
        let name = caller.to_owned();
        let more = match self.db.write(move |tx| take(tx, &name, hour, step, limit)).await {
            // A full disk: calls that only read go on. The database of several processes cannot be reached at all then.
            Err(Error::Unavailable(_)) if !self.db.is_shared() => {
                Some(Batch { hour, left: step, untaken: 0, taken: 0 })
            }
            taken => taken?,
        };
        let remaining = more.and_then(|more| held.add_and_spend(&more));
        remaining.map(status).ok_or_else(|| QuotaError::UsedUp(status(0)))
    }
}

impl Caller {
    fn spend(&self, hour: i64) -> Option<i64> {
        let mut taken = self.lock();
        if counts_in(taken.hour, hour) { taken.spend() } else { None }
    }

    /// How many calls the next batch has.
    fn step(&self, hour: i64, limit: i64) -> i64 {
        let held = self.lock();
        let taken = if counts_in(held.hour, hour) { held.taken } else { 0 };
        taken.clamp((limit / 1000).max(1), (limit / 100).max(1))
    }

    /// Under one lock: the call that took the batch gets one of its calls, however many other calls spend the rest.
    fn add_and_spend(&self, more: &Batch) -> Option<i64> {
        let mut taken = self.lock();
        let (left, before) = if taken.hour == more.hour { (taken.left, taken.taken) } else { (0, 0) };
        *taken = Batch { left: left + more.left, taken: before + more.taken, ..*more };
        taken.spend()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Batch> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a call made in `hour`, by the clock of this machine, counts in `counted`: that hour, or the next one if another
/// machine's clock is there already.
fn counts_in(counted: i64, hour: i64) -> bool {
    counted == hour || counted == hour + 1
}

/// Takes up to `step` calls. `None` when all are taken.
fn take(
    tx: &mut WriteTx<'_>,
    caller: &str,
    hour: i64,
    step: i64,
    limit: i64,
) -> Result<Option<Batch>, Error> {
    // Every batch deletes a few rows of past hours, so that their number stays bounded.
    tx.execute(
        db::delete_some!("call_quota", "caller", "hour < $1 ORDER BY hour LIMIT 10"),
        &[(hour - 1).into()],
    )?;
    // As in `counts_in`.
    let used = tx.row(
        "INSERT INTO call_quota (caller, hour, used) VALUES ($1, $2, $3)
         ON CONFLICT (caller) DO UPDATE SET
             hour = CASE WHEN call_quota.hour = excluded.hour + 1 THEN call_quota.hour ELSE excluded.hour END,
             used = CASE WHEN call_quota.hour BETWEEN excluded.hour AND excluded.hour + 1 THEN call_quota.used ELSE 0 END
                 + excluded.used
         WHERE call_quota.hour NOT BETWEEN excluded.hour AND excluded.hour + 1 OR call_quota.used < $4
         RETURNING hour, used",
        &[caller.into(), hour.into(), step.into(), limit.into()],
        |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)),
    )?;
    Ok(used.map(|(hour, used)| {
        let left = (limit - (used - step)).min(step);
        Batch { hour, left, untaken: (limit - used).max(0), taken: left }
    }))
}

impl QuotaError {
    /// The response to the call.
    pub fn into_problem(self) -> Problem {
        match self {
            QuotaError::UsedUp(QuotaStatus { limit, reset, .. }) => Problem::new(
                &TOO_MANY_REQUESTS,
                format!("This caller may make {limit} calls an hour, and has. The next hour starts in {reset} seconds."),
            )
            .retry_after(reset.unsigned_abs()),
            QuotaError::Db(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;

    #[test]
    fn call_that_takes_a_batch_gets_one_of_its_calls() {
        let (caller, done) = (Caller::default(), AtomicBool::new(false));
        let had_one = thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    caller.spend(7);
                }
            });
            let more = Batch { hour: 7, left: 1, untaken: 0, taken: 1 };
            let had_one = (0..100_000).filter(|_| caller.add_and_spend(&more).is_some()).count();
            done.store(true, Ordering::Relaxed);
            had_one
        });
        assert_eq!(had_one, 100_000);
    }
}
