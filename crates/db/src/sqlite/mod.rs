//! SQLite. A service has a file, a read connection per thread, some for long reads, and one thread that writes. A database of a group
//! has less: `small`.

pub(crate) mod connection;
pub(crate) mod files;
mod migrate;
pub(crate) mod small;
pub(crate) mod transfer;
mod writer;

use std::{
    cell::RefCell,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
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
use connection::{Access, Connection, Size};
use migrate::migrate;
use small::Small;
use writer::Writer;

/// Older versions can corrupt a database when a WAL is reset while another process checkpoints it.
const OLDEST: i32 = 3_051_003;

pub(crate) struct Sqlite {
    file: File,
    tables: Vec<String>,
}

#[expect(clippy::large_enum_variant, reason = "one per database, and it never moves")]
enum File {
    /// A database of a service.
    Own {
        path: Arc<Path>,
        // Dropped before the writer, so that the writer's connection is closed last and checkpoints the WAL.
        readers: ThreadLocal<RefCell<Connection>>,
        /// For long reads, as many as ever ran at once: any blocking thread may run the next one.
        long_readers: Mutex<Vec<Connection>>,
        writer: Writer,
    },
    /// A database of a group.
    Small(Small),
}

impl Sqlite {
    /// Opens a database in the last of these folders, each of which is in the one before.
    pub(crate) fn open(
        folders: &[PathBuf],
        name: &str,
        migrations: &[Migrations],
        limits: Limits,
        group: Option<&Arc<small::Shared>>,
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
        let size = if group.is_some() { Size::Small } else { Size::Full };
        let mut connection = Connection::open(&path, Access::Write, size).map_err(at)?;
        let tables = migrate(connection.as_mut(), migrations).map_err(failed)?;
        let thread = |error: io::Error| OpenError::new(&format!("cannot start the writer thread: {error}"));
        let file = match group {
            Some(shared) => File::Small(Small::new(path, connection, shared, limits).map_err(thread)?),
            None => File::Own {
                path: path.into(),
                readers: ThreadLocal::new(),
                long_readers: Mutex::default(),
                writer: Writer::start(connection, limits).map_err(thread)?,
            },
        };
        Ok(Sqlite { file, tables })
    }

    pub(crate) fn read<R, E: From<Error>>(
        &self,
        scope: Scope,
        closure: &impl Fn(&mut Tx<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        match &self.file {
            File::Own { path, readers, .. } => {
                let open = || Connection::open(path, Access::Read, Size::Full).map(RefCell::new);
                read(&mut readers.get_or_try(open)?.borrow_mut(), scope, closure)
            }
            File::Small(small) => small.read(|connection| read(connection, scope, closure))?,
        }
    }

    /// Runs a read that may take long, on a blocking thread.
    pub(crate) fn read_long<R, E: From<Error>>(
        &self,
        closure: &impl Fn(&mut Tx<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        match &self.file {
            File::Own { path, long_readers, .. } => {
                let free = || long_readers.lock().unwrap_or_else(PoisonError::into_inner);
                let kept = free().pop();
                let mut connection =
                    kept.map_or_else(|| Connection::open(path, Access::Read, Size::Long), Ok)?;
                let outcome = read(&mut connection, Scope::Transaction, closure);
                free().push(connection);
                outcome
            }
            File::Small(small) => {
                small.read_long(|connection| read(connection, Scope::Transaction, closure))?
            }
        }
    }

    pub(crate) fn write(&self, unit: WriteUnit) -> Result<(), Error> {
        match &self.file {
            File::Own { writer, .. } => writer.submit(unit),
            File::Small(small) => small.write(unit),
        }
    }

    /// Whether the last batch could not be written. The databases of groups do not say it.
    pub(crate) fn has_failed_to_write(&self) -> bool {
        matches!(&self.file, File::Own { writer, .. } if writer.has_failed())
    }

    pub(crate) fn tables(&self) -> &[String] {
        &self.tables
    }
}

fn read<R, E: From<Error>>(
    connection: &mut Connection,
    scope: Scope,
    closure: &impl Fn(&mut Tx<'_>) -> Result<R, E>,
) -> Result<R, E> {
    if scope == Scope::Transaction {
        connection.run("BEGIN")?;
    }
    let mut tx = Tx::new(Engine::Sqlite(connection), scope);
    let outcome = run_caught(|| closure(&mut tx));
    let outcome = tx.checked(outcome);
    if scope == Scope::Transaction {
        connection.roll_back();
    }
    outcome
}
