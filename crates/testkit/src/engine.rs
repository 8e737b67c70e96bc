//! Tests that run on both engines.

use std::{path::PathBuf, time::Duration};

use db::{Databases, Db, Limits, Location, Migrations};

use crate::{cluster::Database, pooler::Pooler};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// An empty database for one test. It is deleted when this is dropped.
pub struct Store {
    location: Location,
    engine: Engine,
    _folder: Option<tempfile::TempDir>,
    // Dropped before the database, to which it has connections.
    _pooler: Option<Pooler>,
    database: Option<Database>,
}

impl Store {
    pub fn new(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => {
                let folder = tempfile::tempdir().expect("a temporary folder");
                let location = Location::Sqlite(folder.path().join("data"));
                Store { location, engine, _folder: Some(folder), _pooler: None, database: None }
            }
            Engine::Postgres => {
                let database = Database::create();
                let location = Location::Postgres(database.url.clone());
                Store { location, engine, _folder: None, _pooler: None, database: Some(database) }
            }
        }
    }

    /// On PostgreSQL behind a PgBouncer that gives each transaction another session, with one of
    /// [`max_prepared_statements`](crate::max_prepared_statements).
    pub fn pooled(max_prepared_statements: u32) -> Self {
        let direct = Store::new(Engine::Postgres);
        let database = direct.database.as_ref().expect("a database of PostgreSQL");
        let pooler = Pooler::start(database, max_prepared_statements);
        Store { location: Location::Postgres(pooler.url.clone()), _pooler: Some(pooler), ..direct }
    }

    /// The same database, without the pooler.
    pub fn direct(&self) -> Location {
        let url = self.database.as_ref().map(|database| database.url.clone());
        url.map_or_else(|| self.location.clone(), Location::Postgres)
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The flags with which the program uses this database.
    pub fn flags(&self) -> Vec<String> {
        match &self.location {
            Location::Sqlite(folder) => vec!["--data".into(), folder.display().to_string()],
            Location::Postgres(url) => vec!["--database".into(), url.clone()],
        }
    }

    /// Opens the database of a service.
    pub fn open(&self, service: &'static str, migrations: &[Migrations]) -> Db {
        self.connect().open(service, migrations).expect("the test's database opens")
    }

    /// For several services in one process, with few connections: hundreds of tests share one server.
    pub fn connect(&self) -> Databases {
        // On a busy machine a queue of hundreds may take longer than the default; tests of deadlines set their own.
        let wait = Duration::from_secs(60);
        let limits = Limits { connections: 4, wait, ..Limits::default() };
        Databases::connect(&self.location, limits).expect("the test's database accepts connections")
    }

    /// The folder of an embedded database.
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.location {
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
