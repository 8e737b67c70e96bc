//! Reads that may be stale, on a replica. Here it is another database, so that a row shows where it was read.

use std::net::TcpListener;

use db::{Databases, Db, Error, Location, Migrations, Tx};
use testkit::{Engine, Store};

const SCHEMA: &[Migrations] = &[Migrations::new(
    "places",
    &[("0001_places", "CREATE TABLE place (name TEXT NOT NULL)", "CREATE TABLE place (name TEXT NOT NULL)")],
)];

fn url(store: &Store) -> String {
    let Location::Postgres(url) = store.location() else { panic!("not PostgreSQL") };
    url.clone()
}

/// Opens a database in which the place has this name.
async fn open(databases: &Databases, place: &'static str) -> Db {
    let db = databases.open("places", SCHEMA).unwrap();
    db.write(move |tx| tx.execute("INSERT INTO place (name) VALUES ($1)", &[place.into()])).await.unwrap();
    db
}

fn place(tx: &mut Tx<'_>) -> Result<Option<String>, Error> {
    tx.row("SELECT name FROM place", &[], |row| row.get(0))
}

/// Where the reads of a database come from: one that may be stale, a long one, and two that may not be stale.
async fn places(db: &Db) -> [String; 4] {
    [
        db.read_stale(place).await.unwrap().unwrap(),
        db.read_long_stale(place).await.unwrap().unwrap(),
        db.read(place).await.unwrap().unwrap(),
        db.read_long(place).await.unwrap().unwrap(),
    ]
}

#[test]
fn only_stale_reads_of_services_run_on_the_replica() {
    testkit::run(Engine::Postgres, async |primary: Store| {
        let replica = Store::new(Engine::Postgres);
        let other = open(&replica.connect(), "replica").await;
        let databases = primary.connect().with_replica(&url(&replica)).await.unwrap();
        let db = open(&databases, "primary").await;
        assert_eq!(places(&db).await, ["replica", "replica", "primary", "primary"]);
        db.write(|tx| tx.execute("UPDATE place SET name = 'written'", &[])).await.unwrap();
        assert_eq!(places(&db).await, ["replica", "replica", "written", "written"]);
        let sandbox = open(&databases.group("ada").unwrap(), "sandbox").await;
        assert_eq!(places(&sandbox).await, ["sandbox"; 4]);
        // What fails on the replica runs on the primary: it may lack a table that was made a moment ago.
        other.write(|tx| tx.execute("DELETE FROM place", &[])).await.unwrap();
        let must_be_there = |tx: &mut Tx<'_>| place(tx)?.ok_or_else(|| Error::Fault("no place".into()));
        assert_eq!(db.read_stale(must_be_there).await.unwrap(), "written");
        assert_eq!(db.read_long_stale(must_be_there).await.unwrap(), "written");
        other.write(|tx| tx.execute("DROP TABLE places.place", &[])).await.unwrap();
        assert_eq!(places(&db).await, ["written"; 4]);
    });
}

#[test]
fn stale_reads_run_on_the_primary_without_a_replica() {
    testkit::run(Engine::Sqlite, async |store: Store| {
        let db = open(&store.connect(), "file").await;
        assert_eq!(places(&db).await, ["file"; 4]);
        let refused = store.connect().with_replica("postgres://host/base").await;
        assert_eq!(refused.err().unwrap().to_string(), "a folder has no replica");
    });
    testkit::run(Engine::Postgres, async |store: Store| {
        let invalid = store.connect().with_replica("postgres://me:s3cret@host:port/base").await;
        assert_eq!(
            invalid.err().unwrap().to_string(),
            "cannot use the replica: the database URL is not valid: invalid connection string: invalid value for option \
             `port`"
        );
        // Nothing listens there any more.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let away = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let db = open(&store.connect().with_replica(&away).await.unwrap(), "primary").await;
        assert_eq!(places(&db).await, ["primary"; 4]);
    });
}
