//! Threads that each own a connection, and serve the services in turn.
//!
//! Threads rather than an async pool: a unit of work is a synchronous closure with several statements, and a thread that owns
//! its connection runs them without a hand-over. A thread replaces a broken connection before its next unit.

use std::{
    io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    connection::{Connection, Session},
    fair_queue::{FairQueue, Next, WorkerState},
    pipeline,
    server::Server,
    service::Service,
};
use crate::{
    error::{Error, Failure},
    scope::Scope,
    settings::Limits,
    tx::{Engine, Tx, WriteTx},
    unit::{ReadUnit, WriteUnit},
};

/// How often a unit runs at most. Conflicts are rare and short; after this many the caller gets the error.
const TRIES: u32 = 10;

pub(super) struct Job {
    pub(super) service: Arc<Service>,
    pub(super) unit: Unit,
}

pub(super) enum Unit {
    Read(ReadUnit, Scope),
    Write(WriteUnit),
}

pub(super) struct Pool {
    pub(super) queue: Arc<FairQueue<Job>>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Pool {
    pub(super) fn start(server: &Arc<Server>, limits: Limits) -> io::Result<Self> {
        let connections = limits.connections - pipeline::number(limits);
        let queue = Arc::new(FairQueue::new(limits.queue, limits.of_group().queue, connections));
        let mut pool = Pool { queue, threads: Vec::with_capacity(connections) };
        for number in 0..connections {
            let worker = Worker { server: Arc::clone(server), connection: None, metrics: Metrics::new() };
            let queue = Arc::clone(&pool.queue);
            let thread = thread::Builder::new()
                .name(format!("postgres-{number}"))
                .spawn(move || worker.run(&queue))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.close();
        let this = thread::current().id();
        // A unit may hold the last clone of its database. Then this runs on one of the threads, which ends by itself.
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != this) {
            let _ = thread.join();
        }
    }
}

struct Worker {
    server: Arc<Server>,
    connection: Option<Connection>,
    metrics: Metrics,
}

/// The metrics of all threads together.
struct Metrics {
    open: metrics::Gauge,
    busy: metrics::Gauge,
    wait: metrics::Histogram,
}

impl Metrics {
    fn new() -> Self {
        Metrics {
            open: metrics::gauge!("triptych_db_connections", "state" => "open"),
            busy: metrics::gauge!("triptych_db_connections", "state" => "busy"),
            wait: metrics::histogram!("triptych_db_wait_seconds", "engine" => "postgres"),
        }
    }
}

/// The result of one run of a unit.
enum Attempt {
    /// The unit has its outcome.
    Done,
    /// The unit was rolled back, and a retry may succeed. The error is for the last retry, unless the unit has its own.
    Retry(Option<Error>),
    /// The unit did not happen, or it is unknown whether its commit did.
    Failed(Error),
}

impl Attempt {
    fn of(failure: Option<Failure>) -> Self {
        match failure {
            Some(Failure::Transient) => Attempt::Retry(None),
            Some(Failure::Permanent) | None => Attempt::Done,
        }
    }
}

impl Worker {
    fn run(mut self, queue: &FairQueue<Job>) {
        let (mut finished, mut state) = (None, WorkerState::default());
        while let Some(next) = queue.next(finished.take(), &mut state) {
            match next {
                Next::Job(id, Job { service, unit }) => {
                    finished = Some(id);
                    self.metrics.busy.increment(1.0);
                    self.serve(&service, unit);
                    self.metrics.busy.decrement(1.0);
                }
                Next::Left => {
                    if let Some(connection) = &mut self.connection {
                        connection.forget_closed();
                    }
                }
            }
            // After the answer: closing takes a round trip.
            let broken = self.connection.take_if(|connection| !connection.is_usable());
            self.close(broken);
        }
        let connection = self.connection.take();
        self.close(connection);
    }

    fn close(&self, connection: Option<Connection>) {
        if let Some(connection) = connection {
            connection.close();
            self.metrics.open.decrement(1.0);
        }
    }

    fn serve(&mut self, service: &Service, unit: Unit) {
        let (now, wait) = (Instant::now(), self.server.wait);
        self.metrics.wait.record(match &unit {
            Unit::Read(unit, _) => unit.waited(),
            Unit::Write(unit) => unit.waited(),
        });
        match unit {
            Unit::Read(unit, _) if unit.is_abandoned() => {}
            Unit::Write(unit) if unit.is_abandoned() => {}
            Unit::Read(unit, _) if unit.deadline(wait) <= now => unit.fail(Error::Busy),
            Unit::Write(unit) if unit.deadline(wait) <= now => unit.fail(Error::Busy),
            Unit::Read(mut unit, scope) => {
                let deadline = unit.deadline(wait);
                match self.retry(deadline, |connection| read(connection, service, &mut unit, scope)) {
                    Ok(()) => unit.answer(),
                    Err(error) => unit.fail(error),
                }
            }
            Unit::Write(mut unit) => {
                let deadline = unit.deadline(wait);
                match self.retry(deadline, |connection| write(connection, service, &mut unit)) {
                    Ok(()) => unit.answer(),
                    Err(error) => unit.fail(error),
                }
            }
        }
    }

    fn retry(
        &mut self,
        deadline: Instant,
        mut attempt: impl FnMut(&mut Connection) -> Attempt,
    ) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let connection = self.connection(deadline)?;
            connection.start(deadline);
            match attempt(connection) {
                Attempt::Done => return Ok(()),
                Attempt::Failed(error) => return Err(error),
                // No retry after a timeout: the caller has waited long enough.
                Attempt::Retry(error) if tries == TRIES || connection.is_late() => {
                    return error.map_or(Ok(()), Err);
                }
                Attempt::Retry(_) if deadline <= Instant::now() => return Err(Error::Busy),
                Attempt::Retry(_) => back_off(tries),
            }
        }
    }

    /// The thread's connection, or a new one if it is broken.
    fn connection(&mut self, deadline: Instant) -> Result<&mut Connection, Error> {
        let unusable = |connection: &mut Connection| !connection.is_usable() || !connection.answers(deadline);
        let broken = self.connection.take_if(unusable);
        self.close(broken);
        Ok(match self.connection.take() {
            Some(connection) => self.connection.insert(connection),
            None => {
                let connection = Connection::open(&self.server, deadline)?;
                self.metrics.open.increment(1.0);
                self.connection.insert(connection)
            }
        })
    }
}

fn read(connection: &mut Connection, service: &Service, unit: &mut ReadUnit, scope: Scope) -> Attempt {
    if scope == Scope::Statement {
        let session = Session::new(connection, service, scope);
        let mut tx = Tx::new(Engine::Postgres(session), scope);
        unit.run(&mut tx);
        return Attempt::of(tx.failure());
    }
    if let Err(error) = connection.begin("ISOLATION LEVEL REPEATABLE READ, READ ONLY") {
        return begin_failed(error);
    }
    let session = Session::new(connection, service, Scope::Transaction);
    let mut tx = Tx::new(Engine::Postgres(session), Scope::Transaction);
    unit.run(&mut tx);
    let failure = tx.failure();
    connection.roll_back();
    Attempt::of(failure)
}

fn write(connection: &mut Connection, service: &Service, unit: &mut WriteUnit) -> Attempt {
    // Explicit, since the server's default may differ: see the documentation of the crate.
    if let Err(error) = connection.begin("ISOLATION LEVEL READ COMMITTED, READ WRITE") {
        return begin_failed(error);
    }
    let session = Session::new(connection, service, Scope::Transaction);
    let mut tx = WriteTx::new(Engine::Postgres(session));
    let succeeded = unit.run(&mut tx);
    let failure = tx.failure();
    if succeeded {
        return match connection.run("COMMIT") {
            Ok(()) => Attempt::Done,
            Err(error @ Error::Conflict(_)) => Attempt::Retry(Some(error)),
            // The commit may have happened before the connection broke: a retry could write twice. On Citus it is the worker that
            // is lost, and the error is none of a connection.
            Err(Error::Engine(text)) => Attempt::Failed(Error::Unavailable(text)),
            Err(error) => Attempt::Failed(error),
        };
    }
    connection.roll_back();
    Attempt::of(failure)
}

fn begin_failed(error: Error) -> Attempt {
    match error {
        Error::Unavailable(_) => Attempt::Retry(Some(error)),
        Error::Busy => Attempt::Failed(error),
        // A standby rejects a transaction that writes: the server is the wrong one, not the statement.
        error => Attempt::Failed(Error::Unavailable(error.to_string())),
    }
}

fn back_off(tries: u32) {
    // About half a second in all, long enough for the other transaction to end.
    let wait = Duration::from_millis(1 << tries.min(6));
    #[expect(clippy::disallowed_methods, reason = "a database thread, which runs one unit at a time")]
    thread::sleep(wait);
}
