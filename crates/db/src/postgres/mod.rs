//! PostgreSQL: one pool of threads for all services of a process, each thread owning one connection and its prepared
//! statements; and connections that reads of one statement share.

mod address;
mod cancel;
pub(crate) mod connection;
mod durability;
mod fair_queue;
mod migrate;
mod names;
mod passfile;
mod pipeline;
mod pool;
mod replica;
mod schemas;
mod server;
mod service;
mod statements;
mod tls;
mod transfer;
mod workers;

use std::{
    sync::{Arc, atomic::Ordering},
    thread,
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_postgres::Client;

use crate::{
    error::{Error, OpenError},
    migration::Migrations,
    scope::Scope,
    settings::Limits,
    transfer::{Digests, Sink, Source, TransferError},
    tx::{Engine, Tx},
    unit::{ReadUnit, WriteUnit, run_caught},
};
use fair_queue::QueueId;
use pipeline::Pipelines;
use pool::{Job, Pool, Unit};
pub(crate) use replica::Replica;
use replica::ReplicaServer;
use server::Server;
use service::Service;
use workers::{WorkerServer, Workers};

/// A server, and the connections of this process to it.
#[derive(Clone)]
pub(crate) struct Shared {
    server: Arc<Server>,
    pool: Arc<Pool>,
    pipelines: Arc<Pipelines>,
    /// Permits for the connections that open, copy and remove schemas, which are not of the pool.
    openings: Arc<Semaphore>,
    /// Permits of all groups for reads over shared connections.
    group_reads: Arc<Semaphore>,
    replica: Option<ReplicaServer>,
    workers: Option<Arc<Workers>>,
}

/// How many schemas are opened, copied and removed at once.
const OPENINGS: usize = 4;

impl Shared {
    pub(crate) fn open(url: &str, limits: Limits) -> Result<Self, OpenError> {
        let server = Arc::new(Server::new(url, limits.wait)?);
        block_on(|| server.wait_for(limits.start))?;
        let pool = Pool::start(&server, limits)
            .map_err(|error| OpenError::new(&format!("cannot start the database threads: {error}")))?;
        let pipelines = Pipelines::new(&server, limits);
        Ok(Shared {
            server,
            pool: Arc::new(pool),
            pipelines,
            openings: Arc::new(Semaphore::new(OPENINGS)),
            group_reads: Arc::new(Semaphore::new(service::IN_FLIGHT)),
            replica: None,
            workers: None,
        })
    }

    /// Logs a warning if a crash of the server can lose acknowledged writes.
    pub(crate) fn check_durability(&self) -> Result<(), OpenError> {
        self.with_client(
            async |client| durability::check(client).await,
            |why| format!("cannot read the settings of PostgreSQL: {why}"),
        )
    }

    /// The same with a replica, on which reads that may be stale run.
    pub(crate) async fn with_replica(self, url: &str, limits: Limits) -> Result<Self, OpenError> {
        Ok(Shared { replica: Some(ReplicaServer::open(url, limits).await?), ..self })
    }

    /// The same, with the statements of each schema sent straight to the worker of Citus that has it.
    pub(crate) fn with_workers(self, limits: Limits) -> Self {
        Shared { workers: Some(Arc::new(Workers::new(limits))), ..self }
    }

    /// Whether no schema is open, and no unit of one that was closed still runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.pool.queue.is_empty()
    }

    /// Makes a schema as a copy of another one.
    pub(crate) fn copy(&self, from: &str, to: &str, migrations: &[Migrations]) -> Result<(), OpenError> {
        let wait = self.server.wait;
        self.with_client(
            async |client| schemas::copy(client, from, to, migrations, wait).await,
            |why| format!("cannot make the schema {to}: {why}"),
        )
    }

    /// Removes all schemas whose name is this prefix and a name without an underscore.
    pub(crate) fn remove(&self, prefix: &str) -> Result<(), OpenError> {
        let wait = self.server.wait;
        self.with_client(
            async |client| schemas::remove(client, prefix, wait).await,
            |why| format!("cannot remove the schemas {prefix}…: {why}"),
        )
    }

    /// All schemas with this prefix.
    pub(crate) fn schemas(&self, prefix: &str) -> Result<Vec<String>, OpenError> {
        let wait = self.server.wait;
        self.with_client(
            async |client| schemas::with_prefix(client, prefix, wait).await,
            |why| format!("cannot list the schemas: {why}"),
        )
    }

    /// Whether a schema was opened before.
    pub(crate) fn is_migrated(&self, schema: &str) -> Result<bool, OpenError> {
        self.with_client(
            async |client| transfer::is_migrated(client, schema).await,
            |why| format!("cannot read the schema {schema}: {why}"),
        )
    }

    /// Reads all rows of a schema.
    pub(crate) fn export(&self, schema: &str, sink: &mut Sink<'_>) -> Result<Digests, TransferError> {
        self.with_client(async |client| Ok(transfer::export(client, schema, sink).await), |why| why)?
    }

    /// Makes a schema of the rows of another database.
    pub(crate) fn import(
        &self,
        schema: &str,
        migrations: &[Migrations],
        source: &mut Source<'_>,
    ) -> Result<Digests, TransferError> {
        let import =
            async |client: &mut Client| Ok(transfer::import(client, schema, migrations, source).await);
        self.with_client(import, |why| why)?
    }

    /// Runs a task over a connection of its own. Few do so at once.
    fn with_client<T: Send>(
        &self,
        run: impl AsyncFnOnce(&mut Client) -> Result<T, String> + Send,
        failed: impl FnOnce(String) -> String + Send,
    ) -> Result<T, OpenError> {
        block_on(move || async move {
            let _permit = self.openings.acquire().await;
            let (mut client, driver, _) = self.server.connect(self.server.deadline()).await?;
            let driver = tokio::spawn(driver);
            let done = run(&mut client).await;
            drop(client);
            let _ = driver.await;
            done.map_err(|why| OpenError::new(&failed(why)))
        })
    }

    /// Opens the schema of a service, and applies the migrations that it lacks.
    pub(crate) fn service(
        &self,
        schema: String,
        group: Option<&Arc<str>>,
        migrations: &[Migrations],
    ) -> Result<Postgres, OpenError> {
        let finds_worker = self.workers.is_some();
        let (tables, node) = self.with_client(
            async |client| {
                let tables = migrate::migrate(client, &schema, migrations).await?;
                let node = if finds_worker { workers::find(client, &schema).await? } else { None };
                Ok((tables, node))
            },
            |why| format!("cannot prepare the schema {schema}: {why}"),
        )?;
        let worker = match (&self.workers, node) {
            (Some(workers), Some(node)) => {
                let max_wait = if group.is_some() { Duration::ZERO } else { workers.limits.start };
                Some(workers.at(&self.server, node, max_wait)?)
            }
            _ => None,
        };
        let mut names: Vec<_> = tables.iter().cloned().collect();
        names.sort_unstable();
        let group_reads = group.map(|_| Arc::clone(&self.group_reads));
        let service = Arc::new(Service::new(schema, tables, group_reads));
        // Clients of a group expect to read what they have just written: most are tests.
        let replica = self.replica.as_ref().filter(|_| group.is_none());
        let replica = replica.map(|replica| Box::new(replica.service(&service)));
        let at = |pool: &Arc<Pool>, pipelines: &Arc<Pipelines>| Postgres {
            service: Arc::clone(&service),
            tables: names.clone(),
            queue: pool.queue.join(group),
            pool: Arc::clone(pool),
            pipelines: Arc::clone(pipelines),
            replica: None,
            coordinator: None,
        };
        let here = at(&self.pool, &self.pipelines);
        let mut opened = match worker {
            None => here,
            Some(WorkerServer { pool, pipelines }) => {
                let mut there = at(&pool, &pipelines);
                there.coordinator = Some(Box::new(here));
                there
            }
        };
        opened.replica = replica;
        Ok(opened)
    }
}

/// Blocks on a new thread: the caller may run in a runtime, which must not block.
fn block_on<T: Send, F>(future: impl FnOnce() -> F + Send) -> Result<T, OpenError>
where
    F: Future<Output = Result<T, OpenError>>,
{
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| OpenError::new(&error.to_string()))?;
        runtime.block_on(future())
    };
    let done = thread::scope(|scope| scope.spawn(run).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The schema of a service.
pub(crate) struct Postgres {
    service: Arc<Service>,
    tables: Vec<String>,
    queue: QueueId,
    pool: Arc<Pool>,
    pipelines: Arc<Pipelines>,
    replica: Option<Box<Replica>>,
    /// The same schema through the coordinator of Citus, if this is on the worker that has it.
    coordinator: Option<Box<Postgres>>,
}

impl Postgres {
    pub(crate) fn read(&self, unit: ReadUnit, scope: Scope) -> Result<(), Error> {
        self.submit(Unit::Read(unit, scope))
    }

    /// Runs a read of one statement over a shared connection; `None` if the pool must run it.
    ///
    /// The closure is synchronous and the answer is not, so the closure runs twice: first to learn its statement, then with the
    /// rows. It is an `Fn` that may run again after a conflict in any case.
    pub(crate) async fn read_shared<R, E: From<Error>>(
        &self,
        closure: &impl Fn(&mut Tx<'_>) -> Result<R, E>,
    ) -> Option<Result<R, E>> {
        let run = |engine: Engine<'_>| {
            let mut tx = Tx::new(engine, Scope::Statement);
            let outcome = run_caught(|| closure(&mut tx));
            tx.checked(outcome)
        };
        let mut captured = None;
        let outcome = run(Engine::Capture(&mut captured));
        // It failed or succeeded without the database.
        let Some((sql, params)) = captured else { return Some(outcome) };
        let rows = self.pipelines.rows(&self.service, sql, &params).await?;
        Some(run(Engine::Replay(sql, &rows)))
    }

    pub(crate) fn replica(&self) -> Option<&Replica> {
        self.replica.as_deref()
    }

    /// Whether a text runs over a shared connection. If not, the pool must run it.
    pub(crate) async fn runs_shared(&self, sql: &str) -> bool {
        self.pipelines.run(&self.service, sql).await.is_some()
    }

    pub(crate) fn write(&self, unit: WriteUnit) -> Result<(), Error> {
        self.submit(Unit::Write(unit))
    }

    /// Runs a unit that may create, change or drop tables, which only a coordinator can.
    pub(crate) fn write_tables(&self, unit: WriteUnit) -> Result<(), Error> {
        self.coordinator.as_deref().unwrap_or(self).write(unit)
    }

    pub(crate) fn schema(&self) -> &str {
        &self.service.schema
    }

    pub(crate) fn tables(&self) -> &[String] {
        &self.tables
    }

    fn submit(&self, unit: Unit) -> Result<(), Error> {
        let job = Job { service: Arc::clone(&self.service), unit };
        self.pool.queue.submit(self.queue, job).map_err(|_| Error::Busy)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.service.is_closed.store(true, Ordering::Relaxed);
        self.pool.queue.leave(self.queue);
        self.pipelines.forget_closed();
    }
}
