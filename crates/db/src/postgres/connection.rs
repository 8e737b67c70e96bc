//! One connection with its prepared statements, and a limit on every wait.
//!
//! A connection keeps no state of its own on the server but prepared statements: which schema, read-only and the
//! timeouts are said in each statement or transaction. So a pooler may give every transaction another session.
//!
//! A statement whose caller stops waiting is stopped on the server as well: in a transaction by its own timeout, and a
//! single statement, for which no timeout can be said, by a request to cancel it.

use std::{
    cell::Cell,
    collections::HashMap,
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
    Client, Error as Refusal, Row, Statement,
    error::SqlState,
    types::{ToSql, Type},
};

use super::{
    names::Qualified,
    server::{Peer, Server},
    service::Service,
};
use crate::{Error, Value, tx::Scope, unit::after};

/// How long closing a connection may take.
const FAREWELL: Duration = Duration::from_secs(1);

pub(super) struct Connection {
    server: Arc<Server>,
    client: Client,
    peer: Peer,
    driver: JoinHandle<()>,
    runtime: Runtime,
    // By service and address: statements are `&'static str`, so the address is the text.
    statements: HashMap<(usize, usize, usize), Prepared>,
    /// Until when the first statement of a unit is to be answered.
    deadline: Cell<Option<Instant>>,
    /// Whether the server stops a statement by itself, as it does in a transaction.
    has_timeout: Cell<bool>,
    /// The server did not answer in time: it may still do so, so nothing else can be asked here.
    late: Cell<bool>,
    /// A statement was cancelled. The request may arrive late and meet the next one, so there is none.
    cancelled: Cell<bool>,
    /// How often the server had been silent, on any connection, when it last answered on this one.
    silences: Cell<u64>,
}

struct Prepared {
    qualified: Arc<Qualified>,
    /// `None`: a pooler would lose it, so its text is sent each time.
    statement: Option<Statement>,
}

impl Connection {
    pub(super) fn open(server: &Arc<Server>, deadline: Instant) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Unavailable(error.to_string()))?;
        let silences = server.silences();
        let (client, driver, peer) = match runtime.block_on(server.connect(deadline)) {
            Ok(connected) => connected,
            Err(error) => {
                // Without waiting for it: looking up the host's name may take longer than callers wait.
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
            statements: HashMap::new(),
            deadline: Cell::new(None),
            has_timeout: Cell::new(false),
            late: Cell::new(false),
            cancelled: Cell::new(false),
            silences: Cell::new(silences),
        })
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.late.get() && !self.cancelled.get()
    }

    /// Whether the server answers here. It is asked only after it was silent on another connection, and for a part of the
    /// time, so that there is enough left for a new connection.
    pub(super) fn answers(&self, deadline: Instant) -> bool {
        let silences = self.server.silences();
        if self.silences.get() == silences {
            return true;
        }
        let part = deadline.saturating_duration_since(Instant::now()) / 4;
        let probe = self.client.batch_execute("SELECT 1");
        let answered = self.runtime.block_on(async { timeout(part, probe).await });
        let answers = matches!(answered, Ok(Ok(())));
        if answers {
            self.silences.set(silences);
        } else {
            self.late.set(true);
        }
        answers
    }

    /// Makes it ready for a unit whose first statement is to be answered until then.
    pub(super) fn start(&self, deadline: Instant) {
        self.deadline.set(Some(deadline));
        self.has_timeout.set(false);
    }

    /// Whether a wait took too long.
    pub(super) fn is_late(&self) -> bool {
        self.late.get()
    }

    /// Runs statements without parameters, in one round trip.
    pub(super) fn run(&self, sql: &str) -> Result<(), Error> {
        self.wait(self.client.batch_execute(sql))
    }

    /// Begins a transaction of this kind. Its commit is durable whatever the server's default is; what waits for a lock
    /// is stopped by the server a little before we stop waiting for it; and the server ends it should we vanish.
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

    /// Rolls a transaction back. A connection that cannot is not used again.
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
            // It would wait for an answer.
            runtime.shutdown_background();
        } else {
            let _ = runtime.block_on(async { timeout(FAREWELL, driver).await });
        }
    }

    fn end(&self) -> Instant {
        self.deadline.get().unwrap_or_else(|| after(Instant::now(), self.server.wait))
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, Refusal>>) -> Result<T, Error> {
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
            Some(answer) => answer.map_err(|refusal| {
                if matches!(
                    refusal.code(),
                    Some(&SqlState::INVALID_SQL_STATEMENT_NAME | &SqlState::DUPLICATE_PSTATEMENT)
                ) {
                    self.server.loses_statements();
                }
                refusal.into()
            }),
            None => {
                self.late.set(true);
                Err(self.server.silent())
            }
        }
    }

    /// Asks the server to stop what it does for this connection, and waits for its answer, which most often says so. The
    /// request is not given up when the answer comes first: PgBouncer 1.18 crashes when its sender hangs up early.
    async fn cancel<T>(&self, answer: impl Future<Output = T>) -> T {
        self.cancelled.set(true);
        let request = self.server.cancel(self.client.cancel_token(), &self.peer);
        tokio::join!(request, answer).1
    }

    fn prepared(&mut self, service: &Service, sql: &'static str) -> Result<&Prepared, Error> {
        let key = (service.number, sql.as_ptr() as usize, sql.len());
        let named = self.server.keeps_statements();
        let known = self.statements.get(&key).is_some_and(|known| !named || known.statement.is_some());
        if !known {
            let qualified = service.statement(sql)?;
            let statement = if named { Some(self.wait(self.client.prepare(&qualified.text))?) } else { None };
            self.statements.insert(key, Prepared { qualified, statement });
        }
        Ok(&self.statements[&key])
    }
}

/// A connection while a unit of work of one service has it.
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

    /// After the first statement of a transaction, each has the whole wait for itself.
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
        // Only a transaction keeps a statement that could write from doing so.
        if self.scope == Scope::Statement && !qualified.reads {
            return Err(Error::Engine("a read has a statement that may write".into()));
        }
        Ok((statement.clone(), Arc::clone(qualified)))
    }
}

/// As PostgreSQL's settings take it, for which 0 would be no limit.
fn milliseconds(time: Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX).max(1)
}

fn borrowed<'a>(params: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn typed<'a>(params: &'a [Value<'a>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    params.iter().map(|value| (value as &(dyn ToSql + Sync), value.postgres_type())).collect()
}
