//! The databases of tests on the test cluster. A test gets one that an earlier test has used: creating a database, its tables and
//! connections to it takes longer than most tests.

use std::{
    mem,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use db::{Databases, Limits, Location, Migrations};
use postgres::{Client, SimpleQueryMessage};

use crate::{
    cluster::{cluster, on_a_thread},
    tables::Tables,
};

/// A database that one test uses at a time.
pub(crate) struct Database {
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) port: u16,
    /// The tables of a service, which it had when the test got it, and the connections to them.
    opened: Option<Opened>,
    /// Whether it may have other connections than those of `opened`.
    is_shared: AtomicBool,
}

struct Opened {
    tables: Tables,
    /// Restores the tables.
    client: Mutex<Option<Client>>,
    /// The connections of each opening by the test. Those of the first one stay open for the next test.
    connections: Mutex<Vec<Databases>>,
    /// Open connections of an earlier test.
    kept: Mutex<Option<Databases>>,
}

/// A database of a test that has ended, without tables, or with those of a service and the rows of the test.
struct Used {
    name: String,
    opened: Option<Opened>,
}

static USED: Mutex<Vec<Used>> = Mutex::new(Vec::new());

/// How many databases keep their connections after a test: each that background tasks still use, and one for each test that runs.
const KEPT: usize = 12;

/// A connection that creates, renames and closes the databases of tests. A connection costs more than most statements.
static ADMINISTRATOR: Mutex<Option<Client>> = Mutex::new(None);

/// The schemas that a test made in its database, as a list for `DROP SCHEMA`.
const SCHEMAS: &str = "SELECT string_agg(quote_ident(nspname), ', ') FROM pg_namespace
    WHERE NOT starts_with(nspname, 'pg_') AND nspname <> 'information_schema'";

impl Database {
    /// An empty database.
    pub(crate) fn create() -> Self {
        let free = take(|used| used.opened.is_none());
        let name = free.map_or_else(
            || {
                let name = new_name();
                administer(&[format!("CREATE DATABASE {name}")]).expect("the test cluster makes a database");
                name
            },
            |used| used.name,
        );
        let server = cluster();
        let is_shared = AtomicBool::new(false);
        Database { url: server.url(&name), name, port: server.port, opened: None, is_shared }
    }

    /// A database with the empty tables of a service.
    pub(crate) fn migrated(service: &'static str, migrations: &[Migrations]) -> Self {
        let is_right = |used: &Used| used.opened.as_ref().is_some_and(|one| one.is_of(service, migrations));
        while let Some(Used { name, opened: Some(mut opened) }) = take(is_right) {
            if opened.restore(&name) {
                let server = cluster();
                let (url, is_shared) = (server.url(&name), AtomicBool::new(false));
                return Database { url, name, port: server.port, opened: Some(opened), is_shared };
            }
            // The test has changed more than rows.
            give_back(&name, Some(opened));
        }
        let mut new = Database::create();
        let databases = new.connect_anew();
        drop(databases.open(service, migrations).expect("the test's database opens"));
        let read = cluster().connected(&new.name, |mut client| {
            let tables = Tables::read(&mut client, service, migrations.to_vec())?;
            let kept = Some(databases).into();
            let (client, connections) = Default::default();
            new.opened = Some(Opened { tables, client, connections, kept });
            Ok(())
        });
        read.expect("the tables of the service are read");
        new
    }

    /// Connections to a database with the tables of a service: at first those that are open.
    pub(crate) fn connect(&self) -> Databases {
        let Some(opened) = &self.opened else { return self.connect_anew() };
        let kept = lock(&opened.kept).take();
        let databases = kept.unwrap_or_else(|| self.connect_anew());
        lock(&opened.connections).push(databases.clone());
        databases
    }

    fn connect_anew(&self) -> Databases {
        Databases::connect(&Location::Postgres(self.url.clone()), limits())
            .expect("the test's database accepts connections")
    }

    /// Says that it may have other connections, such as those of another process.
    pub(crate) fn share(&self) -> &Self {
        self.is_shared.store(true, Ordering::Relaxed);
        self
    }
}

/// Few connections: hundreds of tests share one server.
pub(crate) fn limits() -> Limits {
    // On a busy machine a queue of hundreds may take longer than the default; tests of deadlines set their own.
    Limits { connections: 4, wait: Duration::from_secs(60), ..Limits::default() }
}

impl Opened {
    /// Whether it has these tables, and no task of an earlier test uses them.
    fn is_of(&self, service: &str, migrations: &[Migrations]) -> bool {
        self.tables.service == service
            && self.tables.migrations == migrations
            && lock(&self.connections).iter().all(Databases::is_idle)
    }

    /// Deletes the rows of the last test, and keeps the connections of its first opening. Returns false if it has changed more than rows.
    fn restore(&mut self, name: &str) -> bool {
        let mut connections = mem::take(&mut *lock(&self.connections));
        if !connections.is_empty() {
            let first = connections.swap_remove(0);
            lock(&self.kept).get_or_insert(first);
        }
        let restored = on_a_thread(|| {
            drop(connections);
            let mut client = lock(&self.client);
            let client = match &mut *client {
                Some(client) => client,
                none => none.insert(cluster().connect(name)?),
            };
            self.tables.restore(client)
        });
        // After an error all schemas are dropped.
        restored.unwrap_or(false)
    }
}

fn take(is_right: impl FnMut(&Used) -> bool) -> Option<Used> {
    let mut used = lock(&USED);
    let found = used.iter().position(is_right)?;
    Some(used.swap_remove(found))
}

/// Runs statements about the databases of tests. Their connection is to none of them.
fn administer(statements: &[String]) -> Result<(), postgres::Error> {
    let server = cluster();
    on_a_thread(|| {
        let mut client = lock(&ADMINISTRATOR);
        let client = match &mut *client {
            Some(client) => client,
            none => none.insert(server.connect("postgres")?),
        };
        statements.iter().try_for_each(|statement| client.batch_execute(statement))
    })
}

/// Deletes all schemas of a database.
fn empty(client: &mut Client) -> Result<(), postgres::Error> {
    let found = client.simple_query(SCHEMAS)?;
    let schemas = found.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let drop = schemas.map(|schemas| format!("DROP SCHEMA {schemas} CASCADE;")).unwrap_or_default();
    client.batch_execute(&format!("{drop} CREATE SCHEMA public"))
}

impl Drop for Database {
    fn drop(&mut self) {
        let (name, opened) = (mem::take(&mut self.name), self.opened.take());
        if opened.is_some() && !*self.is_shared.get_mut() && !thread::panicking() {
            let mut used = lock(&USED);
            if used.iter().filter(|used| used.opened.is_some()).count() < KEPT {
                used.push(Used { name, opened });
                return;
            }
        }
        give_back(&name, opened);
    }
}

/// Ends all sessions of a database, and empties it for another test.
fn give_back(old: &str, opened: Option<Opened>) {
    let new = new_name();
    // Processes of the test may still run for a moment. They must not reach the database of the next test, so the database
    // gets another name while no session can start.
    let closed = format!("ALTER DATABASE {old} WITH ALLOW_CONNECTIONS false");
    let end_sessions = |name: &str| {
        format!("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'")
    };
    let renamed = format!(
        "ALTER DATABASE {old} RENAME TO {new}; ALTER DATABASE {new} RESET ALL;
         ALTER DATABASE {new} WITH ALLOW_CONNECTIONS true"
    );
    let emptied = administer(&[closed, end_sessions(old), renamed])
        .and_then(|()| cluster().connected(&new, |mut client| empty(&mut client)))
        // The session above may take a moment to end, and the next test may count sessions.
        .and_then(|()| administer(&[end_sessions(&new)]));
    emptied.expect("the database of the test is emptied");
    on_a_thread(|| drop(opened));
    lock(&USED).push(Used { name: new, opened: None });
}

fn new_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
