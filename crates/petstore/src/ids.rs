//! Assigns ids to resources that are sent without one.
//!
//! Clients may choose ids, so an assigned id may be taken: the insert decides, and then the next id is tried. A process takes a
//! block of ids from the database at a time, so that an insert is one transaction, and inserts do not wait for each other on
//! PostgreSQL. The rest of a block is not used after the process ends.

use std::{
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use db::{Db, Error, WriteTx};
use web::Random;

/// How many ids a process takes at once.
const BLOCK: i64 = 100;

/// Assigned ids are below this: JavaScript's numbers are exact up to here.
const END: i64 = 1 << 53;

/// Assigns the ids of one kind of resource. Cloning it is cheap.
#[derive(Clone)]
pub(crate) struct Ids {
    kind: &'static str,
    db: Db,
    random: Random,
    block: Arc<Mutex<Range<i64>>>,
    /// Locked while a block is taken, so that of many callers that find the block empty only one takes a new block.
    taking: Arc<tokio::sync::Mutex<()>>,
}

impl Ids {
    pub(crate) fn new(kind: &'static str, db: Db, random: Random) -> Self {
        Ids { kind, db, random, block: Arc::new(Mutex::new(0..0)), taking: Arc::default() }
    }

    /// Calls `insert` with `count` ids, and with others until all are free, which it reports by `Some`.
    pub(crate) async fn assign<T, E, Fut>(
        &self,
        count: usize,
        insert: impl Fn(Vec<i64>) -> Fut,
    ) -> Result<T, E>
    where
        E: From<Error>,
        Fut: Future<Output = Result<Option<T>, E>>,
    {
        let mut step = 1;
        loop {
            let mut ids = Vec::with_capacity(count);
            for _ in 0..count {
                ids.push(self.next().await?);
            }
            let last = ids.iter().max().copied();
            if let Some(done) = insert(ids).await? {
                return Ok(done);
            }
            // The step doubles, so that a long run of taken ids is skipped in few tries.
            if let Some(last) = last {
                self.skip(last, step).await?;
            }
            step = step.saturating_mul(2);
        }
    }

    async fn next(&self) -> Result<i64, Error> {
        if let Some(id) = self.next_of_block() {
            return Ok(id);
        }
        let _turn = self.taking.lock().await;
        // The previous holder of the lock may have taken a block.
        if let Some(id) = self.next_of_block() {
            return Ok(id);
        }
        let kind = self.kind;
        let first = self.db.write(move |tx| take_block(tx, kind)).await?;
        if first >= END - BLOCK {
            return Ok(random(&self.random));
        }
        let mut block = self.lock();
        *block = first + 1..first + BLOCK;
        Ok(first)
    }

    fn next_of_block(&self) -> Option<i64> {
        self.lock().next()
    }

    /// Continues `step` ids after one that was taken.
    async fn skip(&self, taken: i64, step: i64) -> Result<(), Error> {
        if step < BLOCK {
            // Never backwards: the ids between may be assigned, or this may be another block by now.
            let mut block = self.lock();
            block.start = block.start.max((taken + step).min(block.end));
            return Ok(());
        }
        *self.lock() = 0..0;
        let (kind, least) = (self.kind, taken.saturating_add(step).min(END));
        self.db
            .write(move |tx| {
                tx.execute(
                    "UPDATE next_id SET id = $2 WHERE kind = $1 AND id < $2",
                    &[kind.into(), least.into()],
                )
                .map(drop)
            })
            .await
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Range<i64>> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A random id of the whole range, after the last block.
pub(crate) fn random(random: &Random) -> i64 {
    (u64::from_be_bytes(random.bytes()) >> 11).max(1) as i64
}

fn take_block(tx: &mut WriteTx<'_>, kind: &'static str) -> Result<i64, Error> {
    let next = tx.row(
        "UPDATE next_id SET id = id + $2 WHERE kind = $1 AND id < $3 RETURNING id",
        &[kind.into(), BLOCK.into(), (END - BLOCK).into()],
        |row| row.get::<i64>(0),
    )?;
    Ok(next.map_or(END, |next| next - BLOCK))
}
