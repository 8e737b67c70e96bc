//! Resets, snapshots and the clock.

use futures_util::future::join_all;
use sandbox::Limits;
use serde_json::{Value, json};
use testkit::{Engine, Store, on_both_engines};

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

    async fn sandbox_rotates_its_keys_once_at_a_time(world: World) {
        let process = &world.process;
        let (ada, bob) = (process.create("ada").await, process.create("bob").await);
        let rotate = |sandbox: &'static str| {
            let token = if sandbox == "ada" { &ada } else { &bob }["control_token"].as_str().unwrap();
            let call = process.petstore.post(&format!("/sandbox/{sandbox}/_control/sign-in/rotate-keys"));
            call.header("authorization", &format!("Bearer {token}")).json(&json!({})).send()
        };
        let answers = join_all((0..8).map(|_| rotate("ada")).chain([rotate("bob")])).await;
        let (of_ada, of_bob) = answers.split_at(8);
        of_bob[0].has_status(204);
        assert!(of_ada.iter().any(|answer| answer.status == 204));
        let refused: Vec<_> = of_ada.iter().filter(|answer| answer.status != 204).collect();
        assert!(!refused.is_empty());
        for answer in refused {
            let detail = is_problem(answer, 429, "/sandbox/ada/_control", "too-many-requests");
            assert_eq!(detail, "The keys of this sandbox are being rotated. Try again when that call has ended.");
            assert_eq!(answer.header("retry-after"), "1");
        }
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

    async fn clock_stays_in_the_years_2000_to_2100(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let set = async |change: Value| process.control("PATCH", &ada, "/clock", Some(change)).await;
        for (change, pointer, detail) in [
            (json!({"time": "1999-12-31T23:59:59Z"}), "#/time", "must be in the years 2000 to 2100"),
            (json!({"time": "2101-01-01T00:00:00Z"}), "#/time", "must be in the years 2000 to 2100"),
            (json!({"advance": "40000 days"}), "#/advance", "must lead to a time in the years 2000 to 2100"),
            (json!({"advance": "-20000 days"}), "#/advance", "must lead to a time in the years 2000 to 2100"),
            (json!({"advance": "400000000 days"}), "#/advance",
                "must be a duration in seconds, minutes, hours, days or weeks, such as 90s, 1h 30m, 2 days or PT1H, with a minus sign to \
                 move the clock back"),
        ] {
            let refused = set(change).await;
            is_problem(&refused, 400, "/sandbox/ada/_control", "invalid-request");
            assert_eq!(refused.json()["errors"], json!([{"pointer": pointer, "detail": detail}]));
        }
        for time in ["2000-01-01T00:00:00Z", "2100-12-31T23:59:59Z"] {
            let expected = json!({"time": time, "frozen": true});
            set(expected.clone()).await.is(200, &expected);
        }
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

/// Bytes that a database cannot compress.
fn noise(count: u64) -> Vec<u8> {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..count).map(next).collect()
}

async fn snapshots_have_a_limit_of_bytes_on(engine: Engine) {
    let limits = Limits { snapshot_bytes: 1_500_000, ..Limits::default() };
    let store = Store::new(engine);
    let process = Process::start(&store, true, limits).await;
    let ada = process.create("ada").await;
    process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
    let save =
        async |name: &str| process.control("POST", &ada, "/snapshots", Some(json!({"name": name}))).await;
    let upload = async || {
        let call = process.petstore.post("/sandbox/ada/v3/pet/1/uploadImage");
        call.body("application/octet-stream", noise(900_000)).send().await.has_status(200);
    };
    let refused = async |name: &str, detail: &str| {
        let answer = save(name).await;
        is_problem(&answer, 400, "/sandbox/ada/_control", "invalid-request");
        assert_eq!(answer.json()["errors"], json!([{"pointer": "#", "detail": detail}]));
    };
    upload().await;
    save("one").await.has_status(201);
    let full = "would take more bytes than are left of the 1500000 for all snapshots; delete one first";
    refused("two", full).await;
    // A snapshot that is replaced is not counted.
    save("one").await.has_status(201);
    process.control("DELETE", &ada, "/snapshots/one", None).await.has_status(204);
    save("two").await.has_status(201);
    process.control("DELETE", &ada, "/snapshots/two", None).await.has_status(204);
    upload().await;
    refused(
        "three",
        "would take more than the 1500000 bytes that snapshots can have; delete some of the data first",
    )
    .await;
    process.control("GET", &ada, "/snapshots", None).await.is(200, &json!({"snapshots": []}));
}

#[tokio::test]
async fn snapshots_have_a_limit_of_bytes_on_sqlite() {
    snapshots_have_a_limit_of_bytes_on(Engine::Sqlite).await;
}

#[tokio::test]
async fn snapshots_have_a_limit_of_bytes_on_postgres() {
    snapshots_have_a_limit_of_bytes_on(Engine::Postgres).await;
}
