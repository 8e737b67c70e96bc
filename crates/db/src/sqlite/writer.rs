//! The one thread that writes. The units that come while it is at it share one transaction and one fsync;
//! nobody is answered before the commit they are part of is on the disk.
//!
//! A unit that fails takes nothing with it. A savepoint around each would see to that, but costs as much as a
//! small write, and nearly every unit succeeds or fails before it has changed anything. So a batch is first
//! run without them, and anew with them when one of its units fails after it may have changed something.

use std::{
    io, iter, thread,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::Connection;
use crate::{Error, Limits, WriteTx, tx::Engine, unit::WriteUnit};

/// Enough to spread an fsync thin; few enough that the first of a batch does not wait long for the last.
const LARGEST_BATCH: usize = 256;

/// How long a batch waits for those who are expected: less than any disk takes for an fsync.
const LINGER: Duration = Duration::from_micros(50);

pub(super) struct Writer {
    queue: Option<Sender<WriteUnit>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, limits: Limits) -> io::Result<Self> {
        let (sender, receiver) = bounded(limits.queue);
        let thread = thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || run(connection, &receiver, limits.wait))?;
        Ok(Writer { queue: Some(sender), thread: Some(thread) })
    }

    pub(super) fn submit(&self, unit: WriteUnit) -> Result<(), Error> {
        let Some(queue) = &self.queue else { return Err(Error::Busy) };
        queue.try_send(unit).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => Error::Unavailable("the writer thread has ended".into()),
        })
    }
}

impl Drop for Writer {
    /// What is queued is still written; the file is closed when this returns.
    fn drop(&mut self) {
        self.queue = None;
        // A unit may hold the last clone of its database, and then this is the writer's own thread, which ends by itself.
        let others = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id());
        if let Some(thread) = others {
            let _ = thread.join();
        }
    }
}

fn run(mut connection: Connection, queue: &Receiver<WriteUnit>, patience: Duration) {
    let mut batch = Batch {
        queue,
        units: Vec::with_capacity(LARGEST_BATCH),
        start: Instant::now(),
        patience,
        expected: 0,
    };
    while batch.begin() {
        write(&mut connection, &mut batch);
    }
}

/// The units of one commit. Each is taken out of the queue when those before it have run.
struct Batch<'q> {
    queue: &'q Receiver<WriteUnit>,
    units: Vec<WriteUnit>,
    start: Instant,
    /// How long a unit may have waited.
    patience: Duration,
    /// How many there were the last time, with those who came too late for it.
    expected: usize,
}

impl Batch<'_> {
    /// Waits for a first unit; `false` when none will come any more.
    fn begin(&mut self) -> bool {
        let first = self.queue.recv();
        self.start = Instant::now();
        first.map(|unit| self.take(unit)).is_ok()
    }

    /// The next unit, if one is queued. Waits a little for as many as there were the last time: those who
    /// were just answered are often about to ask again, and would otherwise miss every other batch by a hair.
    /// Who is alone never waits.
    fn next(&mut self) -> Option<&mut WriteUnit> {
        let (taken, mut waiting) = (self.units.len(), None);
        while self.units.len() == taken && taken < LARGEST_BATCH {
            match self.queue.try_recv() {
                Ok(unit) => self.take(unit),
                Err(_) if taken >= self.expected => return None,
                Err(_) if waiting.get_or_insert_with(Instant::now).elapsed() > LINGER => return None,
                Err(_) => thread::yield_now(),
            }
        }
        self.units.get_mut(taken)
    }

    /// Takes a unit in, unless it is too late for it.
    fn take(&mut self, unit: WriteUnit) {
        if unit.abandoned() {
            return;
        }
        if self.start < unit.deadline(self.patience) {
            self.units.push(unit);
        } else {
            unit.refuse(Error::Busy);
        }
    }
}

/// Writes a batch and answers each of its units.
fn write(connection: &mut Connection, batch: &mut Batch<'_>) {
    let done = match at_once(connection, batch) {
        Err(Setback::Spoilt) if batch.units.len() > 1 => transaction(connection, |connection| {
            batch.units.iter_mut().try_for_each(|unit| guarded(connection, unit))
        }),
        done => done,
    };
    let size = batch.units.len();
    metrics::histogram!("triptych_db_batch_units", "engine" => "sqlite").record(size as f64);
    let units = batch.units.drain(..);
    match done {
        Ok(()) => units.for_each(|unit| unit.answer()),
        Err(Setback::Refused(error)) => refuse(units, &error),
        Err(Setback::Spoilt) => units.for_each(|unit| alone(connection, unit)),
    }
    batch.expected = size + batch.queue.len();
}

/// Tells them that the database took nothing of theirs.
fn refuse(units: impl ExactSizeIterator<Item = WriteUnit>, error: &Error) {
    let text = error.to_string();
    tracing::error!(error = text, units = units.len(), "a batch could not be written");
    for unit in units {
        unit.refuse(match error {
            Error::Busy => Error::Busy,
            _ => Error::Unavailable(text.clone()),
        });
    }
}

/// Why a batch was rolled back.
enum Setback {
    /// Nothing is to be had from the database.
    Refused(Error),
    /// One unit took the others down with it.
    Spoilt,
}

fn at_once(connection: &mut Connection, batch: &mut Batch<'_>) -> Result<(), Setback> {
    if batch.units.is_empty() {
        return Ok(());
    }
    transaction(connection, |connection| {
        let mut next = batch.units.last_mut();
        while let Some(unit) = next {
            unguarded(connection, unit)?;
            next = batch.next();
        }
        Ok(())
    })
}

fn transaction(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<(), Setback>,
) -> Result<(), Setback> {
    connection.run("BEGIN IMMEDIATE").map_err(Setback::Refused)?;
    let done = work(connection).and_then(|()| {
        connection.run("COMMIT").map_err(|error| match error {
            // A deferred constraint: the commit notices that it fails, and not whose fault it is.
            Error::Constraint(_) => Setback::Spoilt,
            error => Setback::Refused(error),
        })
    });
    if done.is_err() {
        roll_back(connection);
    }
    done
}

fn unguarded(connection: &mut Connection, unit: &mut WriteUnit) -> Result<(), Setback> {
    let before = connection.writes;
    let fine = unit.run(&mut WriteTx::new(Engine::Sqlite(connection)));
    if fine || (connection.writes == before && !is_lost(connection)) { Ok(()) } else { Err(Setback::Spoilt) }
}

fn guarded(connection: &mut Connection, unit: &mut WriteUnit) -> Result<(), Setback> {
    connection.run("SAVEPOINT unit").map_err(Setback::Refused)?;
    let fine = unit.run(&mut WriteTx::new(Engine::Sqlite(connection)));
    if !fine && is_lost(connection) {
        return Err(Setback::Spoilt);
    }
    let undone = if fine { Ok(()) } else { connection.run("ROLLBACK TO unit") };
    undone.and_then(|()| connection.run("RELEASE unit")).map_err(Setback::Refused)
}

/// Alone, each stands or falls for itself.
fn alone(connection: &mut Connection, mut unit: WriteUnit) {
    let done = connection.run("BEGIN IMMEDIATE").and_then(|()| {
        let fine = unit.run(&mut WriteTx::new(Engine::Sqlite(connection)));
        if fine { connection.run("COMMIT") } else { Ok(()) }
    });
    roll_back(connection);
    match done {
        Ok(()) => unit.answer(),
        Err(error @ Error::Constraint(_)) => unit.refuse(error),
        Err(error) => refuse(iter::once(unit), &error),
    }
}

/// Whether SQLite itself rolled the transaction back (a full disk can make it).
fn is_lost(connection: &Connection) -> bool {
    connection.inner.is_autocommit()
}

/// Ends a transaction that is still open.
fn roll_back(connection: &Connection) {
    if is_lost(connection) {
        return;
    }
    if let Err(error) = connection.run("ROLLBACK") {
        tracing::error!(%error, "a transaction could not be rolled back");
    }
}
