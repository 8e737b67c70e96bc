//! The one thread that writes. The units waiting when it wakes share one transaction and one fsync, a
//! savepoint each; nobody is answered before the commit they are part of is on the disk.

use std::{io, thread};

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
    if batch.is_empty() {
        return;
    }
    match together(connection, batch) {
        Outcome::Committed => batch.drain(..).for_each(|unit| unit.answer()),
        Outcome::Refused(error) => {
            let text = error.to_string();
            tracing::error!(error = text, units = batch.len(), "a batch could not be written");
            for unit in batch.drain(..) {
                unit.refuse(match &error {
                    Error::Busy => Error::Busy,
                    _ => Error::Unavailable(text.clone()),
                });
            }
        }
        // One unit took the whole transaction down with it (a full disk can do that, and so can a constraint
        // that is checked at the commit). Alone, each stands or falls for itself.
        Outcome::Lost => {
            for unit in batch.drain(..) {
                alone(connection, unit);
            }
        }
    }
}

enum Outcome {
    Committed,
    Refused(Error),
    Lost,
}

fn together(connection: &mut Connection, batch: &mut [WriteUnit]) -> Outcome {
    if let Err(error) = connection.run("BEGIN IMMEDIATE") {
        return Outcome::Refused(error);
    }
    for unit in batch {
        let kept = connection
            .run("SAVEPOINT unit")
            .map(|()| unit.run(&mut WriteTx::new(Engine::Sqlite(connection))));
        let closed = match kept {
            Ok(true) => connection.run("RELEASE unit"),
            Ok(false) if connection.inner.is_autocommit() => return Outcome::Lost,
            Ok(false) => connection.run("ROLLBACK TO unit").and_then(|()| connection.run("RELEASE unit")),
            Err(error) => Err(error),
        };
        if let Err(error) = closed {
            roll_back(connection);
            return Outcome::Refused(error);
        }
    }
    match commit(connection) {
        // A deferred constraint: the commit notices that it fails, and not whose fault it is.
        Outcome::Refused(Error::Constraint(_)) => Outcome::Lost,
        outcome => outcome,
    }
}

fn alone(connection: &mut Connection, mut unit: WriteUnit) {
    if let Err(error) = connection.run("BEGIN IMMEDIATE") {
        return unit.refuse(error);
    }
    let outcome = if unit.run(&mut WriteTx::new(Engine::Sqlite(connection))) {
        commit(connection)
    } else {
        roll_back(connection);
        Outcome::Committed // the closure's own error is the answer
    };
    match outcome {
        Outcome::Committed => unit.answer(),
        Outcome::Refused(error) => unit.refuse(error),
        Outcome::Lost => unit.refuse(Error::Aborted),
    }
}

fn commit(connection: &Connection) -> Outcome {
    match connection.run("COMMIT") {
        Ok(()) => Outcome::Committed,
        Err(error) => {
            roll_back(connection);
            Outcome::Refused(error)
        }
    }
}

fn roll_back(connection: &Connection) {
    if connection.inner.is_autocommit() {
        return;
    }
    if let Err(error) = connection.run("ROLLBACK") {
        tracing::error!(%error, "a transaction could not be rolled back");
    }
}
