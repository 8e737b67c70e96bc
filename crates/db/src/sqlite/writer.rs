//! The thread that writes. Units that arrive while it is busy share one transaction and one fsync; each is answered after that
//! commit is on the disk.
//!
//! A unit that fails must not affect the others of its batch. A savepoint around each unit would ensure that, but costs as much
//! as a small write, and nearly every unit succeeds or fails before it has changed anything. So a batch first runs without
//! savepoints, and runs again with them when a unit fails after it may have changed something.

use std::{
    io, iter,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::connection::Connection;
use crate::{
    error::Error,
    settings::Limits,
    tx::{Engine, WriteTx},
    unit::WriteUnit,
};

/// Enough units to share the cost of an fsync; few enough that the first does not wait long for the last.
const LARGEST_BATCH: usize = 256;

/// How long a batch waits for the units that it expects: less than any disk takes for an fsync.
const BATCH_DELAY: Duration = Duration::from_micros(50);

pub(super) struct Writer {
    queue: Option<Sender<WriteUnit>>,
    thread: Option<thread::JoinHandle<()>>,
    failed: Arc<AtomicBool>,
}

impl Writer {
    pub(super) fn start(connection: Connection, limits: Limits) -> io::Result<Self> {
        let (sender, receiver) = bounded(limits.queue);
        let failed = Arc::new(AtomicBool::new(false));
        let last = failed.clone();
        let thread = thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || run(connection, &receiver, limits.wait, &last))?;
        Ok(Writer { queue: Some(sender), thread: Some(thread), failed })
    }

    /// Whether the database did not write the last batch, as on a full disk.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn submit(&self, unit: WriteUnit) -> Result<(), Error> {
        let Some(queue) = &self.queue else { return Err(Error::Busy) };
        queue.try_send(unit).map_err(|error| match error {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => Error::Unavailable("the writer thread has ended".into()),
        })
    }
}

impl Drop for Writer {
    /// Queued units are still written; the file is closed when this returns.
    fn drop(&mut self) {
        self.queue = None;
        // A unit may hold the last clone of its database. Then this runs on the writer's own thread, which ends by itself.
        let other = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id());
        if let Some(thread) = other {
            let _ = thread.join();
        }
    }
}

fn run(mut connection: Connection, queue: &Receiver<WriteUnit>, max_wait: Duration, failed: &AtomicBool) {
    let mut batch = Batch {
        queue,
        units: Vec::with_capacity(LARGEST_BATCH),
        start: Instant::now(),
        max_wait,
        waited: Duration::ZERO,
        expected: 0,
    };
    loop {
        if queue.is_empty() {
            connection.take_read_lock();
        }
        let has_begun = batch.begin();
        connection.roll_back();
        if !has_begun {
            break;
        }
        // Nothing is known from a batch whose callers have all gone.
        let has_units = !batch.units.is_empty();
        let is_written = write(&mut connection, &mut batch);
        if has_units {
            failed.store(!is_written, Ordering::Relaxed);
        }
    }
}

/// Writes one batch of the units that are queued, without waiting for more; `false` if there are none.
pub(super) fn write_batch(
    connection: &mut Connection,
    queue: &Receiver<WriteUnit>,
    max_wait: Duration,
) -> bool {
    let (start, waited) = (Instant::now(), Duration::ZERO);
    let mut batch = Batch { queue, units: Vec::new(), start, max_wait, waited, expected: 0 };
    let Ok(first) = queue.try_recv() else { return false };
    batch.add(first);
    write(connection, &mut batch);
    true
}

/// The units of one commit. Each is taken from the queue after the units before it have run.
struct Batch<'q> {
    queue: &'q Receiver<WriteUnit>,
    units: Vec<WriteUnit>,
    start: Instant,
    /// How long a unit may have waited in the queue.
    max_wait: Duration,
    /// How long its first unit was in the queue.
    waited: Duration,
    /// The size of the last batch and of the queue after it.
    expected: usize,
}

impl Batch<'_> {
    /// Waits for the first unit; `false` when the queue is closed.
    fn begin(&mut self) -> bool {
        let first = self.queue.recv();
        self.start = Instant::now();
        first.map(|unit| self.add(unit)).is_ok()
    }

    /// The next unit, if one is queued. Waits a little until there are as many as expected: callers that were just answered
    /// often send their next unit at once, and would otherwise miss every second batch. A single caller never waits.
    fn next(&mut self) -> Option<&mut WriteUnit> {
        let (before, mut waiting) = (self.units.len(), None);
        while self.units.len() == before && before < LARGEST_BATCH {
            match self.queue.try_recv() {
                Ok(unit) => self.add(unit),
                Err(_) if before >= self.expected => return None,
                Err(_) if waiting.get_or_insert_with(Instant::now).elapsed() > BATCH_DELAY => return None,
                Err(_) => thread::yield_now(),
            }
        }
        self.units.get_mut(before)
    }

    /// Adds a unit, unless its caller was dropped or its deadline has passed.
    fn add(&mut self, unit: WriteUnit) {
        if unit.is_abandoned() {
            return;
        }
        if self.units.is_empty() {
            self.waited = unit.waited();
        }
        if self.start < unit.deadline(self.max_wait) {
            self.units.push(unit);
        } else {
            unit.fail(Error::Busy);
        }
    }
}

/// Why a batch was rolled back.
enum BatchError {
    /// The database failed.
    Database(Error),
    /// One unit failed, and its changes cannot be separated from those of the others.
    Unit,
}

/// Writes a batch and answers each of its units; `false` if the database failed.
fn write(connection: &mut Connection, batch: &mut Batch<'_>) -> bool {
    let written = match write_without_savepoints(connection, batch) {
        Err(BatchError::Unit) if batch.units.len() > 1 => transaction(connection, |connection| {
            batch.units.iter_mut().try_for_each(|unit| run_in_savepoint(connection, unit))
        }),
        written => written,
    };
    let size = batch.units.len();
    metrics::histogram!("triptych_db_batch_units", "engine" => "sqlite").record(size as f64);
    metrics::histogram!("triptych_db_wait_seconds", "engine" => "sqlite").record(batch.waited);
    let has_failed = matches!(written, Err(BatchError::Database(_)));
    let units = batch.units.drain(..);
    match written {
        Ok(()) => units.for_each(|unit| unit.answer()),
        Err(BatchError::Database(error)) => fail_all(units, &error),
        Err(BatchError::Unit) => units.for_each(|unit| write_alone(connection, unit)),
    }
    batch.expected = size + batch.queue.len();
    !has_failed
}

/// Answers units that the database did not write.
fn fail_all(units: impl ExactSizeIterator<Item = WriteUnit>, error: &Error) {
    let text = error.to_string();
    tracing::error!(error = text, units = units.len(), "a batch could not be written");
    for unit in units {
        unit.fail(match error {
            Error::Busy => Error::Busy,
            Error::Unavailable(why) => Error::Unavailable(why.clone()),
            _ => Error::Unavailable(text.clone()),
        });
    }
}

fn write_without_savepoints(connection: &mut Connection, batch: &mut Batch<'_>) -> Result<(), BatchError> {
    if batch.units.is_empty() {
        return Ok(());
    }
    transaction(connection, |connection| {
        let mut next = batch.units.last_mut();
        while let Some(unit) = next {
            run_without_savepoint(connection, unit)?;
            next = batch.next();
        }
        Ok(())
    })
}

fn transaction(
    connection: &mut Connection,
    run: impl FnOnce(&mut Connection) -> Result<(), BatchError>,
) -> Result<(), BatchError> {
    connection.run("BEGIN IMMEDIATE").map_err(BatchError::Database)?;
    let written = run(connection).and_then(|()| {
        connection.run("COMMIT").map_err(|error| match error {
            // A deferred constraint: the commit does not tell which unit violates it.
            Error::Constraint(_) => BatchError::Unit,
            error => BatchError::Database(error),
        })
    });
    if written.is_err() {
        connection.roll_back();
    }
    written
}

fn run_without_savepoint(connection: &mut Connection, unit: &mut WriteUnit) -> Result<(), BatchError> {
    let before = connection.writes();
    let succeeded = unit.run(&mut WriteTx::new(Engine::Sqlite(connection)));
    let changed_nothing = connection.writes() == before && connection.in_transaction();
    if succeeded || changed_nothing { Ok(()) } else { Err(BatchError::Unit) }
}

fn run_in_savepoint(connection: &mut Connection, unit: &mut WriteUnit) -> Result<(), BatchError> {
    connection.run("SAVEPOINT unit").map_err(BatchError::Database)?;
    let succeeded = unit.run(&mut WriteTx::new(Engine::Sqlite(connection)));
    // SQLite itself may roll the transaction back, on a full disk for example.
    if !succeeded && !connection.in_transaction() {
        return Err(BatchError::Unit);
    }
    let undone = if succeeded { Ok(()) } else { connection.run("ROLLBACK TO unit") };
    undone.and_then(|()| connection.run("RELEASE unit")).map_err(BatchError::Database)
}

/// Writes a unit in a transaction of its own.
fn write_alone(connection: &mut Connection, mut unit: WriteUnit) {
    let written = connection.run("BEGIN IMMEDIATE").and_then(|()| {
        let succeeded = unit.run(&mut WriteTx::new(Engine::Sqlite(connection)));
        if succeeded { connection.run("COMMIT") } else { Ok(()) }
    });
    connection.roll_back();
    match written {
        Ok(()) => unit.answer(),
        Err(error @ Error::Constraint(_)) => unit.fail(error),
        Err(error) => fail_all(iter::once(unit), &error),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::unit;

    #[test]
    fn units_that_were_not_written_get_the_cause_once() {
        let full = || Error::Unavailable("database or disk is full".into());
        for (error, cause) in [
            (full(), "the database is unavailable: database or disk is full"),
            (Error::Engine("no such table".into()), "the database is unavailable: no such table"),
            (Error::Busy, "the database is busy: its queue is full"),
        ] {
            let (unit, mut outcome) = unit::write(|_| Ok::<_, Error>(()));
            fail_all(vec![unit].into_iter(), &error);
            assert_eq!(outcome.try_recv().unwrap().unwrap_err().to_string(), cause);
        }
    }
}
