//! One way of writing a test that runs it on both engines.

use std::path::PathBuf;

use db::{Db, Limits, Location, Migrations};

use crate::cluster::Database;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// An empty database of one test's own. It goes when this is dropped.
pub struct Store {
    location: Location,
    engine: Engine,
    _folder: Option<tempfile::TempDir>,
    _database: Option<Database>,
}

impl Store {
    pub fn new(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => {
                let folder = tempfile::tempdir().expect("a temporary folder");
                let location = Location::Sqlite(folder.path().join("data"));
                Store { location, engine, _folder: Some(folder), _database: None }
            }
            Engine::Postgres => {
                let database = Database::create();
                let location = Location::Postgres(database.url.clone());
                Store { location, engine, _folder: None, _database: Some(database) }
            }
        }
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The flags that point the program at this database.
    pub fn flags(&self) -> Vec<String> {
        match &self.location {
            Location::Sqlite(folder) => vec!["--data".into(), folder.display().to_string()],
            Location::Postgres(url) => vec!["--database".into(), url.clone()],
        }
    }

    /// Opens it, with few connections: hundreds of tests share one server.
    pub fn open(&self, service: &'static str, migrations: &[Migrations]) -> Db {
        let limits = Limits { connections: 4, ..Limits::default() };
        Db::open(&self.location, service, migrations, limits).expect("the test's database opens")
    }

    /// The folder of an embedded database.
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.location {
            Location::Sqlite(folder) => Some(folder.clone()),
            Location::Postgres(_) => None,
        }
    }
}

/// What a test starts with, on the engine it is to run on.
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
///     async fn a_row_is_kept(store: Store) { … }
/// }
/// ```
#[macro_export]
macro_rules! on_both_engines {
    ($($(#[$meta:meta])* async fn $name:ident($fixture:ident: $type:ty) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            async fn test($fixture: $type) $body

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
