//! Resets, snapshots and the clock.

use sandbox::Limits;
use serde_json::json;
use testkit::{Engine, on_both_engines};

use crate::fixture::{Process, World, is_problem};

on_both_engines! {
    async fn reset_restores_the_data_and_keeps_the_sign_in(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let inventory = || process.petstore.get("/sandbox/ada/v3/store/inventory").header("api_key", "special-key").send();
        let before = inventory().await.json();
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        for id in [1, 2, 3] {
            process.petstore.delete(&format!("/sandbox/ada/v3/pet/{id}")).send().await.has_status(200);
        }
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "enforce"}))).await.has_status(200);
        assert_ne!(inventory().await.json(), before);
        process.control("POST", &ada, "/reset", None).await.has_status(204);
        assert_eq!(inventory().await.json(), before);
        let pet = process.petstore.get("/sandbox/ada/v3/pet/1").header("api_key", "special-key").send().await;
        assert_eq!(pet.json()["name"], "Minka");
    }

    async fn snapshot_is_restored_by_its_name(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        let delete = async |id: i64| process.petstore.delete(&format!("/sandbox/ada/v3/pet/{id}")).send().await.status;
        assert_eq!(delete(1).await, 200);
        let saved = process.control("POST", &ada, "/snapshots", Some(json!({"name": "one"}))).await;
        saved.is(201, &json!({"name": "one"}));
        assert_eq!(delete(2).await, 200);
        process.control("POST", &ada, "/snapshots/one/restore", None).await.has_status(204);
        assert_eq!(delete(2).await, 200);
        assert_eq!(delete(1).await, 404);
        let all = process.control("GET", &ada, "/snapshots", None).await;
        all.is(200, &json!({"snapshots": [{"name": "one"}]}));
        process.control("DELETE", &ada, "/snapshots/one", None).await.has_status(204);
        let gone = process.control("POST", &ada, "/snapshots/one/restore", None).await;
        is_problem(&gone, 404, "/sandbox/ada/_control", "not-found");
        let seed = process.control("POST", &ada, "/snapshots", Some(json!({"name": "seed"}))).await;
        is_problem(&seed, 400, "/sandbox/ada/_control", "invalid-request");
    }

    async fn keys_are_rotated_in_one_sandbox_only(world: World) {
        let process = &world.process;
        let (ada, _) = (process.create("ada").await, process.create("bob").await);
        let keys = async |sandbox: &str| {
            let set = process.train.get(&format!("/sandbox/{sandbox}/oauth/jwks.json")).send().await.has_status(200).json();
            set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let (before, other) = (keys("ada").await, keys("bob").await);
        assert_eq!(before.len(), 1);
        process.control("POST", &ada, "/sign-in/rotate-keys", Some(json!({}))).await.has_status(204);
        let both = keys("ada").await;
        assert_eq!((both.len(), both.contains(&before[0])), (2, true));
        process.control("POST", &ada, "/sign-in/rotate-keys", Some(json!({"old": "remove"}))).await.has_status(204);
        let new = keys("ada").await;
        assert_eq!((new.len(), both.contains(&new[0])), (1, false));
        assert_eq!(keys("bob").await, other);
        let wrong = process.control("POST", &ada, "/sign-in/rotate-keys", Some(json!({"old": "burn"}))).await;
        is_problem(&wrong, 400, "/sandbox/ada/_control", "invalid-request");
    }

    async fn clock_moves_one_sandbox_only(world: World) {
        let process = &world.process;
        let (ada, bob) = (process.create("ada").await, process.create("bob").await);
        let set = json!({"time": "2030-01-01T00:00:00Z", "frozen": true});
        let clock = process.control("PATCH", &ada, "/clock", Some(set)).await;
        clock.is(200, &json!({"time": "2030-01-01T00:00:00Z", "frozen": true}));
        let clock = process.control("PATCH", &ada, "/clock", Some(json!({"advance": "1h 30m"}))).await;
        clock.is(200, &json!({"time": "2030-01-01T01:30:00Z", "frozen": true}));
        let hours = process.museum.get("/sandbox/ada/v1.1/museum-hours?limit=1").send().await;
        assert!(hours.json()[0]["date"].as_str().unwrap().starts_with("2030-01-0"), "{}", hours.text());
        let hours = process.museum.get("/sandbox/bob/v1.1/museum-hours?limit=1").send().await;
        assert!(hours.json()[0]["date"].as_str().unwrap().starts_with("202"), "{}", hours.text());
        let wrong = process.control("PATCH", &bob, "/clock", Some(json!({"advance": "soon"}))).await;
        is_problem(&wrong, 400, "/sandbox/bob/_control", "invalid-request");
        let wrong = process.control("PATCH", &bob, "/clock", Some(json!({"time": "0001-01-01T00:00:00Z"}))).await;
        is_problem(&wrong, 400, "/sandbox/bob/_control", "invalid-request");
    }
}

/// Another process sees each change when the control has answered.
#[test]
fn controls_hold_in_every_process() {
    testkit::run(Engine::Postgres, async |world: World| {
        let one = &world.process;
        let ada = one.create("ada").await;
        let other = Process::start(&world.store, true, Limits::default()).await;
        let get = || other.petstore.get("/sandbox/ada/v3/pet/1");
        get().header("api_key", "special-key").send().await.has_status(200);
        is_problem(&get().send().await, 401, "/sandbox/ada", "unauthorized");
        one.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        get().send().await.has_status(200);
        let set = json!({"time": "2030-01-01T00:00:00Z", "frozen": true});
        one.control("PATCH", &ada, "/clock", Some(set.clone())).await.has_status(200);
        other.control("GET", &ada, "/clock", None).await.is(200, &set);
        other.petstore.delete("/sandbox/ada/v3/pet/1").send().await.has_status(200);
        one.petstore.get("/sandbox/ada/v3/pet/1").send().await.has_status(404);
        one.control("POST", &ada, "/reset", None).await.has_status(204);
        get().send().await.has_status(200);
        one.control("DELETE", &ada, "", None).await.has_status(204);
        get().send().await.is_problem(404, "not-found");
    });
}
