//! A database, and the units of work that run in it.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use trace::{Kind, Span};

use crate::{
    error::Error,
    long_reads::LongReads,
    postgres::{Postgres, Replica},
    scope::Scope,
    sqlite::Sqlite,
    tx::{Tx, WriteTx},
    unit::{self, WriteUnit},
};

/// The database of a service. Cloning is cheap; dropping the last clone closes it.
#[derive(Clone)]
pub struct Db(Arc<Inner>);

struct Inner {
    engine: Engine,
    /// Reads a row of each table.
    probe: Arc<str>,
    long_reads: LongReads,
}

#[expect(clippy::large_enum_variant, reason = "one per database, and it never moves")]
pub(crate) enum Engine {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Engine {
    fn schema(&self) -> Option<&str> {
        match self {
            Engine::Sqlite(_) => None,
            Engine::Postgres(postgres) => Some(postgres.schema()),
        }
    }

    fn tables(&self) -> &[String] {
        match self {
            Engine::Sqlite(sqlite) => sqlite.tables(),
            Engine::Postgres(postgres) => postgres.tables(),
        }
    }
}

/// A statement that reads a row of each table.
fn probe(engine: &Engine) -> Arc<str> {
    let schema = engine.schema().map_or_else(String::new, |schema| format!("{schema}."));
    let parts: Vec<_> =
        engine.tables().iter().map(|table| format!(", EXISTS (SELECT 1 FROM {schema}{table})")).collect();
    format!("SELECT 1{}", parts.concat()).into()
}

impl Db {
    pub(crate) fn new(engine: Engine, long_reads: LongReads) -> Self {
        let probe = probe(&engine);
        Db(Arc::new(Inner { engine, probe, long_reads }))
    }

    /// Runs a unit that reads with one statement. It must read little (a row, or a page of small rows): on SQLite it runs
    /// on the calling thread. See [`Db::snapshot`] for several statements, and [`Db::read_long`] for large results.
    pub async fn read<R, E, F>(&self, closure: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + Sync + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let _span = self.span("read");
        if let Engine::Postgres(postgres) = &self.0.engine
            && let Some(outcome) = postgres.read_shared(&closure).await
        {
            return outcome;
        }
        self.read_in(Scope::Statement, closure).await
    }

    /// Runs a unit that reads with several statements in one transaction, which all see one state.
    pub async fn snapshot<R, E, F>(&self, closure: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let _span = self.span("snapshot");
        self.read_in(Scope::Transaction, closure).await
    }

    pub(crate) async fn read_in<R, E, F>(&self, scope: Scope, closure: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        match &self.0.engine {
            Engine::Sqlite(sqlite) => sqlite.read(scope, &closure),
            Engine::Postgres(postgres) => {
                let (unit, reply) = unit::read(closure);
                postgres.read(unit, scope)?;
                reply.await.unwrap_or_else(|_| Err(Error::closed().into()))
            }
        }
    }

    /// Runs a unit that reads much, as [`Db::snapshot`] does: many statements, or rows of many kilobytes. On SQLite it runs
    /// on a blocking thread, and waits for a permit if too many run already.
    pub async fn read_long<R, E, F>(&self, closure: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let _span = self.span("snapshot");
        if let Engine::Postgres(_) = &self.0.engine {
            return self.read_in(Scope::Transaction, closure).await;
        }
        let permit = self.0.long_reads.permit().await?;
        let db = self.clone();
        let read = spawn_blocking(move || {
            // Held until the read has ended, also when its caller was dropped.
            let _permit = permit;
            match &db.0.engine {
                Engine::Sqlite(sqlite) => sqlite.read_long(&closure),
                Engine::Postgres(_) => Err(Error::closed().into()),
            }
        });
        read.await.unwrap_or_else(|_| Err(Error::closed().into()))
    }

    /// Runs a unit that writes, and answers after its commit is durable.
    pub async fn write<R, E, F>(&self, closure: F) -> Result<R, E>
    where
        F: Fn(&mut WriteTx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.submit(closure, Postgres::write).await
    }

    /// Runs a unit that writes, and that may create, change or drop tables.
    pub(crate) async fn write_tables<R, F>(&self, closure: F) -> Result<R, Error>
    where
        F: Fn(&mut WriteTx<'_>) -> Result<R, Error> + Send + 'static,
        R: Send + 'static,
    {
        self.submit(closure, Postgres::write_tables).await
    }

    async fn submit<R, E, F>(
        &self,
        closure: F,
        to_postgres: impl FnOnce(&Postgres, WriteUnit) -> Result<(), Error>,
    ) -> Result<R, E>
    where
        F: Fn(&mut WriteTx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let _span = self.span("write");
        let (unit, reply) = unit::write(closure);
        match &self.0.engine {
            Engine::Sqlite(sqlite) => sqlite.write(unit)?,
            Engine::Postgres(postgres) => to_postgres(postgres, unit)?,
        }
        reply.await.unwrap_or_else(|_| Err(Error::closed().into()))
    }

    /// Runs a unit as [`Db::read`] does, on a replica if there is one. Its result may be some seconds old, so it must not be what a
    /// caller has just written, or what a decision depends on: no credentials, no keys, nothing that the caller owns.
    pub async fn read_stale<R, E, F>(&self, closure: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + Sync + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        if let Some(replica) = self.replica() {
            let _span = self.span("read");
            if let Some(value) = replica.read(&closure).await {
                return Ok(value);
            }
        }
        self.read(closure).await
    }

    /// Runs a unit as [`Db::read_long`] does, on a replica if there is one: see [`Db::read_stale`].
    pub async fn read_long_stale<R, E, F>(&self, closure: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + Sync + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let Some(replica) = self.replica() else { return self.read_long(closure).await };
        let closure = Arc::new(closure);
        let again = Arc::clone(&closure);
        let span = self.span("snapshot");
        if let Some(value) = replica.snapshot(move |tx| closure(tx)).await {
            return Ok(value);
        }
        drop(span);
        self.read_long(move |tx| again(tx)).await
    }

    fn replica(&self) -> Option<&Replica> {
        match &self.0.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(postgres) => postgres.replica(),
        }
    }

    /// The span of a unit of work, if the call that it is for is traced. It has the time in the queue, too.
    fn span(&self, unit: &'static str) -> Option<Span> {
        let mut span = trace::child(Kind::Client, unit)?;
        let system = match self.0.engine {
            Engine::Sqlite(_) => "sqlite",
            Engine::Postgres(_) => "postgresql",
        };
        span.set("db.system.name", system);
        Some(span)
    }

    /// Whether other processes may use the database at the same time.
    pub fn is_shared(&self) -> bool {
        matches!(self.0.engine, Engine::Postgres(_))
    }

    /// The names of the tables at the time of opening, without those of copies.
    pub fn tables(&self) -> &[String] {
        self.0.engine.tables()
    }

    /// The schema of the tables, on PostgreSQL.
    pub(crate) fn schema(&self) -> Option<&str> {
        self.0.engine.schema()
    }

    /// Checks that the database answers and that each of its tables can be read. After a write that failed, as on a full disk, it
    /// checks that it can write again.
    pub async fn ping(&self) -> Result<(), Error> {
        let probe = Arc::clone(&self.0.probe);
        if let Engine::Postgres(postgres) = &self.0.engine
            && postgres.runs_shared(&probe).await
        {
            return Ok(());
        }
        if let Engine::Sqlite(sqlite) = &self.0.engine
            && sqlite.has_failed_to_write()
        {
            self.write(write_and_delete).await?;
        }
        let found = self.read_in(Scope::Statement, move |tx| tx.batch(&probe)).await;
        // Only the operator can repair a missing table or a missing permission, as with a server that does not answer.
        found.map_err(|error| match error {
            Error::Engine(why) => Error::Unavailable(why),
            error => error,
        })
    }
}

/// Writes a row and deletes it again: an update that changes nothing would not be written.
fn write_and_delete(tx: &mut WriteTx<'_>) -> Result<(), Error> {
    tx.execute("INSERT INTO triptych_migration (component, version) VALUES ('', 0)", &[])?;
    tx.execute("DELETE FROM triptych_migration WHERE component = ''", &[]).map(drop)
}
