//! The root services in a demo: they have the controls of a sandbox.

use serde_json::json;
use testkit::{Engine, Fixture, Store, on_both_engines};

use crate::fixture::{Process, World, is_problem};

struct Root {
    store: Store,
    process: Process,
}

impl Fixture for Root {
    async fn start(engine: Engine) -> Self {
        let store = Store::new(engine);
        let process = Process::start_with_root(&store, true).await;
        Root { store, process }
    }
}

on_both_engines! {
    async fn root_services_have_the_controls_of_a_sandbox(root: Root) {
        let process = &root.process;
        process.create("ada").await;
        let pet = || process.petstore.get("/v3/pet/1").send();
        is_problem(&pet().await, 401, "", "unauthorized");
        process.root_control("PUT", "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        pet().await.has_status(200);
        is_problem(&process.petstore.get("/sandbox/ada/v3/pet/1").send().await, 401, "/sandbox/ada", "unauthorized");
        process.petstore.delete("/v3/pet/1").send().await.has_status(200);
        is_problem(&pet().await, 404, "", "not-found");
        process.root_control("POST", "/reset", None).await.has_status(204);
        pet().await.has_status(200);
        let frozen = json!({"time": "2030-01-01T00:00:00Z", "frozen": true});
        process.root_control("PATCH", "/clock", Some(frozen.clone())).await.is(200, &frozen);
        let hours = process.museum.get("/v1.1/museum-hours?limit=1").send().await;
        assert!(hours.json()[0]["date"].as_str().unwrap().starts_with("2030-01-0"), "{}", hours.text());
        process.root_control("POST", "/faults", Some(json!({"operation": "getPetById", "status": 503}))).await.has_status(201);
        is_problem(&pet().await, 503, "", "unavailable");
        let calls = process.root_control("GET", "/journal?status=503", None).await.json();
        let call = &calls["calls"][0];
        assert_eq!((&call["path"], &call["time"]), (&json!("/v3/pet/1"), &json!("2030-01-01T00:00:00Z")));
        let refused = process.root_control("DELETE", "", None).await;
        is_problem(&refused, 403, "/_control", "forbidden");
        // The root is no sandbox, and has no token.
        let list = process.petstore.get("/sandboxes").header("authorization", "Bearer operator_test").send().await;
        assert_eq!(list.json()["sandboxes"].as_array().unwrap().len(), 1);
        let call = process.petstore.get("/_control/clock");
        is_problem(&call.header("authorization", "Bearer sandbox_").send().await, 401, "/_control", "unauthorized");
        let refused = process.petstore.get("/_control/").send().await;
        let detail = is_problem(&refused, 401, "/_control", "unauthorized");
        assert_eq!(detail, "This operation needs the operator's token, as a bearer token.");
    }

    async fn root_has_the_addresses_of_its_services_and_does_not_expire(root: Root) {
        let process = &root.process;
        let shown = process.root_control("GET", "", None).await.has_status(200).json();
        let address = format!("http://{}", process.petstore.address());
        let service = &shown["services"][0];
        assert_eq!(service["base_url"], format!("{address}/v3"));
        assert_eq!(service["docs"], format!("{address}/docs"));
        assert_eq!(service["openapi"], format!("{address}/openapi.json"));
        assert_eq!((&shown["name"], shown.get("expires_at")), (&json!(""), None));
        let ada = process.create("ada").await;
        let shown = process.control("GET", &ada, "", None).await.has_status(200).json();
        assert_eq!(shown["services"][0]["base_url"], format!("{address}/sandbox/ada/v3"));
        assert!(shown["expires_at"].is_string(), "{shown}");
    }

    async fn root_controls_stay_after_a_restart(root: Root) {
        let frozen = json!({"time": "2030-01-01T00:00:00Z", "frozen": true});
        root.process.root_control("PATCH", "/clock", Some(frozen.clone())).await.is(200, &frozen);
        root.process.stop().await;
        let process = Process::start_with_root(&root.store, true).await;
        process.root_control("GET", "/clock", None).await.is(200, &frozen);
    }

    async fn root_outside_of_a_demo_has_no_controls(world: World) {
        let process = Process::start_with_root(&world.store, false).await;
        is_problem(&process.root_control("GET", "/clock", None).await, 404, "", "not-found");
        let call = process.petstore.get("/v3/pet/1").header("prefer", "code=503").send().await;
        is_problem(&call, 401, "", "unauthorized");
        assert_eq!(call.header("preference-applied"), "");
    }
}
