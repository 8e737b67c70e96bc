//! PostgreSQL: one pool of threads for all services of a process, each thread owning one connection and its prepared
//! statements.

mod address;
mod cancel;
mod connection;
mod migrate;
mod names;
mod passfile;
mod pool;
mod server;
mod service;
mod tls;
mod turns;

use std::{sync::Arc, thread};

pub(crate) use connection::Session;

use crate::{
    Error, Limits, OpenError,
    migration::Migrations,
    tx::Scope,
    unit::{ReadUnit, WriteUnit},
};
use pool::{Job, Pool, Work};
use server::Server;
use service::Service;
use turns::Member;

/// A server, and the connections of this process to it.
#[derive(Clone)]
pub(crate) struct Shared {
    server: Arc<Server>,
    pool: Arc<Pool>,
}

impl Shared {
    pub(crate) fn open(url: &str, limits: Limits) -> Result<Self, OpenError> {
        let server = Arc::new(Server::new(url, limits.wait)?);
        block_on(server.wait_for(limits.start))?;
        let pool = Pool::start(&server, limits)
            .map_err(|error| OpenError::new(&format!("cannot start the database threads: {error}")))?;
        Ok(Shared { server, pool: Arc::new(pool) })
    }

    /// Opens a service's schema, and brings it up to date.
    pub(crate) fn service(
        &self,
        schema: &'static str,
        migrations: &[Migrations],
    ) -> Result<Postgres, OpenError> {
        let tables = block_on(async {
            let (mut client, driver, _) = self.server.connect(self.server.deadline()).await?;
            let driver = tokio::spawn(driver);
            let tables = migrate::migrate(&mut client, schema, migrations).await;
            drop(client);
            let _ = driver.await;
            tables.map_err(|why| OpenError::new(&format!("cannot prepare the schema {schema}: {why}")))
        })?;
        let mut names: Vec<_> = tables.iter().cloned().collect();
        names.sort_unstable();
        let service = Arc::new(Service::new(schema, tables));
        Ok(Postgres { service, tables: names, member: self.pool.turns.join(), pool: Arc::clone(&self.pool) })
    }
}

/// On a thread of its own: a caller may have a runtime already, and one may not be inside another.
fn block_on<T: Send>(work: impl Future<Output = Result<T, OpenError>> + Send) -> Result<T, OpenError> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| OpenError::new(&error.to_string()))?;
        runtime.block_on(work)
    };
    let done = thread::scope(|scope| scope.spawn(run).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A service's schema.
pub(crate) struct Postgres {
    service: Arc<Service>,
    tables: Vec<String>,
    member: Member,
    pool: Arc<Pool>,
}

impl Postgres {
    pub(crate) fn read(&self, unit: ReadUnit, scope: Scope) -> Result<(), Error> {
        self.submit(Work::Read(unit, scope))
    }

    pub(crate) fn write(&self, unit: WriteUnit) -> Result<(), Error> {
        self.submit(Work::Write(unit))
    }

    pub(crate) fn tables(&self) -> &[String] {
        &self.tables
    }

    fn submit(&self, work: Work) -> Result<(), Error> {
        let job = Job { service: Arc::clone(&self.service), work };
        self.pool.turns.submit(self.member, job).map_err(|_| Error::Busy)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.pool.turns.leave(self.member);
    }
}
