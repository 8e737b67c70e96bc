//! Calls and deliveries that fail on purpose.

use std::collections::BTreeSet;

use sandbox::Limits;
use serde_json::{Value, json};
use testkit::{Answer, Engine, on_both_engines, receiver::Receiver};

use crate::fixture::{Process, World, is_problem};

const KEY: (&str, &str) = ("api_key", "special-key");

async fn pet(process: &Process, sandbox: &str, id: i64) -> Answer {
    process.petstore.get(&format!("/sandbox/{sandbox}/v3/pet/{id}")).header(KEY.0, KEY.1).send().await
}

async fn add(process: &Process, sandbox: &Value, rule: Value) -> Value {
    let added = process.control("POST", sandbox, "/faults", Some(rule)).await;
    added.has_status(201);
    let added_rule = added.json();
    let id = added_rule["id"].as_str().unwrap();
    assert_eq!(added.header("location"), format!("{}/faults/{id}", sandbox["control_url"].as_str().unwrap()));
    added_rule
}

on_both_engines! {
    async fn first_calls_get_the_status_of_a_rule_and_change_nothing(world: World) {
        let process = &world.process;
        let (ada, _) = (process.create("ada").await, process.create("bob").await);
        let rule = json!({"method": "DELETE", "path": "/v3/pet/*", "first": 2, "status": 503, "retry_after": 7});
        add(process, &ada, rule).await;
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        let delete = || process.petstore.delete("/sandbox/ada/v3/pet/1").send();
        for _ in 0..2 {
            let failed = delete().await;
            let detail = is_problem(&failed, 503, "/sandbox/ada", "unavailable");
            assert_eq!(detail, "A fault rule of the sandbox gives this answer; the call was not done.");
            assert_eq!(failed.header("retry-after"), "7");
            assert_eq!(failed.header("access-control-allow-origin"), "*");
            pet(process, "ada", 1).await.has_status(200);
        }
        delete().await.has_status(200);
        delete().await.has_status(404);
        // Other sandboxes have no such rule.
        is_problem(&process.petstore.delete("/sandbox/bob/v3/pet/1").send().await, 401, "/sandbox/bob", "unauthorized");
    }

    async fn rules_are_listed_in_order_and_deleted(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let list = async || process.control("GET", &ada, "/faults", None).await.json();
        assert_eq!(list().await, json!({"rules": []}));
        let one = add(process, &ada, json!({"status": 500, "every": 3})).await;
        let two = add(process, &ada, json!({"operation": "getPetById", "delay_ms": 1})).await;
        assert_eq!(list().await, json!({"rules": [one, two]}));
        let path = format!("/faults/{}", one["id"].as_str().unwrap());
        process.control("GET", &ada, &path, None).await.is(200, &one);
        process.control("DELETE", &ada, &path, None).await.has_status(204);
        for method in ["GET", "DELETE"] {
            let gone = process.control(method, &ada, &path, None).await;
            assert_eq!(is_problem(&gone, 404, "/sandbox/ada/_control", "not-found"), "There is no fault rule with this id.");
        }
        assert_eq!(list().await, json!({"rules": [two]}));
        process.control("DELETE", &ada, "/faults", None).await.has_status(204);
        assert_eq!(list().await, json!({"rules": []}));
        pet(process, "ada", 1).await.has_status(200);
    }

    async fn invalid_rule_is_rejected_and_changes_nothing(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let refused = process.control("POST", &ada, "/faults", Some(json!({"status": 200, "every": 0}))).await;
        is_problem(&refused, 400, "/sandbox/ada/_control", "invalid-request");
        let pointers: Vec<_> = refused.json()["errors"].as_array().unwrap().iter().map(|error| error["pointer"].clone()).collect();
        assert_eq!(pointers, ["#/every", "#/status"]);
        pet(process, "ada", 1).await.has_status(200);
    }

    async fn connection_is_cut_before_or_after_the_work_or_in_the_answer(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        let delete = async |id: i64| process.petstore.delete(&format!("/sandbox/ada/v3/pet/{id}")).try_send().await.map(|answer| answer.status);
        for (point, status_after) in [("before", 200), ("after", 404), ("middle", 404)] {
            process.control("POST", &ada, "/reset", None).await.has_status(204);
            add(process, &ada, json!({"operation": "deletePet", "first": 1, "drop": point})).await;
            assert!(delete(1).await.is_err(), "{point}");
            assert_eq!(pet(process, "ada", 1).await.status, status_after, "{point}");
            process.control("DELETE", &ada, "/faults", None).await.has_status(204);
        }
    }

    async fn body_is_malformed_on_purpose(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        add(process, &ada, json!({"service": "petstore", "malformed": true})).await;
        let answer = pet(process, "ada", 1).await;
        assert_eq!(answer.status, 200);
        assert!(serde_json::from_slice::<Value>(&answer.body).is_err(), "{}", answer.text());
        process.museum.get("/sandbox/ada/v1.1/museum-hours").send().await.json();
    }

    async fn rule_of_a_caller_is_for_that_caller_only(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        add(process, &ada, json!({"caller": "demo", "status": 429})).await;
        let buy = |name: &str| process.museum.signed_in(name, name).post("/sandbox/ada/v1.1/tickets").send();
        is_problem(&buy("demo").await, 429, "/sandbox/ada", "too-many-requests");
        is_problem(&buy("eve").await, 401, "/sandbox/ada", "unauthorized");
        // The caller of an operation without sign-in is not known.
        process.museum.get("/sandbox/ada/v1.1/museum-hours").send().await.has_status(200);
        // The address is known at once.
        add(process, &ada, json!({"caller": "127.0.0.1", "status": 418})).await;
        process.museum.get("/sandbox/ada/v1.1/museum-hours").send().await.has_status(418);
        buy("eve").await.has_status(418);
    }

    async fn seeded_rule_fails_the_same_calls_in_each_run(world: World) {
        let process = &world.process;
        let mut runs = Vec::new();
        for name in ["ada", "bob"] {
            let sandbox = process.create(name).await;
            add(process, &sandbox, json!({"probability": 0.5, "seed": 7, "status": 500})).await;
            let mut failed = Vec::new();
            for _ in 0..20 {
                failed.push(pet(process, name, 1).await.status == 500);
            }
            runs.push(failed);
        }
        assert_eq!(runs[0], runs[1]);
        assert!(runs[0].contains(&true) && runs[0].contains(&false));
    }

    async fn call_asks_for_its_own_fault(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let prefer = |value: &str| process.petstore.get("/sandbox/ada/v3/pet/1").header(KEY.0, KEY.1).header("prefer", value);
        let failed = prefer("code=503, delay=0.01").send().await;
        is_problem(&failed, 503, "/sandbox/ada", "unavailable");
        assert_eq!(failed.header("preference-applied"), "code=503, delay=0.01");
        let slow = prefer("delay=0").send().await;
        assert_eq!((slow.status, slow.header("preference-applied")), (200, "delay=0"));
        let plain = prefer("respond-async, code=200").send().await;
        assert_eq!((plain.status, plain.header("preference-applied")), (200, ""));
        assert!(prefer("drop=before").try_send().await.is_err());
        // A call that asks is not decided by the rules.
        add(process, &ada, json!({"status": 500})).await;
        prefer("code=404").send().await.has_status(404);
        prefer("").send().await.has_status(500);
    }

    async fn fault_has_the_headers_that_the_answer_of_the_service_has(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let challenges = |answer: &Answer| {
            let all = answer.headers.get_all("www-authenticate").iter();
            let schemes = all.map(|one| one.to_str().unwrap().split(", resource_metadata").next().unwrap().to_owned());
            schemes.collect::<BTreeSet<_>>()
        };
        for (client, path, count) in [
            (&process.petstore, "/v3/pet/1", 2),
            (&process.petstore, "/v3/store/inventory", 1),
            (&process.petstore, "/v3/pet/findByStatus?status=sold", 1),
            (&process.train, "/stations", 1),
            (&process.museum, "/v1.1/special-events", 1),
        ] {
            let path = format!("/sandbox/ada{path}");
            let of_service = client.get(&path).send().await;
            let of_fault = client.get(&path).header("prefer", "code=401").send().await;
            assert_eq!((of_service.status, of_fault.status), (401, 401), "{path}");
            assert_eq!(challenges(&of_fault), challenges(&of_service), "{path}");
            assert_eq!(challenges(&of_fault).len(), count, "{path}");
        }
        // An operation without credentials, and a page.
        for path in ["/v1.1/museum-hours", "/docs"] {
            let answer = process.museum.get(&format!("/sandbox/ada{path}")).header("prefer", "code=401").send().await;
            assert_eq!(answer.has_status(401).header("www-authenticate"), "Basic realm=\"Museum\", charset=\"UTF-8\"");
        }
        let of_service = process.petstore.call(http::Method::PATCH, "/sandbox/ada/v3/pet/1").send().await;
        let of_fault = process.petstore.get("/sandbox/ada/v3/pet/1").header("prefer", "code=405").send().await;
        assert_eq!(of_service.has_status(405).header("allow"), "GET,HEAD,POST,DELETE");
        assert_eq!(of_fault.has_status(405).header("allow"), "GET,HEAD,POST,DELETE");
        for (code, seconds) in [("429", "1"), ("503", "1"), ("500", ""), ("404", "")] {
            let answer = process.petstore.get("/sandbox/ada/v3/pet/1").header("prefer", &format!("code={code}")).send().await;
            assert_eq!(answer.header("retry-after"), seconds, "{code}");
        }
        // A rule about a caller decides after the sign-in.
        add(process, &ada, json!({"caller": "demo", "status": 401})).await;
        let refused = process.museum.signed_in("demo", "demo").get("/sandbox/ada/v1.1/special-events").send().await;
        assert_eq!(refused.has_status(401).header("www-authenticate"), "Basic realm=\"Museum\", charset=\"UTF-8\"");
    }

    async fn delivery_fails_on_purpose_and_is_sent_again(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        add(process, &ada, json!({"webhook": 503, "first": 1})).await;
        add(process, &ada, json!({"webhook": "timeout", "service": "museum"})).await;
        let receiver = Receiver::start().await;
        let hook = json!({"url": receiver.url("ada").as_str()});
        let hook = process.train.post("/sandbox/ada/webhooks").json(&hook).send().await;
        let id = hook.has_status(201).json()["id"].as_str().unwrap().to_owned();
        let hook = format!("/sandbox/ada/webhooks/{id}");
        process.train.post(&format!("{hook}/test")).send().await.has_status(202);
        // The retry is due five seconds after the attempt that failed.
        process.control("PATCH", &ada, "/clock", Some(json!({"advance": "10m"}))).await.has_status(200);
        let got = receiver.wait_for("ada", 1).await;
        process.control("POST", &ada, "/faults", Some(json!({"webhook": "timeout"}))).await.has_status(201);
        let statuses = process.train.get(&hook).send().await.json()["deliveries"].clone();
        let statuses: Vec<_> = statuses.as_array().unwrap().iter().map(|attempt| attempt["status"].clone()).collect();
        assert_eq!(statuses.last(), Some(&json!(503)), "{statuses:?}");
        assert_eq!(got.len(), 1);
    }
}

/// All processes count the calls of a rule together.
#[test]
fn calls_of_a_rule_are_counted_over_all_processes() {
    testkit::run(Engine::Postgres, async |world: World| {
        let one = &world.process;
        let ada = one.create("ada").await;
        let other = Process::start(&world.store, true, Limits::default()).await;
        pet(&other, "ada", 1).await.has_status(200);
        add(one, &ada, json!({"every": 3, "status": 500})).await;
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(pet(one, "ada", 1).await.status);
            statuses.push(pet(&other, "ada", 1).await.status);
        }
        assert_eq!(statuses, [200, 200, 500, 200, 200, 500]);
    });
}
