//! PostgreSQL: a pool of threads, each owning one connection and its prepared statements.

mod connection;
mod pool;

use std::{any::TypeId, thread};

use postgres::{Config, IsolationLevel, NoTls};

pub(crate) use connection::Connection;

use crate::{
    Error, OpenError,
    error::with_source,
    migration::{self, Migrations},
    sites::Sites,
    unit::{ReadUnit, WriteUnit},
};
use pool::{Job, Pool};

/// Guards migrations: any number will do as long as every process takes the same.
const MIGRATION_LOCK: i64 = 0x7472_6970_7479_6368;

pub(crate) struct Postgres {
    pool: Pool,
}

impl Postgres {
    pub(crate) fn open(
        url: &str,
        schema: &'static str,
        migrations: &[Migrations],
        threads: usize,
        queue: usize,
        sites: &Sites,
    ) -> Result<Self, OpenError> {
        let invalid = |why: &str| OpenError::new(&format!("the database URL is not valid: {why}"));
        // Anything else is taken for a list of settings, and the message about it quotes all of it, password
        // and all.
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(invalid("it does not begin with postgres://"));
        }
        let config: Config = url.parse().map_err(|error| invalid(&with_source(&error)))?;
        let config = connection::settle(config);
        // On a thread of its own: the client waits in a runtime of its own, which may not be inside another.
        thread::scope(|scope| scope.spawn(|| migrate(&config, schema, migrations)).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let pool = Pool::start(&config, schema, threads, queue, sites)
            .map_err(|error| OpenError::new(&format!("cannot start the database threads: {error}")))?;
        Ok(Postgres { pool })
    }

    pub(crate) fn read(&self, unit: ReadUnit, site: TypeId) -> Result<(), Error> {
        self.pool.submit(Job::Read(unit, site))
    }

    pub(crate) fn write(&self, unit: WriteUnit) -> Result<(), Error> {
        self.pool.submit(Job::Write(unit))
    }
}

fn migrate(config: &Config, schema: &str, migrations: &[Migrations]) -> Result<(), OpenError> {
    let mut client = config.connect(NoTls).map_err(|error| {
        OpenError::new(&format!("cannot connect to the database: {}", with_source(&error)))
    })?;
    let prepared = prepare_schema(&mut client, schema, migrations);
    prepared.map_err(|why| OpenError::new(&format!("cannot prepare the schema {schema}: {why}")))
}

fn prepare_schema(
    client: &mut postgres::Client,
    schema: &str,
    migrations: &[Migrations],
) -> Result<(), String> {
    let said = |error: postgres::Error| with_source(&error);
    // Said outright, as the server's defaults may be others: at a stricter isolation, who waited for the lock
    // would not see what was done meanwhile.
    let mut tx = client
        .build_transaction()
        .isolation_level(IsolationLevel::ReadCommitted)
        .read_only(false)
        .start()
        .map_err(said)?;
    tx.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).map_err(said)?;
    // Not IF NOT EXISTS alone: that wants the right to create schemas even where the schema is there already.
    let exists = tx
        .query_one("SELECT count(*) FROM pg_namespace WHERE nspname = $1", &[&schema])
        .and_then(|row| row.try_get::<_, i64>(0))
        .map_err(said)?;
    if exists == 0 {
        tx.batch_execute(&format!("CREATE SCHEMA {schema}")).map_err(said)?;
    }
    tx.batch_execute(&format!("SET LOCAL search_path TO {schema}")).map_err(said)?;
    tx.batch_execute(migration::POSTGRES_TABLE).map_err(said)?;
    let applied = tx
        .query(migration::APPLIED, &[])
        .and_then(|rows| {
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<Vec<_>, _>>()
        })
        .map_err(said)?;
    for step in migration::outstanding(migrations, &applied)? {
        let failed = |error| format!("migration {step} failed: {}", said(error));
        tx.batch_execute(step.postgres).map_err(failed)?;
        tx.execute(
            "INSERT INTO triptych_migration (component, version) VALUES ($1, $2)",
            &[&step.component, &step.version],
        )
        .map_err(failed)?;
    }
    tx.commit().map_err(said)
}
