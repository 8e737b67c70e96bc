//! Threads that each own a connection, and take turns among the services.
//!
//! Threads rather than an async pool: a unit of work is a synchronous closure that asks several times, and a
//! thread that owns its connection asks without any hand-over in between. A connection that is lost is made
//! anew by its thread for the next unit.

use std::{
    io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    connection::{Connection, Session},
    server::Server,
    service::Service,
    turns::Turns,
};
use crate::{
    Error, Limits, Tx, WriteTx,
    tx::{Engine, Failure, Scope},
    unit::{ReadUnit, WriteUnit},
};

/// How often a unit is run at the most. Conflicts are rare and short; one that loses this often is told so.
const TRIES: u32 = 10;

pub(super) struct Job {
    pub(super) service: Arc<Service>,
    pub(super) work: Work,
}

pub(super) enum Work {
    Read(ReadUnit, Scope),
    Write(WriteUnit),
}

pub(super) struct Pool {
    pub(super) turns: Arc<Turns<Job>>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Pool {
    pub(super) fn start(server: &Arc<Server>, limits: Limits) -> io::Result<Self> {
        let turns = Arc::new(Turns::new(limits.queue, limits.connections));
        let mut pool = Pool { turns, threads: Vec::with_capacity(limits.connections) };
        for number in 0..limits.connections {
            let worker = Worker { server: Arc::clone(server), connection: None };
            let turns = Arc::clone(&pool.turns);
            let thread = thread::Builder::new()
                .name(format!("postgres-{number}"))
                .spawn(move || worker.run(&turns))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.turns.close();
        let this = thread::current().id();
        // A unit may hold the last clone of its database, and then this is one of its threads, which ends by itself.
        for thread in self.threads.drain(..).filter(|thread| thread.thread().id() != this) {
            let _ = thread.join();
        }
    }
}

struct Worker {
    server: Arc<Server>,
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
    fn run(mut self, turns: &Turns<Job>) {
        let mut finished = None;
        while let Some((member, Job { service, work })) = turns.next(finished) {
            finished = Some(member);
            self.serve(&service, work);
            // After the answer: closing takes a round trip.
            if let Some(spent) = self.connection.take_if(|connection| !connection.is_usable()) {
                spent.close();
            }
        }
        if let Some(connection) = self.connection {
            connection.close();
        }
    }

    fn serve(&mut self, service: &Service, work: Work) {
        let (now, wait) = (Instant::now(), self.server.wait);
        match work {
            Work::Read(unit, _) if unit.abandoned() => {}
            Work::Write(unit) if unit.abandoned() => {}
            Work::Read(unit, _) if unit.deadline(wait) <= now => unit.refuse(Error::Busy),
            Work::Write(unit) if unit.deadline(wait) <= now => unit.refuse(Error::Busy),
            Work::Read(mut unit, scope) => {
                let deadline = unit.deadline(wait);
                match self.repeat(deadline, |connection| read(connection, service, &mut unit, scope)) {
                    Ok(()) => unit.answer(),
                    Err(error) => unit.refuse(error),
                }
            }
            Work::Write(mut unit) => {
                let deadline = unit.deadline(wait);
                match self.repeat(deadline, |connection| write(connection, service, &mut unit)) {
                    Ok(()) => unit.answer(),
                    Err(error) => unit.refuse(error),
                }
            }
        }
    }

    fn repeat(
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
                // One timeout per unit: its caller is waiting.
                Attempt::Again(error) if tries == TRIES || connection.is_late() => {
                    return error.map_or(Ok(()), Err);
                }
                Attempt::Again(_) if deadline <= Instant::now() => return Err(Error::Busy),
                Attempt::Again(_) => back_off(tries),
            }
        }
    }

    /// The thread's connection, or a new one in its place.
    fn connection(&mut self, deadline: Instant) -> Result<&mut Connection, Error> {
        let unusable = |connection: &mut Connection| !connection.is_usable() || !connection.answers(deadline);
        if let Some(spent) = self.connection.take_if(unusable) {
            spent.close();
        }
        Ok(match self.connection.take() {
            Some(connection) => self.connection.insert(connection),
            None => self.connection.insert(Connection::open(&self.server, deadline)?),
        })
    }
}

fn read(connection: &mut Connection, service: &Service, unit: &mut ReadUnit, scope: Scope) -> Attempt {
    if scope == Scope::Statement {
        let session = Session::new(connection, service, scope);
        let mut tx = Tx::new(Engine::Postgres(session), scope);
        unit.run(&mut tx);
        return match tx.failure() {
            Some(failure) if failure.passes() => Attempt::Again(None),
            _ => Attempt::Done,
        };
    }
    if let Err(error) = connection.begin("ISOLATION LEVEL REPEATABLE READ, READ ONLY") {
        return begin_failed(error);
    }
    let session = Session::new(connection, service, Scope::Transaction);
    let mut tx = Tx::new(Engine::Postgres(session), Scope::Transaction);
    unit.run(&mut tx);
    let failure = tx.failure();
    // A connection that cannot even roll back is closed, and replaced before the next unit.
    connection.roll_back();
    match failure {
        Some(failure) if failure.passes() => Attempt::Again(None),
        _ => Attempt::Done,
    }
}

fn write(connection: &mut Connection, service: &Service, unit: &mut WriteUnit) -> Attempt {
    // At this isolation whatever the server's default is: see the crate's documentation.
    if let Err(error) = connection.begin("ISOLATION LEVEL READ COMMITTED, READ WRITE") {
        return begin_failed(error);
    }
    let session = Session::new(connection, service, Scope::Transaction);
    let mut tx = WriteTx::new(Engine::Postgres(session));
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
    connection.roll_back();
    match failure {
        Some(failure) if failure.passes() => Attempt::Again(None),
        _ => Attempt::Done,
    }
}

fn begin_failed(error: Error) -> Attempt {
    match error {
        Error::Unavailable(_) => Attempt::Again(Some(error)),
        Error::Busy => Attempt::Failed(error),
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
