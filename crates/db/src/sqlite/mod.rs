//! SQLite: one file, a read connection per thread, one thread that writes.

pub(crate) mod connection;
pub(crate) mod files;
mod migrate;
mod writer;

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    sync::Arc,
};

use thread_local::ThreadLocal;

use crate::{
    error::{Error, OpenError},
    migration::Migrations,
    private,
    scope::Scope,
    settings::Limits,
    tx::{Engine, Tx},
    unit::{WriteUnit, run_caught},
};
use connection::{Access, Connection};
use migrate::migrate;
use writer::Writer;

/// Older versions can corrupt a database when a WAL is reset while another process checkpoints it.
const OLDEST: i32 = 3_051_003;

pub(crate) struct Sqlite {
    path: Arc<Path>,
    // Dropped before the writer, so that the writer's connection is closed last and checkpoints the WAL.
    readers: ThreadLocal<RefCell<Connection>>,
    writer: Writer,
    tables: Vec<String>,
}

impl Sqlite {
    /// Opens a database in the last of these folders, each of which is in the one before.
    pub(crate) fn open(
        folders: &[PathBuf],
        name: &str,
        migrations: &[Migrations],
        limits: Limits,
    ) -> Result<Self, OpenError> {
        if rusqlite::version_number() < OLDEST {
            let found = rusqlite::version();
            return Err(OpenError::new(&format!("SQLite {found} is too old, 3.51.3 is needed")));
        }
        for folder in folders {
            private::create_folder(folder)?;
        }
        let path = folders.last().map_or_else(PathBuf::new, |folder| files::database(folder, name));
        let at = |error: Error| OpenError::new(&format!("cannot open {}: {error}", path.display()));
        let failed = |why: String| OpenError::new(&format!("cannot open {}: {why}", path.display()));
        private::secure_files(&path).map_err(|error| failed(error.to_string()))?;
        let mut connection = Connection::open(&path, Access::Write).map_err(at)?;
        let tables = migrate(connection.as_mut(), migrations).map_err(failed)?;
        let writer = Writer::start(connection, limits)
            .map_err(|error| OpenError::new(&format!("cannot start the writer thread: {error}")))?;
        Ok(Sqlite { path: path.into(), readers: ThreadLocal::new(), writer, tables })
    }

    pub(crate) fn read<R, E: From<Error>>(
        &self,
        scope: Scope,
        closure: &impl Fn(&mut Tx<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let reader = self.readers.get_or_try(|| Connection::open(&self.path, Access::Read).map(RefCell::new));
        let mut connection = reader?.borrow_mut();
        if scope == Scope::Transaction {
            connection.run("BEGIN")?;
        }
        let mut tx = Tx::new(Engine::Sqlite(&mut connection), scope);
        let outcome = run_caught(|| closure(&mut tx));
        let outcome = tx.checked(outcome);
        if scope == Scope::Transaction
            && let Err(error) = connection.run("ROLLBACK")
        {
            tracing::warn!(%error, "a read transaction could not be rolled back");
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
