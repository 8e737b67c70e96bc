//! The journal of a sandbox.

use futures_util::StreamExt;
use sandbox::Limits;
use serde_json::{Value, json};
use testkit::{Engine, Store, on_both_engines, receiver::Receiver};

use crate::fixture::{Process, World, is_problem};
use crate::user::User;

async fn calls(process: &Process, sandbox: &Value, query: &str) -> Vec<Value> {
    let list = process.control("GET", sandbox, &format!("/journal{query}"), None).await;
    list.has_status(200).json()["calls"].as_array().unwrap().clone()
}

fn lines(calls: &[Value]) -> Vec<String> {
    let line = |call: &Value| {
        let text = |member: &str| call[member].as_str().unwrap_or("-").to_owned();
        format!("{} {} {} {}", call["number"], text("method"), text("path"), call["status"])
    };
    calls.iter().map(line).collect()
}

on_both_engines! {
    async fn journal_has_the_calls_of_its_sandbox_only(world: World) {
        let process = &world.process;
        let (ada, bob) = (process.create("ada").await, process.create("bob").await);
        process.petstore.get("/sandbox/ada/v3/pet/1?x=1").send().await.has_status(401);
        // Files of pages are not in it.
        for file in ["/favicon.svg", "/docs/docs.css", "/app/picture.svg?id=1&name=Rex&category=Dogs"] {
            process.petstore.get(&format!("/sandbox/ada{file}")).send().await.has_status(200);
        }
        process.museum.get("/sandbox/ada/v1.1/museum-hours?limit=1").send().await.has_status(200);
        process.petstore.get("/sandbox/bob/v3/nothing").send().await.has_status(404);
        let expected = ["2 GET /v1.1/museum-hours?limit=1 200", "1 GET /v3/pet/1?x=1 401"];
        assert_eq!(lines(&calls(process, &ada, "").await), expected);
        assert_eq!(lines(&calls(process, &bob, "").await), ["1 GET /v3/nothing 404"]);
        let first = &calls(process, &ada, "?status=4xx").await[0];
        let (service, operation, problem) = (&first["service"], &first["operation"], &first["problem"]);
        assert_eq!((service, operation, problem), (&json!("petstore"), &json!("getPetById"), &json!("unauthorized")));
        assert_eq!(first["caller"], json!({"address": "127.0.0.1"}));
        assert_eq!(lines(&calls(process, &ada, "?service=museum&operation=getMuseumHours").await), expected[..1]);
        let wrong = process.control("GET", &ada, "/journal?status=9", None).await;
        is_problem(&wrong, 400, "/sandbox/ada/_control", "invalid-request");
        process.control("DELETE", &ada, "/journal", None).await.has_status(204);
        assert!(calls(process, &ada, "").await.is_empty());
        assert_eq!(lines(&calls(process, &bob, "").await).len(), 1);
    }

    async fn call_is_shown_without_its_secrets_and_as_a_command(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let museum = process.museum.signed_in("demo", "demo");
        let body = json!({"ticketType": "general", "ticketDate": "2020-01-01", "email": "ada@example.com"});
        museum.post("/sandbox/ada/v1.1/tickets").json(&body).send().await.has_status(400);
        let call = process.control("GET", &ada, "/journal/1", None).await.has_status(200).json();
        assert_eq!(call["call"]["caller"]["user"], "demo");
        let authorization = call["request"]["headers"].as_array().unwrap().iter()
            .find(|header| header["name"] == "authorization").unwrap();
        assert!(!authorization["value"].as_str().unwrap().contains("ZGVtbzpkZW1v"), "{authorization}");
        let sent: Value = serde_json::from_str(call["request"]["body"]["text"].as_str().unwrap()).unwrap();
        assert_eq!(sent["ticketType"], "general");
        assert!(call["answer"]["body"]["text"].as_str().unwrap().contains("invalid-request"));
        let command = process.control("GET", &ada, "/journal/1/curl", None).await;
        let url = ada["services"][2]["base_url"].as_str().unwrap();
        assert_eq!(command.header("content-type"), "text/plain; charset=utf-8");
        assert!(command.text().starts_with(&format!("curl {url}/tickets -H ")), "{}", command.text());
        let har = process.control("GET", &ada, "/journal/har", None).await.has_status(200).json();
        assert_eq!(har["log"]["entries"][0]["request"]["url"], format!("{url}/tickets"));
        for path in ["/journal/2", "/journal/0", "/journal/-1", "/journal/2/curl"] {
            is_problem(&process.control("GET", &ada, path, None).await, 404, "/sandbox/ada/_control", "not-found");
        }
    }

    async fn caller_has_the_name_of_the_user_with_every_sign_in(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let user = User::sign_in(process, &ada).await;
        user.get("/bookings").await.has_status(200);
        let named = json!({"user": "demo", "client": "demo", "address": "127.0.0.1"});
        assert_eq!(calls(process, &ada, "?operation=get-bookings").await[0]["caller"], named);
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        process.train.get("/sandbox/ada/bookings").send().await.has_status(200);
        assert_eq!(calls(process, &ada, "?operation=get-bookings").await[0]["caller"], named);
        process.petstore.get("/sandbox/ada/v3/pet/1").send().await.has_status(200);
        process.museum.delete("/sandbox/ada/v1.1/special-events/none").send().await;
        for (service, operation) in [("petstore", "getPetById"), ("museum", "deleteSpecialEvent")] {
            let found = calls(process, &ada, &format!("?service={service}&operation={operation}")).await;
            assert_eq!(found[0]["caller"]["user"], "demo", "{operation}");
        }
    }

    async fn call_lists_the_deliveries_that_it_caused(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "off"}))).await.has_status(200);
        let receiver = Receiver::start().await;
        let hook = json!({"url": receiver.url("ada").as_str()});
        let hook = process.train.post("/sandbox/ada/webhooks").json(&hook).send().await.has_status(201).json();
        process.control("PATCH", &ada, "/clock", Some(json!({"time": "2026-05-13T08:00:00Z"}))).await.has_status(200);
        let trips = "/sandbox/ada/trips?origin=efdbb9d1-02c2-4bc3-afb7-6788d8782b1e&destination=b2e783e1-c824-4d63-b37a-d8d698862f1d&date=2026-05-14";
        let trips = process.train.get(trips).send().await.has_status(200).json();
        let booking = json!({"trip_id": trips["data"][0]["id"], "passenger_name": "Ada"});
        process.train.post("/sandbox/ada/bookings").json(&booking).send().await.has_status(201);
        let got = receiver.wait_for("ada", 1).await;
        let number = calls(process, &ada, "?operation=create-booking").await[0]["number"].clone();
        let call = process.control("GET", &ada, &format!("/journal/{number}"), None).await.json();
        let event = call["events"][0].as_str().unwrap();
        assert_eq!(format!("msg_{}", event.replace('-', "")), got[0].id());
        let delivery = &call["deliveries"][0];
        assert_eq!((&delivery["event"], &delivery["subscription"]), (&json!(event), &hook["id"]));
        assert_eq!(call["events"].as_array().unwrap().len(), 1);
    }

    async fn follower_gets_new_calls(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let get = |path: &str| process.petstore.get(&format!("/sandbox/ada{path}")).send();
        get("/v3/one").await;
        let url = format!("{}/journal/events", ada["control_url"].as_str().unwrap());
        let follow = async |last: Option<&str>| {
            let client = reqwest::Client::new();
            let call = client.get(&url).bearer_auth(ada["control_token"].as_str().unwrap());
            let call = last.into_iter().fold(call, |call, last| call.header("last-event-id", last));
            let answer = call.send().await.unwrap();
            assert_eq!(answer.headers()["content-type"], "text/event-stream");
            answer.bytes_stream()
        };
        let mut new = follow(None).await;
        let mut since = follow(Some("0")).await;
        get("/v3/two").await;
        let text = String::from_utf8(new.next().await.unwrap().unwrap().to_vec()).unwrap();
        let (id, data) = text.trim_end().split_once('\n').unwrap();
        assert_eq!(id, "id: 2");
        let call: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(call, calls(process, &ada, "?limit=1").await[0]);
        let mut got = String::new();
        while !got.contains("id: 2") {
            got.push_str(std::str::from_utf8(&since.next().await.unwrap().unwrap()).unwrap());
        }
        assert!(got.starts_with("id: 1\n"), "{got}");
        // The stream ends with the sandbox.
        process.control("DELETE", &ada, "", None).await.has_status(204);
        assert!(new.next().await.is_none());
    }
}

#[tokio::test]
async fn without_journals_no_call_is_recorded() {
    let limits = Limits { journal: false, ..Limits::default() };
    let store = Store::new(Engine::Sqlite);
    let process = Process::start(&store, true, limits).await;
    let ada = process.create("ada").await;
    process.petstore.get("/sandbox/ada/v3/pet/1").send().await.has_status(401);
    assert_eq!(calls(&process, &ada, "").await, [] as [Value; 0]);
}
