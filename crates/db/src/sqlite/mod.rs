//! SQLite: one file, a read connection per thread, one thread that writes.

mod writer;

use std::{cell::RefCell, collections::HashMap, path::Path, sync::Arc, time::Duration};

use rusqlite::{CachedStatement, OpenFlags};
use thread_local::ThreadLocal;

use crate::{
    Error, Limits, OpenError, Tx, Value,
    migration::{self, Migrations},
    private,
    sql::{self, Rewritten},
    tx::{Engine, Scope},
    unit::{WriteUnit, run_caught},
};
use writer::Writer;

/// Older ones can corrupt a database when a WAL is reset while another process checkpoints it.
const OLDEST: i32 = 3_051_003;

/// How long a statement waits for another process's lock (the server's and `triptych user …`, say).
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Sqlite {
    path: Arc<Path>,
    // Dropped before the writer, so that the writer's connection is the last and folds the WAL back in.
    readers: ThreadLocal<RefCell<Connection>>,
    writer: Writer,
    tables: Vec<String>,
}

impl Sqlite {
    pub(crate) fn open(
        folder: &Path,
        name: &str,
        migrations: &[Migrations],
        limits: Limits,
    ) -> Result<Self, OpenError> {
        if rusqlite::version_number() < OLDEST {
            let found = rusqlite::version();
            return Err(OpenError::new(&format!("SQLite {found} is too old, 3.51.3 is needed")));
        }
        private::create_folder(folder)?;
        let path = folder.join(name).with_extension("db");
        let at = |error: Error| OpenError::new(&format!("cannot open {}: {error}", path.display()));
        let refused = |why: String| OpenError::new(&format!("cannot open {}: {why}", path.display()));
        private::secure_files(&path).map_err(|error| refused(error.to_string()))?;
        let mut connection = Connection::open(&path, Access::Write).map_err(at)?;
        let tables = migrate(&mut connection.inner, migrations).map_err(refused)?;
        let writer = Writer::start(connection, limits)
            .map_err(|error| OpenError::new(&format!("cannot start the writer thread: {error}")))?;
        Ok(Sqlite { path: path.into(), readers: ThreadLocal::new(), writer, tables })
    }

    pub(crate) fn read<R, E: From<Error>>(
        &self,
        scope: Scope,
        work: &impl Fn(&mut Tx<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let reader = self.readers.get_or_try(|| Connection::open(&self.path, Access::Read).map(RefCell::new));
        let mut connection = reader?.borrow_mut();
        if scope == Scope::Transaction {
            connection.run("BEGIN")?;
        }
        let mut tx = Tx::new(Engine::Sqlite(&mut connection), scope);
        let outcome = run_caught(|| work(&mut tx));
        let outcome = tx.checked(outcome);
        if scope == Scope::Transaction
            && let Err(error) = connection.run("ROLLBACK")
        {
            tracing::warn!(%error, "a read could not be ended");
        }
        outcome
    }

    pub(crate) fn write(&self, unit: WriteUnit) -> Result<(), Error> {
        self.writer.submit(unit)
    }

    pub(crate) fn tables(&self) -> &[String] {
        &self.tables
    }
}

/// A connection, with the SQLite form of each statement it has seen.
pub(crate) struct Connection {
    inner: rusqlite::Connection,
    // Keyed by address: statements are `&'static str`, so the address is the text.
    rewritten: HashMap<(usize, usize), Rewritten>,
    access: Access,
    /// How many statements that may write were started.
    writes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

impl Connection {
    fn open(path: &Path, access: Access) -> Result<Self, Error> {
        // One connection is used by one thread at a time, so SQLite's own mutex would only cost.
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if let Access::Write = access {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let inner = rusqlite::Connection::open_with_flags(path, flags)?;
        inner.busy_timeout(BUSY_TIMEOUT)?;
        inner.set_prepared_statement_cache_capacity(256);
        if let Access::Write = access {
            use_wal(&inner)?;
        }
        inner.execute_batch(match access {
            Access::Read => "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;",
            // 4000 pages, 16 MB, is as much of a WAL as the first block of its index covers: a checkpoint is
            // rare, and a reader still looks in one place.
            Access::Write => {
                "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; \
                 PRAGMA wal_autocheckpoint = 4000;"
            }
        })?;
        Ok(Connection { inner, rewritten: HashMap::new(), access, writes: 0 })
    }

    /// Prepares (or finds) a statement, binds the parameters and hands it over.
    pub(crate) fn with<R>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        run: impl FnOnce(&mut CachedStatement<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let key = (sql.as_ptr() as usize, sql.len());
        let rewritten = self.rewritten.entry(key).or_insert_with(|| sql::for_sqlite(sql));
        if rewritten.parameters != params.len() {
            return Err(Error::Parameters { named: rewritten.parameters, given: params.len() });
        }
        if rewritten.locks && self.access == Access::Read {
            return Err(Error::Engine("a read cannot lock rows".into()));
        }
        let mut statement = self.inner.prepare_cached(&rewritten.text)?;
        for (index, value) in params.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, value)?;
        }
        self.writes += u64::from(!statement.readonly());
        run(&mut statement)
    }

    fn run(&self, sql: &'static str) -> Result<(), Error> {
        self.inner.prepare_cached(sql)?.raw_execute()?;
        Ok(())
    }
}

/// Turns the WAL on. Two processes that do so on a new file at once can make one of them fail at once, without
/// the busy timeout being asked; the other's success is ours too.
fn use_wal(connection: &rusqlite::Connection) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        let mode = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode.map_err(Error::from) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(Error::Unavailable(format!("its journal mode is {mode}, not wal")));
            }
            Err(Error::Busy) if tries < 100 => {
                tries += 1;
                #[expect(clippy::disallowed_methods, reason = "start-up, before anything is served")]
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Applies what the schema lacks, and says which tables it has.
fn migrate(connection: &mut rusqlite::Connection, migrations: &[Migrations]) -> Result<Vec<String>, String> {
    let said = |error: rusqlite::Error| error.to_string();
    let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(said)?;
    tx.execute_batch(migration::SQLITE_TABLE).map_err(said)?;
    let applied = tx
        .prepare(migration::APPLIED)
        .and_then(|mut all| {
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<Vec<_>, _>>()
        })
        .map_err(said)?;
    for step in migration::outstanding(migrations, &applied)? {
        let failed = |error| format!("migration {step} failed: {error}");
        tx.execute_batch(step.sqlite).map_err(failed)?;
        tx.execute(
            "INSERT INTO triptych_migration (component, version) VALUES (?1, ?2)",
            (step.component, step.version),
        )
        .map_err(failed)?;
    }
    let tables = tx
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
             ORDER BY name",
        )
        .and_then(|mut all| all.query_map([], |row| row.get(0))?.collect::<Result<Vec<_>, _>>())
        .map_err(said)?;
    tx.commit().map_err(said)?;
    Ok(tables)
}
