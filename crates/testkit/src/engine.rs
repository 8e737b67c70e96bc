//! Tests that run on both engines.

use std::{path::PathBuf, sync::OnceLock};

use db::{Databases, Db, Location, Migrations};

use crate::{
    database::{Database, limits},
    pooler::Pooler,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// An empty database for one test. When this is dropped, it is deleted, or emptied for another test.
pub struct Store {
    engine: Engine,
    folder: Option<tempfile::TempDir>,
    // Dropped before the database, to which it has connections.
    pooler: Option<Pooler>,
    /// On PostgreSQL, from its first use: then it is known whether the test needs the tables of a service.
    database: OnceLock<Database>,
    location: OnceLock<Location>,
}

impl Store {
    pub fn new(engine: Engine) -> Self {
        let folder = (engine == Engine::Sqlite).then(|| tempfile::tempdir().expect("a temporary folder"));
        Store { engine, folder, pooler: None, database: OnceLock::new(), location: OnceLock::new() }
    }

    /// On PostgreSQL behind a PgBouncer that gives each transaction another session, with one of
    /// [`max_prepared_statements`](crate::max_prepared_statements).
    pub fn pooled(max_prepared_statements: u32) -> Self {
        let mut store = Store::new(Engine::Postgres);
        let pooler = Pooler::start(store.database(), max_prepared_statements);
        store.location = Location::Postgres(pooler.url.clone()).into();
        store.pooler = Some(pooler);
        store
    }

    fn database(&self) -> &Database {
        self.database.get_or_init(Database::create).share()
    }

    /// The same database, without the pooler.
    pub fn direct(&self) -> Location {
        match self.engine {
            Engine::Sqlite => self.location().clone(),
            Engine::Postgres => Location::Postgres(self.database().url.clone()),
        }
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    pub fn location(&self) -> &Location {
        self.location.get_or_init(|| match &self.folder {
            Some(folder) => Location::Sqlite(folder.path().join("data")),
            None => Location::Postgres(self.database().url.clone()),
        })
    }

    /// The flags with which the program uses this database.
    pub fn flags(&self) -> Vec<String> {
        match self.location() {
            Location::Sqlite(folder) => vec!["--data".into(), folder.display().to_string()],
            Location::Postgres(url) => vec!["--database".into(), url.clone()],
        }
    }

    /// Opens the database of a service.
    pub fn open(&self, service: &'static str, migrations: &[Migrations]) -> Db {
        let databases = match self.engine {
            Engine::Postgres if self.location.get().is_none() => {
                self.database.get_or_init(|| Database::migrated(service, migrations)).connect()
            }
            _ => self.connect(),
        };
        databases.open(service, migrations).expect("the test's database opens")
    }

    /// For several services in one process.
    pub fn connect(&self) -> Databases {
        Databases::connect(self.location(), limits()).expect("the test's database accepts connections")
    }

    /// The folder of an embedded database.
    pub fn folder(&self) -> Option<PathBuf> {
        match self.location() {
            Location::Sqlite(folder) => Some(folder.clone()),
            Location::Postgres(_) => None,
        }
    }
}

/// A temporary folder that only its owner can enter, as a data folder must be.
pub fn private_folder() -> tempfile::TempDir {
    let own = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    tempfile::Builder::new().permissions(own).tempdir().expect("a temporary folder")
}

/// The fixture of a test, on the given engine.
pub trait Fixture: Sized {
    fn start(engine: Engine) -> impl Future<Output = Self>;
}

impl Fixture for Store {
    async fn start(engine: Engine) -> Self {
        Store::new(engine)
    }
}

#[doc(hidden)]
pub fn run<F: Fixture>(engine: Engine, test: impl AsyncFnOnce(F)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async { test(F::start(engine).await).await });
}

/// Declares tests that run on both engines, as `name::sqlite` and `name::postgres`:
///
/// ```text
/// testkit::on_both_engines! {
///     async fn row_is_stored(store: Store) { … }
/// }
/// ```
#[macro_export]
macro_rules! on_both_engines {
    ($($(#[$meta:meta])* async fn $name:ident($fixture:ident: $type:ty) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            pub(super) async fn test($fixture: $type) $body

            #[test]
            fn sqlite() {
                $crate::run($crate::Engine::Sqlite, test);
            }

            #[test]
            fn postgres() {
                $crate::run($crate::Engine::Postgres, test);
            }
        }
    )*};
}

/// Declares tests of routes, headers, documents and pages, which do not depend on the engine. They run on SQLite. Tests of stored
/// data use [`on_both_engines!`](crate::on_both_engines).
#[macro_export]
macro_rules! on_one_engine {
    ($($(#[$meta:meta])* async fn $name:ident($fixture:ident: $type:ty) $body:block)*) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            async fn test($fixture: $type) $body

            $crate::run($crate::Engine::Sqlite, test);
        }
    )*};
}
