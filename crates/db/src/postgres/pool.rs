//! Threads that each own a connection, and the queue they share.
//!
//! Threads rather than an async pool: a unit of work is a synchronous closure that asks several times, and a
//! thread that owns its connection asks without any hand-over in between. A connection that is lost is made
//! anew by its thread for the next unit.

use std::{
    any::TypeId,
    io, thread,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use postgres::Config;

use super::Connection;
use crate::{
    Error, Tx, WriteTx,
    sites::Sites,
    tx::{Engine, Failure, Scope},
    unit::{ReadUnit, WriteUnit},
};

/// How often a unit is run at the most. Conflicts are rare and short; one that loses this often is told so.
const TRIES: u32 = 10;

pub(super) enum Job {
    Read(ReadUnit, TypeId),
    Write(WriteUnit),
}

pub(super) struct Pool {
    queue: Option<Sender<Job>>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Pool {
    pub(super) fn start(
        config: &Config,
        schema: &'static str,
        threads: usize,
        queue: usize,
        sites: &Sites,
    ) -> io::Result<Self> {
        let (sender, receiver) = bounded(queue);
        let mut pool = Pool { queue: Some(sender), threads: Vec::with_capacity(threads) };
        for number in 0..threads {
            let worker = Worker { config: config.clone(), schema, sites: sites.clone(), connection: None };
            let queue = receiver.clone();
            let thread = thread::Builder::new()
                .name(format!("postgres-{schema}-{number}"))
                .spawn(move || worker.run(&queue))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    pub(super) fn submit(&self, job: Job) -> Result<(), Error> {
        let Some(queue) = &self.queue else { return Err(Error::Busy) };
        queue.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => Error::Busy,
            TrySendError::Disconnected(_) => Error::Unavailable("the database threads have ended".into()),
        })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue = None;
        let this = thread::current().id();
        // A unit may hold the last clone of its database, and then this is one of its threads, which ends by itself.
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != this) {
            let _ = thread.join();
        }
    }
}

struct Worker {
    config: Config,
    schema: &'static str,
    sites: Sites,
    connection: Option<Connection>,
}

/// What became of one run of a unit.
enum Attempt {
    /// The unit has its outcome.
    Done,
    /// Nothing of it happened, and running it again may go better. The error is for when it does not, unless the
    /// unit has one of its own.
    Again(Option<Error>),
    /// It did not happen, or nobody can know whether it did.
    Failed(Error),
}

impl Worker {
    fn run(mut self, queue: &Receiver<Job>) {
        while let Ok(job) = queue.recv() {
            match job {
                Job::Read(unit, _) if unit.abandoned() => {}
                Job::Write(unit) if unit.abandoned() => {}
                Job::Read(unit, _) if !unit.still_wanted(Instant::now()) => unit.refuse(Error::Busy),
                Job::Write(unit) if !unit.still_wanted(Instant::now()) => unit.refuse(Error::Busy),
                Job::Read(mut unit, site) => {
                    match self.repeat(|worker, connection| worker.read(connection, &mut unit, site)) {
                        Ok(()) => unit.answer(),
                        Err(error) => unit.refuse(error),
                    }
                }
                Job::Write(mut unit) => match self.repeat(|_, connection| write(connection, &mut unit)) {
                    Ok(()) => unit.answer(),
                    Err(error) => unit.refuse(error),
                },
            }
        }
    }

    fn repeat(&mut self, mut attempt: impl FnMut(&Self, &mut Connection) -> Attempt) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let mut connection = match self.connection.take() {
                Some(connection) if !connection.is_closed() => connection,
                _ => Connection::open(&self.config, self.schema)?,
            };
            let outcome = attempt(self, &mut connection);
            if !connection.is_closed() {
                self.connection = Some(connection);
            }
            match outcome {
                Attempt::Done => return Ok(()),
                Attempt::Failed(error) => return Err(error),
                Attempt::Again(error) if tries == TRIES => return error.map_or(Ok(()), Err),
                Attempt::Again(_) => back_off(tries),
            }
        }
    }

    fn read(&self, connection: &mut Connection, unit: &mut ReadUnit, site: TypeId) -> Attempt {
        if self.sites.scope(site) == Scope::Statement {
            let mut tx = Tx::new(Engine::Postgres(connection), Scope::Statement);
            unit.run(&mut tx);
            match tx.failure() {
                Some(Failure::NeedsSnapshot) => self.sites.need_snapshot(site),
                Some(failure) if failure.passes() => return Attempt::Again(None),
                _ => return Attempt::Done,
            }
        }
        if let Err(error) = connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY") {
            return begin_failed(error);
        }
        let mut tx = Tx::new(Engine::Postgres(connection), Scope::Transaction);
        unit.run(&mut tx);
        let failure = tx.failure();
        // A connection that cannot even roll back is closed, and replaced before the next unit.
        let _ = connection.run("ROLLBACK");
        match failure {
            Some(failure) if failure.passes() => Attempt::Again(None),
            _ => Attempt::Done,
        }
    }
}

fn write(connection: &mut Connection, unit: &mut WriteUnit) -> Attempt {
    if let Err(error) = connection.run("BEGIN READ WRITE") {
        return begin_failed(error);
    }
    let mut tx = WriteTx::new(Engine::Postgres(connection));
    let fine = unit.run(&mut tx);
    let failure = tx.failure();
    if fine {
        return match connection.run("COMMIT") {
            Ok(()) => Attempt::Done,
            Err(error @ Error::Conflict(_)) => Attempt::Again(Some(error)),
            // The commit may have happened before the connection broke: running it again could do it twice.
            Err(error) => Attempt::Failed(error),
        };
    }
    let _ = connection.run("ROLLBACK");
    match failure {
        Some(failure) if failure.passes() => Attempt::Again(None),
        _ => Attempt::Done,
    }
}

fn begin_failed(error: Error) -> Attempt {
    match error {
        Error::Unavailable(_) => Attempt::Again(Some(error)),
        // A standby refuses to begin a write. That is where we are connected to, not what we asked for.
        error => Attempt::Failed(Error::Unavailable(error.to_string())),
    }
}

impl Failure {
    /// Whether running the unit again may go better: a conflict, or a connection that broke before the commit.
    fn passes(self) -> bool {
        matches!(self, Failure::Conflict | Failure::Unavailable)
    }
}

fn back_off(tries: u32) {
    // Grows to about half a second in all, long enough for whoever won to be done.
    let wait = Duration::from_millis(1 << tries.min(6));
    #[expect(clippy::disallowed_methods, reason = "a database thread, which serves nobody meanwhile")]
    thread::sleep(wait);
}
