//! The template: made in the background, and deleted when no process uses it.

use db::{Databases, Db};
use jiff::{SignedDuration, Timestamp};
use sandbox::Limits;
use testkit::{Engine, Store, on_both_engines};
use web::Clock;

use crate::fixture::Process;

/// The templates that there are.
async fn templates(databases: &Databases) -> Vec<String> {
    let databases = databases.clone();
    let groups = tokio::task::spawn_blocking(move || databases.groups()).await.unwrap().unwrap();
    groups.into_iter().filter(|group| group.starts_with("template")).collect()
}

/// Makes the template of another version.
async fn make(databases: &Databases, name: &'static str) {
    let group = databases.group(name).unwrap();
    tokio::task::spawn_blocking(move || group.open("petstore", &[]).unwrap()).await.unwrap();
}

/// Notes the use of a template in the registry.
async fn note(registry: &Db, name: &'static str, used_at: Timestamp) {
    let noted: Result<(), db::Error> = registry
        .write(move |tx| {
            tx.execute(
                "INSERT INTO template (name, used_at, ready) VALUES ($1, $2, TRUE)
                 ON CONFLICT (name) DO UPDATE SET used_at = excluded.used_at",
                &[name.into(), used_at.into()],
            )
            .map(drop)
        })
        .await;
    noted.unwrap();
}

on_both_engines! {
    async fn template_is_made_before_the_first_sandbox(store: Store) {
        let process = Process::start(&store, true, Limits::default()).await;
        process.sandboxes.wait_for_template().await;
        assert_eq!(templates(&process.databases).await.len(), 1);
        process.create("ada").await;
        assert_eq!(templates(&process.databases).await.len(), 1);
    }

    async fn template_that_no_process_uses_is_deleted(store: Store) {
        let databases = store.connect();
        let old = ["template-00000001", "template-00000002", "template-00000003"];
        for name in old {
            make(&databases, name).await;
        }
        let registry = databases.open(sandbox::DATABASE, sandbox::MIGRATIONS).unwrap();
        let now = Clock::machine_time();
        note(&registry, old[0], now - SignedDuration::from_hours(25)).await;
        note(&registry, old[1], now - SignedDuration::from_hours(23)).await;
        drop((registry, databases));
        let process = Process::start(&store, true, Limits::default()).await;
        process.sandboxes.delete_unused_templates().await.unwrap();
        let mut left = templates(&process.databases).await;
        left.retain(|name| old.contains(&name.as_str()));
        match store.engine() {
            // No other process can use the folder.
            Engine::Sqlite => assert_eq!(left, <[&str; 0]>::default()),
            // A process of another version may use one, or make one.
            Engine::Postgres => assert_eq!(left, old[1..]),
        }
        process.create("ada").await;
    }

    async fn deleted_template_is_made_again(store: Store) {
        let process = Process::start(&store, true, Limits::default()).await;
        process.create("ada").await;
        let own = templates(&process.databases).await;
        let group = process.databases.group(&own[0]).unwrap();
        tokio::task::spawn_blocking(move || group.remove_group()).await.unwrap().unwrap();
        let failed = process.petstore.post("/sandboxes").json(&serde_json::json!({"name": "bob"})).send().await;
        crate::fixture::is_problem(&failed, 503, "/sandboxes", "unavailable");
        process.create("bob").await;
        assert_eq!(templates(&process.databases).await, own);
        process.petstore.get("/sandbox/bob/v3/pet/1").header("api_key", "special-key").send().await.has_status(200);
    }

    async fn data_without_a_sandbox_is_deleted(store: Store) {
        let process = Process::start(&store, true, Limits::default()).await;
        let (ada, bob) = (process.create("ada").await, process.create("bob").await);
        process.control("DELETE", &bob, "", None).await.has_status(204);
        // As a process does that has not seen the deletion yet, and with a name that no sandbox had.
        for name in ["bob", "nothing"] {
            let group = process.databases.group(name).unwrap();
            let open = move || group.open("petstore", petstore::MIGRATIONS).map(drop);
            tokio::task::spawn_blocking(open).await.unwrap().unwrap();
        }
        let groups = async || {
            let databases = process.databases.clone();
            let mut groups = tokio::task::spawn_blocking(move || databases.groups()).await.unwrap().unwrap();
            groups.retain(|name| !name.starts_with("template-"));
            groups
        };
        assert_eq!(groups().await, ["ada", "bob", "nothing"]);
        process.sandboxes.delete_orphans().await.unwrap();
        assert_eq!(groups().await, ["ada"]);
        process.control("GET", &ada, "/clock", None).await.has_status(200);
        // The names are free.
        process.create("bob").await;
        process.create("nothing").await;
    }
}
