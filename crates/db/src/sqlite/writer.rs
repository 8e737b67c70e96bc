//! The one thread that writes. The units waiting when it wakes share one transaction and one fsync; nobody is
//! answered before the commit they are part of is on the disk.
//!
//! A unit that fails takes nothing with it. A savepoint around each would see to that, but costs as much as a
//! small write, and nearly every unit succeeds or fails before it has changed anything. So a batch is first run
//! without them, and anew with them when one of its units fails after it has changed something.

use std::{io, iter, thread};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use super::Connection;
use crate::{Error, WriteTx, tx::Engine, unit::WriteUnit};

/// Enough to spread an fsync thin; few enough that the first of a batch does not wait long for the last.
const LARGEST_BATCH: usize = 256;

pub(super) struct Writer {
    queue: Option<Sender<WriteUnit>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection, queue: usize) -> io::Result<Self> {
        let (sender, receiver) = bounded(queue);
        let thread =
            thread::Builder::new().name("sqlite-writer".into()).spawn(move || run(connection, &receiver))?;
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
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(mut connection: Connection, queue: &Receiver<WriteUnit>) {
    let mut batch = Vec::with_capacity(LARGEST_BATCH);
    while let Ok(first) = queue.recv() {
        batch.push(first);
        batch.extend(queue.try_iter().take(LARGEST_BATCH - 1));
        metrics::histogram!("triptych_db_batch_units", "engine" => "sqlite").record(batch.len() as f64);
        write(&mut connection, &mut batch);
    }
}

/// Writes a batch and answers each of its units; `batch` is empty afterwards.
fn write(connection: &mut Connection, batch: &mut Vec<WriteUnit>) {
    batch.retain_mut(|unit| !unit.abandoned());
    let late: Vec<_> = batch.extract_if(.., |unit| !unit.still_wanted()).collect();
    for unit in late {
        unit.refuse(Error::Busy);
    }
    match together(connection, batch) {
        Ok(()) => batch.drain(..).for_each(|unit| unit.answer()),
        Err(Setback::Refused(error)) => refuse(batch.drain(..), &error),
        Err(Setback::Spoilt) => batch.drain(..).for_each(|unit| alone(connection, unit)),
    }
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

fn together(connection: &mut Connection, batch: &mut [WriteUnit]) -> Result<(), Setback> {
    match batch {
        [] => Ok(()),
        [_] => Err(Setback::Spoilt),
        batch => transaction(connection, batch, unguarded).or_else(|setback| match setback {
            Setback::Spoilt => transaction(connection, batch, guarded),
            refused => Err(refused),
        }),
    }
}

fn transaction(
    connection: &mut Connection,
    batch: &mut [WriteUnit],
    run: impl Fn(&mut Connection, &mut WriteUnit) -> Result<(), Setback>,
) -> Result<(), Setback> {
    connection.run("BEGIN IMMEDIATE").map_err(Setback::Refused)?;
    let done = batch.iter_mut().try_for_each(|unit| run(connection, unit));
    let done = done.and_then(|()| {
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
