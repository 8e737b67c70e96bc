//! Statements that go straight to the worker of Citus that has a schema. Here the worker is a proxy in front of the same server, so that
//! it can be taken away, and the tables that say which worker it is are those of Citus.

use std::net::SocketAddr;

use db::{Databases, Db, Error, Location, Migrations};
use testkit::{Engine, Proxy, Store};

const SCHEMA: &[Migrations] = &[Migrations::new(
    "places",
    &[("0001_places", "CREATE TABLE place (name TEXT NOT NULL)", "CREATE TABLE place (name TEXT NOT NULL)")],
)];

/// The tables of Citus with a worker at this port.
fn catalog(port: u16) -> [String; 6] {
    [
        "CREATE TABLE public.pg_dist_schema (schemaid oid, colocationid integer)".into(),
        "CREATE TABLE public.pg_dist_partition (logicalrelid oid, colocationid integer)".into(),
        "CREATE TABLE public.pg_dist_shard (logicalrelid oid, shardid bigint)".into(),
        "CREATE TABLE public.pg_dist_placement (shardid bigint, groupid integer)".into(),
        "CREATE TABLE public.pg_dist_node (groupid integer, nodename text, nodeport integer, noderole text)"
            .into(),
        format!(
            "INSERT INTO public.pg_dist_node VALUES (7, '127.0.0.1', {port}, 'primary'), (7, '127.0.0.1', 1, 'secondary')"
        ),
    ]
}

/// Enters a schema that is on the worker.
fn distribute(schema: &str) -> [String; 4] {
    [
        format!("INSERT INTO public.pg_dist_schema VALUES ('{schema}'::regnamespace, 3)"),
        format!("INSERT INTO public.pg_dist_partition VALUES ('{schema}.place'::regclass, 3)"),
        format!("INSERT INTO public.pg_dist_shard VALUES ('{schema}.place'::regclass, 102008)"),
        "INSERT INTO public.pg_dist_placement VALUES (102008, 7)".into(),
    ]
}

/// Runs statements.
async fn run(db: &Db, statements: impl IntoIterator<Item = String>) {
    for statement in statements {
        let statement: &'static str = statement.leak();
        db.write(move |tx| tx.execute(statement, &[])).await.unwrap();
    }
}

async fn names(db: &Db) -> Result<Vec<String>, Error> {
    db.read(|tx| tx.rows("SELECT name FROM place ORDER BY name", &[], |row| row.get(0))).await
}

async fn add(db: &Db, name: &'static str) -> Result<(), Error> {
    db.write(move |tx| tx.execute("INSERT INTO place (name) VALUES ($1)", &[name.into()]).map(drop)).await
}

fn is_unavailable<T>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Unavailable(_)))
}

/// A server of which a part of the schemas is on a worker.
async fn with_worker(store: &Store) -> (Databases, Proxy) {
    let Location::Postgres(url) = store.location() else { panic!("not PostgreSQL") };
    let server: SocketAddr = url.split(['@', '/']).nth(3).unwrap().parse().unwrap();
    let worker = Proxy::forwarding(server);
    run(&store.open("places", SCHEMA), catalog(worker.address().port())).await;
    (store.connect().with_workers().unwrap(), worker)
}

#[test]
fn statements_of_a_distributed_schema_go_to_its_worker() {
    testkit::run(Engine::Postgres, async |store: Store| {
        let (databases, worker) = with_worker(&store).await;
        let through_coordinator = databases.open("places", SCHEMA).unwrap();
        run(&through_coordinator, distribute("places")).await;
        let db = databases.open("places", SCHEMA).unwrap();
        add(&db, "first").await.unwrap();
        assert_eq!(names(&db).await.unwrap(), ["first"]);

        worker.cut();
        assert!(is_unavailable(&names(&db).await));
        assert!(is_unavailable(&add(&db, "lost").await));
        assert_eq!(names(&through_coordinator).await.unwrap(), ["first"]);
        // What creates and drops tables goes through the coordinator.
        db.save_copy("monday", &["place"]).await.unwrap();
        add(&through_coordinator, "second").await.unwrap();
        assert!(db.restore_copy("monday", &["place"]).await.unwrap());
        assert!(db.delete_copy("monday").await.unwrap());

        worker.forward();
        assert_eq!(names(&db).await.unwrap(), ["first"]);
        add(&db, "third").await.unwrap();
        assert_eq!(names(&through_coordinator).await.unwrap(), ["first", "third"]);
    });
}

#[test]
fn statements_of_a_group_go_to_its_worker() {
    testkit::run(Engine::Postgres, async |store: Store| {
        let (databases, worker) = with_worker(&store).await;
        let (ada, bob) = (databases.group("ada").unwrap(), databases.group("bob").unwrap());
        run(&ada.open("places", SCHEMA).unwrap(), distribute("sandbox_ada_places")).await;
        let (of_ada, of_bob) = (ada.open("places", SCHEMA).unwrap(), bob.open("places", SCHEMA).unwrap());
        add(&of_ada, "ada").await.unwrap();
        add(&of_bob, "bob").await.unwrap();
        worker.cut();
        assert!(is_unavailable(&names(&of_ada).await));
        assert_eq!(names(&of_bob).await.unwrap(), ["bob"]);
        // A group that is opened while its worker is away is refused at once.
        let other_process = store.connect().with_workers().unwrap();
        let refused = other_process.group("ada").unwrap().open("places", SCHEMA).err().unwrap().to_string();
        assert!(refused.starts_with("cannot connect to the database at 127.0.0.1:"), "{refused}");
        assert!(refused.ends_with("by the names that Citus has for them"), "{refused}");
    });
}

#[test]
fn server_without_citus_has_no_workers() {
    testkit::run(Engine::Postgres, async |store: Store| {
        let refused = store.connect().with_workers().unwrap().open("places", SCHEMA);
        assert_eq!(
            refused.err().unwrap().to_string(),
            "cannot prepare the schema places: database_workers cannot find the worker in the tables of Citus: db error: \
             ERROR: relation \"pg_dist_schema\" does not exist"
        );
    });
    testkit::run(Engine::Sqlite, async |store: Store| {
        let refused = store.connect().with_workers();
        assert_eq!(refused.err().unwrap().to_string(), "a folder has no workers");
    });
}
