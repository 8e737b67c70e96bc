//! Demo accounts that were deleted are there again after a reset.

use std::sync::Arc;

use db::Tx;
use identity::{ApiKeys, Hashing};
use serde_json::{Value, json};
use service::{Instance, Service};
use testkit::{Answer, Engine, Store, on_both_engines};
use web::{Clock, Random};

use crate::fixture::{Process, World};

/// Logs the demo user in.
async fn log_in(process: &Process, prefix: &str) -> Answer {
    process.petstore.get(&format!("{prefix}/v3/user/login?username=demo&password=demo")).send().await
}

/// Deletes the account of the demo user, as that user.
async fn delete_demo_user(process: &Process, prefix: &str) {
    let answer = log_in(process, prefix).await;
    let session =
        answer.has_status(200).text().rsplit(':').next().unwrap().trim_matches(['"', ' ']).to_owned();
    let delete = process.petstore.delete(&format!("{prefix}/v3/user/demo"));
    delete.header("authorization", &format!("Bearer {session}")).send().await.has_status(200);
    assert_ne!(log_in(process, prefix).await.status, 200);
}

on_both_engines! {
    async fn deleted_demo_user_can_sign_in_after_a_reset_or_a_restore(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        process.control("POST", &ada, "/snapshots", Some(json!({"name": "one"}))).await.has_status(201);
        for control in ["/reset", "/snapshots/one/restore"] {
            delete_demo_user(process, "/sandbox/ada").await;
            process.control("POST", &ada, control, None).await.has_status(204);
            log_in(process, "/sandbox/ada").await.has_status(200);
        }
        // Its profile is there as well.
        let profile = process.petstore.get("/sandbox/ada/v3/user/demo").send().await.has_status(200).json();
        assert_eq!((&profile["id"], &profile["firstName"]), (&json!(2), &json!("Dana")));
    }

    async fn reset_keeps_a_changed_account(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        let changed = json!({"username": "demo", "firstName": "Ada"});
        process.petstore.put("/sandbox/ada/v3/user/demo").json(&changed).send().await.has_status(200);
        process.control("POST", &ada, "/reset", None).await.has_status(204);
        let profile = process.petstore.get("/sandbox/ada/v3/user/demo").send().await.has_status(200).json();
        assert_eq!(profile["firstName"], "Ada");
    }
}

async fn missing_sign_in_is_added_again(engine: Engine) {
    let (store, clock) = (Store::new(engine), Clock::system());
    let databases = store.connect();
    let services: [(Arc<dyn Service>, &[&str]); 3] = [
        (Arc::new(petstore::Settings::default()), &["demo", "theUser", "user1"]),
        (Arc::new(train::Settings::default()), &["demo", "alice"]),
        (Arc::new(museum::Settings::default()), &["demo"]),
    ];
    for (service, users) in services {
        let description = service.description();
        let open = {
            let databases = databases.clone();
            move || databases.open(description.name, description.migrations)
        };
        let db = tokio::task::spawn_blocking(open).await.unwrap().unwrap();
        let instance = Instance::new(db.clone(), clock.clone(), Random::system());
        let instance = Instance { demo: true, hashing: Hashing::LEAST_WORK, ..instance };
        let _running = service.open(instance.clone()).await.unwrap();
        let accounts = description.accounts(&instance).unwrap();
        let keys = ApiKeys::new(true, db.clone(), clock.clone(), Random::system());
        let clients = async || {
            let ids =
                |tx: &mut Tx<'_>| tx.rows("SELECT id FROM oauth_client", &[], |row| row.get::<String>(0));
            if description.oauth.is_some() { db.read(ids).await.unwrap() } else { Vec::new() }
        };
        let state = async || {
            let mut found = Vec::new();
            for user in users {
                found.push(accounts.find(user).await.unwrap().is_some());
            }
            let key = description.has_api_keys && keys.is_valid("special-key").await.unwrap();
            (found, key, clients().await)
        };
        let before = state().await;
        assert!(before.0.iter().all(|found| *found), "{before:?}");
        for user in users {
            service.remove_user(&instance, user).await.unwrap();
        }
        if description.has_api_keys {
            assert!(keys.remove("demo").await.unwrap());
        }
        if description.oauth.is_some() {
            let server = description.authorization_server(&instance).await.unwrap();
            for client in ["demo", "guest", "pages"] {
                assert!(server.remove_client(client).await.unwrap(), "{client}");
            }
        }
        assert_eq!(state().await, (vec![false; users.len()], false, Vec::new()));
        // The second time changes nothing.
        for _ in 0..2 {
            service.add_demo_sign_in(&instance).await.unwrap();
            assert_eq!(state().await, before, "{}", description.name);
        }
    }
}

#[tokio::test]
async fn missing_sign_in_of_each_service_is_added_again_on_sqlite() {
    missing_sign_in_is_added_again(Engine::Sqlite).await;
}

#[tokio::test]
async fn missing_sign_in_of_each_service_is_added_again_on_postgres() {
    missing_sign_in_is_added_again(Engine::Postgres).await;
}

#[tokio::test]
async fn reset_of_the_root_adds_the_demo_user_again() {
    let store = Store::new(Engine::Sqlite);
    let process = Process::start_with_root(&store, true).await;
    delete_demo_user(&process, "").await;
    process.root_control("POST", "/reset", None).await.has_status(204);
    let session: Value = log_in(&process, "").await.has_status(200).json();
    assert!(session.is_string(), "{session}");
}
