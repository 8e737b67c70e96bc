//! Where everything is kept: one SQL text on SQLite or PostgreSQL.
//!
//! A [`Db`] runs units of work. A unit is a plain synchronous closure over a transaction, so nobody can hold a
//! transaction across an await or a network call:
//!
//! ```no_run
//! # async fn example(db: db::Db) -> Result<(), db::Error> {
//! let name = db
//!     .read(move |tx| tx.row("SELECT name FROM pet WHERE id = $1", &[7.into()], |row| row.get::<String>(0)))
//!     .await?;
//! db.write(move |tx| tx.execute("UPDATE pet SET name = $1 WHERE id = $2", &["Rex".into(), 7.into()])).await?;
//! # Ok(())
//! # }
//! ```
//!
//! - A **read** has one statement, a **snapshot** several that all see one state. Neither can write.
//! - A **write** is answered after its commit is durable. It may be run more than once before that (its batch
//!   was lost, PostgreSQL saw a conflict), so it must have no effect but through its transaction.
//! - A **full queue** answers [`Error::Busy`] at once; nothing grows while the database is behind.
//!
//! On SQLite a read runs inline on the calling thread and all writes go through one thread that commits many
//! at once; on PostgreSQL both go to a pool of threads that own a connection each and
//! serve all services in turn. PostgreSQL's writes run at
//! READ COMMITTED: where two may compete, let one statement decide (`INSERT … ON CONFLICT`, `UPDATE … WHERE …
//! RETURNING`), as nothing that was read before is still sure to hold.
//!
//! Read on in [`tx`] for what a unit can do, in `sqlite` and `postgres` for how each engine does it.

mod error;
mod long;
mod migration;
mod postgres;
pub mod private;
mod record;
mod row;
mod sql;
mod sqlite;
#[doc(hidden)]
pub mod statement;
pub mod tx;
mod unit;
mod value;

use std::{path::PathBuf, sync::Arc, time::Duration};

pub use error::Error;
pub use migration::{Migrations, Script};
pub use record::{Bind, Record, Word, to_json, to_json_or_null};
pub use row::{Column, Json, Row};
pub use tx::{Tx, WriteTx};
pub use value::Value;

use tx::Scope;

/// Which engine, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A file per service in this folder.
    Sqlite(PathBuf),
    /// A schema per service in this database: `postgres://user:password@host/database?sslmode=verify-full`. What the
    /// URL leaves out comes from PostgreSQL's variables (`PGHOST` and so on).
    Postgres(String),
}

/// How much may be under way at once.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Units of a service that may wait for SQLite's writer, or for a permit to read for long, or for a PostgreSQL
    /// thread. The next is [`Error::Busy`] at once.
    pub queue: usize,
    /// PostgreSQL connections (and threads) of this process, for all its services.
    pub connections: usize,
    /// How long a unit may wait in its queue, and how long PostgreSQL may take for each answer.
    pub wait: Duration,
    /// How long to wait for a PostgreSQL that is not there yet when it is first connected to.
    pub start: Duration,
}

impl Limits {
    pub const DEFAULT: Limits =
        Limits { queue: 4096, connections: 16, wait: Duration::from_secs(5), start: Duration::from_secs(30) };
}

impl Default for Limits {
    fn default() -> Self {
        Limits::DEFAULT
    }
}

/// Why a database could not be opened: one line for the operator.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(String);

impl OpenError {
    /// What the engines say may have several lines: details, hints, the statement itself.
    pub(crate) fn new(text: &str) -> Self {
        OpenError(text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
    }
}

/// The databases of a process: a file per service in a folder, or a schema per service on a PostgreSQL server, to
/// which all services share the connections. Cloning it is cheap.
#[derive(Clone)]
pub struct Databases {
    place: Place,
    limits: Limits,
    /// For long reads on SQLite, of all services together.
    long_permits: Arc<tokio::sync::Semaphore>,
}

#[derive(Clone)]
enum Place {
    Sqlite(PathBuf),
    Postgres(postgres::Shared),
}

impl Databases {
    /// Connects to where they are. Blocks; it is for start-up.
    pub fn connect(location: &Location, limits: Limits) -> Result<Self, OpenError> {
        let place = match location {
            Location::Sqlite(folder) => Place::Sqlite(folder.clone()),
            Location::Postgres(url) => Place::Postgres(postgres::Shared::open(url, limits)?),
        };
        Ok(Databases { place, limits, long_permits: long::permits() })
    }

    /// Opens the database of a service and brings its schema up to date. Blocks; it is for start-up.
    pub fn open(&self, service: &'static str, migrations: &[Migrations]) -> Result<Db, OpenError> {
        let engine = match &self.place {
            Place::Sqlite(folder) => {
                Engine::Sqlite(sqlite::Sqlite::open(folder, service, migrations, self.limits)?)
            }
            Place::Postgres(shared) => Engine::Postgres(shared.service(service, migrations)?),
        };
        let probe = probe(engine.tables());
        let long_reads = long::Queue::new(self.long_permits.clone(), self.limits);
        Ok(Db(Arc::new(Inner { engine, probe, long_reads })))
    }
}

/// A statement that reads a row of each table. It lives as long as the process, as every statement does.
fn probe(tables: &[String]) -> &'static str {
    let parts: Vec<_> = tables.iter().map(|table| format!("EXISTS (SELECT 1 FROM {table})")).collect();
    Box::leak(format!("SELECT 1, {}", parts.join(", ")).into_boxed_str())
}

/// A service's database. Cloning it is cheap; the last clone to go closes it.
#[derive(Clone)]
pub struct Db(Arc<Inner>);

struct Inner {
    engine: Engine,
    /// Reads a row of each table.
    probe: &'static str,
    long_reads: long::Queue,
}

#[expect(clippy::large_enum_variant, reason = "one per database, and it never moves")]
enum Engine {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

impl Engine {
    fn tables(&self) -> &[String] {
        match self {
            Engine::Sqlite(sqlite) => sqlite.tables(),
            Engine::Postgres(postgres) => postgres.tables(),
        }
    }
}

impl Db {
    /// Opens the database of a process's only service: see [`Databases`].
    pub fn open(
        location: &Location,
        service: &'static str,
        migrations: &[Migrations],
        limits: Limits,
    ) -> Result<Self, OpenError> {
        Databases::connect(location, limits)?.open(service, migrations)
    }

    /// Runs a unit that reads with one statement, which sees one state by itself. What it reads is little (a row, a page of
    /// small ones): on SQLite it runs on the calling thread. See [`Db::snapshot`] for several statements, and
    /// [`Db::read_long`] for what reads more.
    pub async fn read<R, E, F>(&self, work: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.read_in(Scope::Statement, work).await
    }

    /// Runs a unit that reads with several statements, which all see one state: a transaction around them.
    pub async fn snapshot<R, E, F>(&self, work: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.read_in(Scope::Transaction, work).await
    }

    async fn read_in<R, E, F>(&self, scope: Scope, work: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        match &self.0.engine {
            Engine::Sqlite(sqlite) => sqlite.read(scope, &work),
            Engine::Postgres(postgres) => {
                let (unit, reply) = unit::read(work);
                postgres.read(unit, scope)?;
                reply.await.unwrap_or_else(|_| Err(ended().into()))
            }
        }
    }

    /// Runs a unit that writes, and answers after its commit is durable.
    pub async fn write<R, E, F>(&self, work: F) -> Result<R, E>
    where
        F: Fn(&mut WriteTx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (unit, reply) = unit::write(work);
        match &self.0.engine {
            Engine::Sqlite(sqlite) => sqlite.write(unit)?,
            Engine::Postgres(postgres) => postgres.write(unit)?,
        }
        reply.await.unwrap_or_else(|_| Err(ended().into()))
    }

    /// Whether other processes may serve from it at the same time.
    pub fn is_shared(&self) -> bool {
        matches!(self.0.engine, Engine::Postgres(_))
    }

    /// The names of its tables, as they were when it was opened.
    pub fn tables(&self) -> &[String] {
        self.0.engine.tables()
    }

    /// Finds out whether the database answers and each of its tables can be read.
    pub async fn ping(&self) -> Result<(), Error> {
        let probe = self.0.probe;
        let found = self.read(move |tx| tx.row(probe, &[], |row| row.get::<i64>(0)).map(drop)).await;
        // A table that is missing or closed to us is the operator's to mend, like a server that is not there.
        found.map_err(|error| match error {
            Error::Engine(why) => Error::Unavailable(why),
            error => error,
        })
    }
}

fn ended() -> Error {
    Error::Unavailable("the database was closed".into())
}
