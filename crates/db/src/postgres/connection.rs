//! One connection with its prepared statements, and a limit on every wait.
//!
//! A connection keeps no state on the server except prepared statements: each statement names its schema, and each
//! transaction sets its mode and timeouts. So a pooler may give every transaction another session.
//!
//! The server stops a statement when its caller stops waiting: in a transaction through a timeout, and a single statement,
//! which has no timeout, through a cancellation request.

use std::{
    cell::Cell,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    runtime::Runtime,
    task::JoinHandle,
    time::{timeout, timeout_at},
};
use tokio_postgres::{
    Client, Error as PostgresError, Row, Statement,
    error::SqlState,
    types::{ToSql, Type},
};

use super::{
    cancel::Peer, names::Qualified, schemas, server::Server, service::Service, statements::Statements,
};
use crate::{deadline::after, error::Error, scope::Scope, value::Value};

/// How long closing a connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) struct Connection {
    server: Arc<Server>,
    client: Client,
    peer: Peer,
    driver: JoinHandle<()>,
    runtime: Runtime,
    statements: Statements<Prepared>,
    /// The deadline of the first statement of a unit.
    deadline: Cell<Option<Instant>>,
    /// Whether the server has a timeout for the statement, as in a transaction.
    has_timeout: Cell<bool>,
    /// An answer did not arrive in time. It may still arrive, so the connection is not used again.
    late: Cell<bool>,
    /// A statement was cancelled. A late request could cancel the next statement, so the connection is not used again.
    cancelled: Cell<bool>,
    /// The number of timeouts on all connections when the server last answered on this one.
    timeouts: Cell<u64>,
}

#[derive(Clone)]
struct Prepared {
    qualified: Arc<Qualified>,
    /// `None` behind a pooler that loses prepared statements: the text is sent each time.
    statement: Option<Statement>,
}

impl Connection {
    pub(super) fn open(server: &Arc<Server>, deadline: Instant) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Unavailable(error.to_string()))?;
        let timeouts = server.timeouts();
        let (client, driver, peer) = match runtime.block_on(server.connect(deadline)) {
            Ok(connected) => connected,
            Err(error) => {
                // Does not wait for the lookup of the host's name, which may take longer than the deadline.
                runtime.shutdown_background();
                return Err(error.into());
            }
        };
        let driver = runtime.spawn(async {
            // The next statement gets the error.
            let _ = driver.await;
        });
        Ok(Connection {
            server: Arc::clone(server),
            client,
            peer,
            driver,
            runtime,
            statements: Statements::default(),
            deadline: Cell::new(None),
            has_timeout: Cell::new(false),
            late: Cell::new(false),
            cancelled: Cell::new(false),
            timeouts: Cell::new(timeouts),
        })
    }

    /// Whether it can serve another unit: it works, and has not served too many schemas.
    pub(super) fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.late.get() && !self.cancelled.get() && !self.statements.is_worn()
    }

    /// Whether the server answers on this connection. It is checked only after a timeout on another connection, and for a
    /// part of the time, so that enough is left for a new connection.
    pub(super) fn answers(&self, deadline: Instant) -> bool {
        let timeouts = self.server.timeouts();
        if self.timeouts.get() == timeouts {
            return true;
        }
        let part = deadline.saturating_duration_since(Instant::now()) / 4;
        let probe = self.client.batch_execute("SELECT 1");
        let answered = self.runtime.block_on(async { timeout(part, probe).await });
        let answers = matches!(answered, Ok(Ok(())));
        if answers {
            self.timeouts.set(timeouts);
        } else {
            self.late.set(true);
        }
        answers
    }

    /// Prepares the connection for a unit whose first statement has this deadline.
    pub(super) fn start(&self, deadline: Instant) {
        self.deadline.set(Some(deadline));
        self.has_timeout.set(false);
    }

    /// Whether an answer did not arrive in time.
    pub(super) fn is_late(&self) -> bool {
        self.late.get()
    }

    /// Runs statements without parameters, in one round trip.
    pub(super) fn run(&self, sql: &str) -> Result<(), Error> {
        self.wait(self.client.batch_execute(sql))
    }

    /// Begins a transaction of this kind. Its commit is durable, also if the server's default is another. The server cancels a
    /// statement that waits for a lock shortly before its deadline, and ends the transaction if this process stops.
    pub(super) fn begin(&self, kind: &str) -> Result<(), Error> {
        let (wait, rest) = (self.server.wait, self.end().saturating_duration_since(Instant::now()));
        let (statement, idle) = (milliseconds(rest * 4 / 5), milliseconds(wait.saturating_mul(2)));
        self.has_timeout.set(true);
        let begun = self.run(&format!(
            "BEGIN {kind}; SET LOCAL synchronous_commit TO on; SET LOCAL statement_timeout TO {statement}; \
             SET LOCAL idle_in_transaction_session_timeout TO {idle}"
        ));
        if begun.is_err() {
            self.roll_back();
        }
        begun
    }

    /// Rolls a transaction back. If that fails, the connection is not used again.
    pub(super) fn roll_back(&self) {
        self.deadline.set(None);
        if !self.client.is_closed() && !self.late.get() && self.run("ROLLBACK").is_err() {
            self.late.set(true);
        }
    }

    pub(super) fn close(self) {
        let Connection { client, driver, runtime, late, .. } = self;
        drop(client);
        if late.get() {
            // Waiting for the driver would wait for the missing answer.
            runtime.shutdown_background();
        } else {
            let _ = runtime.block_on(async { timeout(CLOSE_TIMEOUT, driver).await });
        }
    }

    fn end(&self) -> Instant {
        self.deadline.get().unwrap_or_else(|| after(Instant::now(), self.server.wait))
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, PostgresError>>) -> Result<T, Error> {
        let (now, end) = (Instant::now(), self.end());
        if end <= now {
            return Err(Error::Busy);
        }
        let cancels = !self.has_timeout.get() && self.server.can_cancel();
        let stop = if cancels { now + (end - now) * 4 / 5 } else { end };
        let answered = self.runtime.block_on(async {
            let mut answer = pin!(answer);
            match timeout_at(stop.into(), &mut answer).await {
                Ok(answer) => Some(answer),
                Err(_) if cancels => timeout_at(end.into(), self.cancel(answer)).await.ok(),
                Err(_) => None,
            }
        });
        match answered {
            Some(answer) => answer.map_err(|error| {
                if matches!(
                    error.code(),
                    Some(&SqlState::INVALID_SQL_STATEMENT_NAME | &SqlState::DUPLICATE_PSTATEMENT)
                ) {
                    self.server.loses_statements();
                }
                error.into()
            }),
            None => {
                self.late.set(true);
                Err(self.server.timed_out())
            }
        }
    }

    /// Asks the server to cancel the statement of this connection, and waits for the statement's answer, mostly an error. The
    /// request is completed even if the answer arrives first: PgBouncer 1.18 crashes when its sender closes early.
    async fn cancel<T>(&self, answer: impl Future<Output = T>) -> T {
        self.cancelled.set(true);
        let request = self.server.cancel(self.client.cancel_token(), &self.peer);
        tokio::join!(request, answer).1
    }

    fn prepared(&mut self, service: &Service, sql: &'static str) -> Result<Prepared, Error> {
        let named = self.server.keeps_statements();
        let known = self.statements.get(service, sql).filter(|known| !named || known.statement.is_some());
        if let Some(known) = known {
            return Ok(known.clone());
        }
        let qualified = service.statement(sql)?;
        let statement = if named { Some(self.wait(self.client.prepare(&qualified.text))?) } else { None };
        Ok(self.statements.insert(service, sql, Prepared { qualified, statement }).clone())
    }

    /// Closes the statements of services that were closed.
    pub(super) fn forget_closed(&mut self) {
        // The client sends that with its next request. If that fails, the next unit of work gets a new connection.
        if self.statements.forget_closed() {
            self.start(self.server.deadline());
            let _ = self.run("");
        }
    }
}

/// A connection while a unit of work of one service uses it.
pub(crate) struct Session<'c> {
    connection: &'c mut Connection,
    service: &'c Service,
    scope: Scope,
}

impl<'c> Session<'c> {
    pub(super) fn new(connection: &'c mut Connection, service: &'c Service, scope: Scope) -> Self {
        Session { connection, service, scope }
    }

    pub(crate) fn query(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        let (statement, qualified) = self.checked(sql, params)?;
        let Connection { client, .. } = &*self.connection;
        let answer = match &statement {
            Some(statement) => self.connection.wait(client.query(statement, &borrowed(params))),
            None => self.connection.wait(client.query_typed(&qualified.text, &typed(params))),
        };
        self.answered();
        answer
    }

    pub(crate) fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<u64, Error> {
        let (statement, qualified) = self.checked(sql, params)?;
        let Connection { client, .. } = &*self.connection;
        let answer = match &statement {
            Some(statement) => self.connection.wait(client.execute(statement, &borrowed(params))),
            None => self.connection.wait(client.execute_typed(&qualified.text, &typed(params))),
        };
        self.answered();
        answer
    }

    /// Runs statements that are made at run time, in one round trip. They name their schema and are not prepared.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        let answer = self.connection.run(sql);
        self.answered();
        answer
    }

    /// The rows of such a statement, as text.
    pub(crate) fn texts(&mut self, sql: &str) -> Result<Vec<Vec<String>>, Error> {
        let Connection { client, .. } = &*self.connection;
        let answer = self.connection.wait(client.simple_query(sql));
        self.answered();
        Ok(schemas::texts(&answer?))
    }

    /// After the first statement of a transaction, each statement has the full wait.
    fn answered(&self) {
        if self.scope == Scope::Transaction {
            self.connection.deadline.set(None);
        }
    }

    fn checked(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Result<(Option<Statement>, Arc<Qualified>), Error> {
        let Prepared { qualified, statement } = self.connection.prepared(self.service, sql)?;
        if qualified.parameters != params.len() {
            return Err(Error::Parameters { named: qualified.parameters, given: params.len() });
        }
        // Without a read-only transaction, nothing else prevents the write.
        if self.scope == Scope::Statement && !qualified.reads {
            return Err(Error::Engine("a read has a statement that may write".into()));
        }
        Ok((statement, qualified))
    }
}

/// A duration for PostgreSQL's settings, in which 0 means no limit.
fn milliseconds(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX).max(1)
}

pub(super) fn borrowed<'a>(params: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn typed<'a>(params: &'a [Value<'a>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    params.iter().map(|value| (value as &(dyn ToSql + Sync), value.postgres_type())).collect()
}
