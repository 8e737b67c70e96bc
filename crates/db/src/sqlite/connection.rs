//! A connection to SQLite.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, LazyLock, PoisonError, RwLock},
    time::Duration,
};

use rusqlite::{CachedStatement, OpenFlags, config::DbConfig, types::ValueRef};

use crate::{
    error::Error,
    sql::{self, Rewritten},
    value::Value,
};

/// How long a statement waits for the lock of another process, such as `triptych user …` beside the server.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How many pages of a small connection are in memory at most, and how many statements are prepared.
const SMALL_PAGES: i64 = 10;
const SMALL_STATEMENTS: usize = 16;

/// How much memory a connection may use for speed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Full,
    /// For long reads, which read most pages once.
    Long,
    /// For the databases of groups, of which hundreds may be open.
    Small,
}

/// The SQLite form of statements. Keyed by address: statements are `&'static str`, so an address identifies its text.
type Forms = HashMap<(usize, usize), Arc<Rewritten>>;

/// The forms that all connections share.
static FORMS: LazyLock<RwLock<Forms>> = LazyLock::new(RwLock::default);

fn rewritten(sql: &'static str) -> Arc<Rewritten> {
    let key = (sql.as_ptr() as usize, sql.len());
    let known = FORMS.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    known.unwrap_or_else(|| {
        let mut forms = FORMS.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(forms.entry(key).or_insert_with(|| Arc::new(sql::for_sqlite(sql))))
    })
}

/// A connection, with the SQLite form of each statement it has seen.
pub(crate) struct Connection {
    inner: rusqlite::Connection,
    // Those that this connection has used: looked up without a lock.
    rewritten: Forms,
    access: Access,
    /// How many statements that may write were started.
    writes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Connection {
    pub(super) fn open(path: &Path, access: Access, size: Size) -> Result<Self, Error> {
        // One thread at a time uses a connection, so SQLite's own mutex is not needed.
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if let Access::Write = access {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let inner = rusqlite::Connection::open_with_flags(path, flags)?;
        inner.busy_timeout(BUSY_TIMEOUT)?;
        inner.set_prepared_statement_cache_capacity(if size == Size::Small { SMALL_STATEMENTS } else { 256 });
        // Plans do not depend on the values of parameters: SQLite would otherwise prepare some statements again for each value.
        inner.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        if let Access::Write = access {
            use_wal(&inner)?;
        }
        inner.execute_batch(match access {
            Access::Read => "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;",
            // The first block of a WAL's index covers about 4000 pages, 16 MB: checkpoints are rare, and a reader still
            // searches one block.
            Access::Write => {
                "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; \
                 PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -8192;"
            }
        })?;
        match size {
            Size::Full => {}
            Size::Long => inner.execute_batch("PRAGMA cache_size = -1024;")?,
            // A checkpoint after a megabyte, so that the WAL stays small as well.
            Size::Small => inner.execute_batch(&format!(
                "PRAGMA cache_size = {SMALL_PAGES}; PRAGMA wal_autocheckpoint = 250;"
            ))?,
        }
        Ok(Connection { inner, rewritten: HashMap::new(), access, writes: 0 })
    }

    /// Prepares a statement, or reuses the prepared one, binds the parameters and runs the closure with it.
    pub(crate) fn with<R>(
        &mut self,
        sql: &'static str,
        params: &[Value<'_>],
        run: impl FnOnce(&mut CachedStatement<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let key = (sql.as_ptr() as usize, sql.len());
        let rewritten = self.rewritten.entry(key).or_insert_with(|| rewritten(sql));
        if rewritten.parameters != params.len() {
            return Err(Error::Parameters { named: rewritten.parameters, given: params.len() });
        }
        if rewritten.locks && self.access == Access::Read {
            return Err(Error::Engine("a read cannot lock rows".into()));
        }
        let mut statement = self.inner.prepare_cached(&rewritten.text)?;
        let writes = !statement.readonly();
        if self.access == Access::Read && writes {
            // As SQLite says it itself on a connection that only reads.
            return Err(Error::Engine("attempt to write a readonly database".into()));
        }
        for (index, value) in params.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, value)?;
        }
        self.writes += u64::from(writes);
        run(&mut statement)
    }

    /// Runs a closure during which this connection only reads.
    pub(super) fn reading<R>(&mut self, run: impl FnOnce(&mut Connection) -> R) -> R {
        let before = std::mem::replace(&mut self.access, Access::Read);
        let answer = run(self);
        self.access = before;
        answer
    }

    /// Runs a statement that has no parameters and no rows.
    pub(super) fn run(&self, sql: &'static str) -> Result<(), Error> {
        self.inner.prepare_cached(sql)?.raw_execute()?;
        Ok(())
    }

    /// Begins a read transaction on an idle connection. SQLite shares a read lock among the connections of a process: while one of them
    /// has it, the others take it without a system call. [`Connection::roll_back`] releases it. It must be released before the next
    /// write: otherwise SQLite could not start the WAL again from its beginning.
    pub(super) fn take_read_lock(&self) -> bool {
        // A transaction begins with its first statement, also with one that has no rows.
        let begun = self
            .run("BEGIN")
            .and_then(|()| self.run("SELECT version FROM triptych_migration WHERE component IS NULL"));
        if begun.is_err() {
            // Reads fail as well, and report the error.
            self.roll_back();
        }
        begun.is_ok()
    }

    /// Ends the transaction that is still open, if there is one.
    pub(super) fn roll_back(&self) {
        if self.in_transaction()
            && let Err(error) = self.run("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }

    /// Runs statements that are made at run time, and discards their rows. They are not cached.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.writes += 1;
        Ok(self.inner.execute_batch(sql)?)
    }

    /// The rows of a statement that is made at run time, as text.
    pub(crate) fn texts(&mut self, sql: &str) -> Result<Vec<Vec<String>>, Error> {
        let mut statement = self.inner.prepare(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let value = |at| match row.get_ref(at)? {
                ValueRef::Null => Ok(String::new()),
                ValueRef::Integer(number) => Ok(number.to_string()),
                other => Ok(other.as_str()?.to_owned()),
            };
            (0..columns).map(value).collect()
        })?;
        Ok(rows.collect::<Result<_, rusqlite::Error>>()?)
    }

    /// Runs statements without triggers and foreign keys. Both would prevent SQLite from deleting all rows of a table at once.
    pub(crate) fn batch_unchecked(&mut self, texts: &[String]) -> Result<(), Error> {
        let switch = |on: bool| {
            let checks = [DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY];
            checks.into_iter().try_for_each(|check| self.inner.set_db_config(check, on).map(drop))
        };
        let run = switch(false).and_then(|()| texts.iter().try_for_each(|sql| self.inner.execute_batch(sql)));
        switch(true)?;
        self.writes += 1;
        Ok(run?)
    }

    /// How many statements that may write were started.
    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    pub(super) fn in_transaction(&self) -> bool {
        !self.inner.is_autocommit()
    }
}

impl AsMut<rusqlite::Connection> for Connection {
    fn as_mut(&mut self) -> &mut rusqlite::Connection {
        &mut self.inner
    }
}

/// Turns the WAL on. When two processes do so on a new file at the same time, SQLite can report "busy" to one of them without
/// the busy timeout, so it is retried.
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
