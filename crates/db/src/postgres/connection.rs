//! One connection with its prepared statements, and a limit on every wait.
//!
//! A connection keeps no state of its own on the server but prepared statements: which schema, read-only and the
//! timeouts are said in each statement or transaction. So a pooler may give every transaction another session.

use std::{cell::Cell, collections::HashMap, sync::Arc, time::Duration};

use tokio::{runtime::Runtime, task::JoinHandle};
use tokio_postgres::{
    Client, Error as Refusal, Row, Statement,
    error::SqlState,
    types::{ToSql, Type},
};

use super::{names::Qualified, server::Server, service::Service};
use crate::{Error, Value, tx::Scope};

/// How long closing a connection may take, or cancelling a statement on the server.
const FAREWELL: Duration = Duration::from_secs(1);

pub(super) struct Connection {
    server: Arc<Server>,
    client: Client,
    driver: JoinHandle<()>,
    runtime: Runtime,
    // By service and address: statements are `&'static str`, so the address is the text.
    statements: HashMap<(usize, usize, usize), Prepared>,
    /// The server did not answer in time: it may still do so, so nothing else can be asked here.
    late: Cell<bool>,
    /// How often the server had been silent when this was made.
    silences: u64,
}

struct Prepared {
    qualified: Arc<Qualified>,
    /// `None`: a pooler would lose it, so its text is sent each time.
    statement: Option<Statement>,
}

impl Connection {
    pub(super) fn open(server: &Arc<Server>) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Unavailable(error.to_string()))?;
        let silences = server.silences();
        let (client, driver) = match runtime.block_on(server.connect()) {
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
        let (server, statements, late) = (Arc::clone(server), HashMap::new(), Cell::new(false));
        Ok(Connection { server, client, driver, runtime, statements, late, silences })
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.late.get() && self.silences == self.server.silences()
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
        let wait = self.server.wait.as_millis();
        let (statement, idle) = ((wait * 4 / 5).max(1), wait.max(1) * 2);
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
        if !self.client.is_closed() && !self.late.get() && self.run("ROLLBACK").is_err() {
            self.late.set(true);
        }
    }

    pub(super) fn close(self) {
        let Connection { server, client, driver, runtime, late, .. } = self;
        let cancel = late.get().then(|| client.cancel_token());
        drop(client);
        runtime.block_on(async {
            let done = async {
                match cancel {
                    Some(cancel) => server.cancel(cancel).await,
                    None => drop(driver.await),
                }
            };
            let _ = tokio::time::timeout(FAREWELL, done).await;
        });
    }

    fn wait<T>(&self, answer: impl Future<Output = Result<T, Refusal>>) -> Result<T, Error> {
        match self.runtime.block_on(async { tokio::time::timeout(self.server.wait, answer).await }) {
            Ok(answer) => answer.map_err(|refusal| {
                if matches!(
                    refusal.code(),
                    Some(&SqlState::INVALID_SQL_STATEMENT_NAME | &SqlState::DUPLICATE_PSTATEMENT)
                ) {
                    self.server.loses_statements();
                }
                refusal.into()
            }),
            Err(_) => {
                self.late.set(true);
                Err(self.server.silent())
            }
        }
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
        match &statement {
            Some(statement) => self.connection.wait(client.query(statement, &borrowed(params))),
            None => self.connection.wait(client.query_typed(&qualified.text, &typed(params))),
        }
    }

    pub(crate) fn execute(&mut self, sql: &'static str, params: &[Value<'_>]) -> Result<u64, Error> {
        let (statement, qualified) = self.checked(sql, params)?;
        let Connection { client, .. } = &*self.connection;
        match &statement {
            Some(statement) => self.connection.wait(client.execute(statement, &borrowed(params))),
            None => self.connection.wait(client.execute_typed(&qualified.text, &typed(params))),
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
            return Err(Error::NeedsSnapshot);
        }
        Ok((statement.clone(), Arc::clone(qualified)))
    }
}

fn borrowed<'a>(params: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn typed<'a>(params: &'a [Value<'a>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    params.iter().map(|value| (value as &(dyn ToSql + Sync), value.postgres_type())).collect()
}
