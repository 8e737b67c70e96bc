//! The bodies of controls, and of `POST /sandboxes`, have no members besides those of the document.

use serde_json::{Value, json};
use testkit::{Answer, on_one_engine};

use crate::fixture::{Process, World, is_problem};

#[track_caller]
fn rejects(answer: &Answer, prefix: &str, pointer: &str, detail: &str) {
    is_problem(answer, 400, prefix, "invalid-request");
    assert_eq!(answer.json()["errors"], json!([{"pointer": pointer, "detail": detail}]));
}

async fn document(process: &Process, path: &str) -> Value {
    process.petstore.get(path).send().await.has_status(200).json()
}

/// The schema of a component, or the schema itself if it is not a reference.
fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

/// The objects of a schema that do not refuse unknown members.
fn open_objects(document: &Value, schema: &Value, pointer: &str, found: &mut Vec<String>) {
    let schema = resolved(document, schema);
    if schema["type"] == "object" && schema["additionalProperties"] != false {
        found.push(pointer.to_owned());
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        open_objects(document, member, &format!("{pointer}/{name}"), found);
    }
    for one in schema["oneOf"].as_array().into_iter().flatten() {
        open_objects(document, one, pointer, found);
    }
}

on_one_engine! {
    async fn unknown_member_of_a_body_is_rejected_with_the_members_that_there_are(world: World) {
        let process = &world.process;
        let ada = process.create("ada").await;
        let of_sandbox = process.petstore.post("/sandboxes").json(&json!({"name": "bob", "clas": "monday"})).send().await;
        let near = "is not a member of this object; did you mean `class`? The members are name and class";
        rejects(&of_sandbox, "/sandboxes", "#/clas", near);
        let rule = "is not a member of this object; did you mean `operation`? The members are service, operation, method, path, caller, \
            every, first, probability, seed, status, detail, retry_after, delay_ms, drop, bytes_per_second, malformed and webhook";
        let delay = "is not a member of this object; the members are from, to, mean and deviation";
        let sign_in = "is not a member of this object; did you mean `calls_per_hour`? The members are mode, access_token_seconds, \
            refresh_token_seconds, session_seconds and calls_per_hour";
        for (method, path, body, pointer, detail) in [
            ("POST", "/faults", json!({"opration": "getPetById", "status": 503}), "#/opration", rule),
            ("POST", "/faults", json!({"delay_ms": {"from": 1, "to": 2, "a/b": 3}}), "#/delay_ms/a~1b", delay),
            ("PUT", "/sign-in", json!({"mode": "off", "call_per_hour": 1}), "#/call_per_hour", sign_in),
            ("POST", "/sign-in/rotate-keys", json!({"keep": true}), "#/keep", "is not a member of this object; its only member is old"),
            ("PUT", "/compat", json!({"petstore": "strict", "train": "strict"}), "#/train", "is not a member of this object; its only member is petstore"),
            ("POST", "/snapshots", json!({"name": "one", "": 1}), "#/", "is not a member of this object; its only member is name"),
            ("PATCH", "/clock", json!({"freeze": true}), "#/freeze",
                "is not a member of this object; the members are time, advance and frozen"),
        ] {
            rejects(&process.control(method, &ada, path, Some(body)).await, "/sandbox/ada/_control", pointer, detail);
        }
        process.control("GET", &ada, "/faults", None).await.is(200, &json!({"rules": []}));
        process.control("GET", &ada, "/snapshots", None).await.is(200, &json!({"snapshots": []}));
        process.petstore.get("/sandbox/bob/v3/pet/1").send().await.has_status(404);
    }

    async fn document_says_that_bodies_have_no_other_members(world: World) {
        let process = &world.process;
        process.create("ada").await;
        let mut bodies = 0;
        for path in ["/sandboxes/openapi.json", "/sandbox/ada/_control/openapi.json"] {
            let document = document(process, path).await;
            let operations = document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
            for operation in operations {
                let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
                if schema.is_null() {
                    continue;
                }
                bodies += 1;
                let mut open = Vec::new();
                open_objects(&document, schema, operation["operationId"].as_str().unwrap(), &mut open);
                assert_eq!(open, [""; 0]);
            }
        }
        assert_eq!(bodies, 7);
    }
}
