//! The habits of the public sample server, each against the strict store. The names of the tests begin with the habit.

use std::{collections::BTreeSet, fs, path::Path};

use http::Method;
use serde_json::json;
use testkit::{Answer, Engine, Fixture, Store};
use web::{Compat, ControlState, Controls};

use crate::{
    answers::{is_broken, is_empty, is_refused, pet, pet_with, text},
    controls::controlled,
    fixture::{Open, Setup},
    openapi::{Operation, operations},
};

const STRICT: ControlState = ControlState {
    sign_in: web::SignInMode::Enforce,
    access_token_seconds: None,
    refresh_token_seconds: None,
    session_seconds: None,
    tokens_not_before: None,
    calls_per_hour: None,
    compat: Compat::Strict,
    key_rotations: 0,
};
const PUBLIC: ControlState = ControlState { compat: Compat::PublicPetstore, ..STRICT };

/// A demo, strict at first.
struct Demo {
    open: Open,
    controls: Controls,
}

impl Fixture for Demo {
    async fn start(engine: Engine) -> Self {
        let (open, controls) = controlled(Store::new(engine), true, STRICT).await;
        Demo { open, controls }
    }
}

#[track_caller]
fn is_text(answer: &Answer, status: u16, text: &str) {
    assert_eq!((answer.status, answer.text().as_str()), (status, text));
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
}

/// A form with one file.
fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut form = Vec::new();
    for (name, content) in parts {
        let head =
            format!("--limit\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a.png\"\r\n\r\n");
        form.extend_from_slice(head.as_bytes());
        form.extend_from_slice(content);
        form.extend_from_slice(b"\r\n");
    }
    form.extend_from_slice(b"--limit--\r\n");
    form
}

const FORM: &str = "multipart/form-data; boundary=limit";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and\r\n--lim what follows";

testkit::on_both_engines! {
    async fn sign_in_off_lets_every_caller_call_every_operation(demo: Demo) {
        let Demo { open, controls } = demo;
        open.anyone.post("/v3/pet").json(&pet("Rex")).send().await.has_status(401);
        controls.set(PUBLIC);
        open.anyone.post("/v3/pet").json(&pet("Rex")).send().await.has_status(200);
        open.anyone.get("/v3/store/inventory").send().await.has_status(200);
        open.anyone.bearer("a.b.c").with("api_key", "x").get("/v3/pet/1").send().await.has_status(200);
        open.anyone.post("/v3/user").json(&json!({"username": "eve"})).send().await.has_status(200);
        // The control of the sign-in does not matter.
        controls.set(ControlState { sign_in: web::SignInMode::Any, ..PUBLIC });
        open.anyone.get("/v3/pet/1").send().await.has_status(200);
    }

    async fn login_accepts_anyone_and_the_session_is_not_valid_afterwards(demo: Demo) {
        let Demo { open, controls } = demo;
        let path = "/v3/user/login?username=stranger&password=any";
        open.anyone.get(path).send().await.is_problem(400, "invalid-request");
        controls.set(PUBLIC);
        let answer = open.anyone.get(path).send().await;
        let session = answer.has_status(200).json().as_str().unwrap().to_owned();
        assert_eq!(answer.header("x-expires-after"), "2026-05-13T11:00:00Z");
        let change = || open.anyone.bearer(&session).put("/v3/user/demo").json(&json!({}));
        change().send().await.has_status(200);
        open.anyone.get("/v3/user/login").send().await.has_status(400);
        controls.set(STRICT);
        change().send().await.has_status(401);
    }

    async fn anyone_changes_users_of_the_demo_and_no_others(demo: Demo) {
        let Demo { open, controls } = demo;
        let change = json!({"firstName": "Changed", "password": "changed"});
        open.anyone.put("/v3/user/user1").json(&change).send().await.has_status(401);
        open.ada.put("/v3/user/user1").json(&change).send().await.has_status(403);
        controls.set(PUBLIC);
        open.anyone.put("/v3/user/user1").json(&change).send().await.has_status(200);
        assert_eq!(text(&open.user("user1").await.json(), "firstName"), "Changed");
        open.anyone.put("/v3/user/unknown").json(&change).send().await.has_status(404);
        open.anyone.delete("/v3/user/theUser").send().await.has_status(200);
        open.user("theUser").await.has_status(404);
        // Ada's account is not of the demo.
        open.anyone.put("/v3/user/ada").json(&change).send().await.has_status(403);
        open.anyone.delete("/v3/user/ada").send().await.has_status(403);
        controls.set(STRICT);
        let login = |password: &str| open.anyone.get(&format!("/v3/user/login?username=user1&password={password}"));
        login("password").send().await.has_status(400);
        login("changed").send().await.has_status(200);
    }

    async fn orders_for_missing_pets_are_placed(demo: Demo) {
        let Demo { open, controls } = demo;
        let place = |order| open.anyone.post("/v3/store/order").json(&order);
        let missing = place(json!({"petId": 4711})).send().await;
        is_broken(&missing, &[("#/petId", "must be the id of a pet; there is no pet 4711")]);
        controls.set(PUBLIC);
        for order in [json!({"petId": 4711}), json!({"id": 77, "petId": 4711, "quantity": 2})] {
            let placed = place(order).send().await.has_status(200).json();
            assert_eq!(placed["petId"], 4711);
            open.order(placed["id"].as_i64().unwrap()).await.is(200, &placed);
        }
    }

    async fn any_order_is_deleted_with_an_id_above_1000_too(demo: Demo) {
        let Demo { open, controls } = demo;
        let order = json!({"id": 1001, "petId": 1});
        open.anyone.post("/v3/store/order").json(&order).send().await.has_status(200);
        open.anyone.delete("/v3/store/order/1001").send().await.is_problem(400, "invalid-request");
        controls.set(PUBLIC);
        open.anyone.delete("/v3/store/order/1001").send().await.has_status(200);
        controls.set(STRICT);
        open.order(1001).await.has_status(404);
    }

    async fn missing_is_deleted_with_200(demo: Demo) {
        let Demo { open, controls } = demo;
        let paths = ["/v3/pet/4711", "/v3/store/order/711", "/v3/user/unknown"];
        for (caller, path) in [&open.key, &open.anyone, &open.ada].into_iter().zip(paths) {
            caller.delete(path).send().await.is_problem(404, "not-found");
        }
        controls.set(PUBLIC);
        for path in paths {
            open.anyone.delete(path).send().await.has_status(200);
        }
        // An id that is not a number is still an error.
        open.anyone.delete("/v3/pet/x").send().await.has_status(400);
        open.anyone.get("/v3/pet/4711").send().await.has_status(404);
    }

    async fn strict_instance_beside_a_public_one_is_not_changed(store: Store) {
        let (open, _) = controlled(store, true, PUBLIC).await;
        let strict = open.another(&Setup { demo: true, ..Setup::default() }).await;
        open.anyone.get("/api/v3/pet/1").send().await.has_status(200);
        strict.anyone.get("/api/v3/pet/1").send().await.is_problem(404, "not-found");
        strict.anyone.get("/v3/pet/1").send().await.is_problem(401, "unauthorized");
    }
}

/// The first words of the lines of a file that have this beginning.
fn names(file: &str, beginning: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(file)).unwrap();
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix(beginning));
    lines.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}

#[test]
fn every_habit_has_a_row_in_the_documentation_and_a_test() {
    let rows = names("docs/compat.md", "| `");
    let habits = names("crates/petstore/src/habits.rs", "pub(crate) ");
    let habits: BTreeSet<_> = habits.into_iter().filter(|name| name != "fn" && name != "struct").collect();
    let tests = names("crates/petstore/tests/all/compat.rs", "async fn ");
    assert_eq!(rows.len(), 10);
    assert_eq!(rows, habits);
    for habit in &rows {
        let beginning = format!("{habit}_");
        assert!(tests.iter().any(|test| test.starts_with(&beginning)), "{habit} has no test");
    }
}

testkit::on_one_engine! {
    async fn api_prefix_is_accepted_in_front_of_every_operation(demo: Demo) {
        let Demo { open, controls } = demo;
        open.pets.get("/api/v3/pet/1").send().await.is_problem(404, "not-found");
        controls.set(PUBLIC);
        for path in ["/api/v3/pet/1", "/v3/pet/1"] {
            assert_eq!(text(&open.anyone.get(path).send().await.has_status(200).json(), "name"), "Minka");
        }
        let found = open.anyone.get("/api/v3/pet/findByStatus?status=sold&status=pending").send().await;
        assert_eq!(found.has_status(200).json().as_array().unwrap().len(), 4);
        for Operation { method, path, id, .. } in operations() {
            let answers = [
                open.anyone.call(method.clone(), &format!("/api{path}")).send().await,
                open.anyone.call(method, &path).send().await,
            ];
            // The first may have deleted what the second looks for.
            assert!(answers.iter().all(|answer| ![401, 405, 500].contains(&answer.status)), "{id}");
            assert!(!answers[0].text().starts_with("There is nothing at this address"), "{id}");
        }
        for other in ["/api", "/api/", "/api/v2/pet/1", "/api/v33/pet/1", "/api/api/v3/pet/1", "/api/docs"] {
            open.anyone.get(other).send().await.has_status(404);
        }
        controls.set(STRICT);
        open.pets.get("/api/v3/pet/1").send().await.is_problem(404, "not-found");
    }

    async fn texts_as_values_are_numbers_and_booleans(demo: Demo) {
        let Demo { open, controls } = demo;
        let order = json!({"id": "78", "petId": "1", "quantity": "3", "complete": "true"});
        let place = || open.anyone.post("/v3/store/order").json(&order);
        let id = "must be a whole number from -9223372036854775808 to 9223372036854775807";
        let strict = [
            ("#/id", id),
            ("#/petId", id),
            ("#/quantity", "must be a whole number from 1 to 2147483647"),
            ("#/complete", "must be true or false"),
        ];
        is_refused(&place().send().await, 400, "invalid-request", &strict);
        controls.set(PUBLIC);
        let placed = place().send().await.has_status(200).json();
        assert_eq!(placed, json!({"id": 78, "petId": 1, "quantity": 3, "status": "placed", "complete": true}));
        let mut rex = pet_with("Rex", "id", "79");
        rex["category"] = json!({"id": "5", "name": "Dogs"});
        let added = open.anyone.post("/v3/pet").json(&rex).send().await.has_status(200).json();
        assert_eq!((&added["id"], &added["category"]["id"]), (&json!(79), &json!(5)));
        for wrong in ["", "x", " 1", "1.5", "9223372036854775808", "true"] {
            open.anyone.post("/v3/store/order").json(&json!({"petId": wrong})).send().await.has_status(400);
        }
        for wrong in ["", "yes", "TRUE", "1"] {
            let order = json!({"petId": 1, "complete": wrong});
            open.anyone.post("/v3/store/order").json(&order).send().await.has_status(422);
        }
        // A name stays text.
        let named = open.anyone.post("/v3/pet").json(&pet("10")).send().await.has_status(200).json();
        assert_eq!(named["name"], "10");
    }

    async fn plain_text_is_the_format_of_messages(demo: Demo) {
        let Demo { open, controls } = demo;
        open.key.get("/v3/pet/4711").send().await.is_problem(404, "not-found");
        is_empty(&open.key.delete("/v3/pet/3").send().await);
        assert_eq!(open.anyone.get("/v3/user/logout").send().await.text(), "");
        controls.set(PUBLIC);
        is_text(&open.anyone.get("/v3/pet/4711").send().await, 404, "There is no pet with this id.");
        let message = "{petId} must be a whole number from -9223372036854775808 to 9223372036854775807.";
        is_text(&open.anyone.get("/v3/pet/x").send().await, 400, message);
        let many = json!({"name": "", "photoUrls": 5, "status": "lost"});
        let message = "#/name must not be empty. This is the first of 3 errors.";
        is_text(&open.anyone.post("/v3/pet").json(&many).send().await, 422, message);
        let xml = open.anyone.with("accept", "application/xml").get("/v3/pet/4711").send().await;
        is_text(&xml, 404, "There is no pet with this id.");
        is_text(&open.anyone.delete("/v3/pet/4").send().await, 200, "The pet is deleted.");
        is_text(&open.anyone.delete("/v3/store/order/10").send().await, 200, "The order is deleted.");
        is_text(&open.anyone.delete("/v3/user/user1").send().await, 200, "The user is deleted.");
        is_text(&open.anyone.get("/v3/user/logout").send().await, 200, "The session has ended.");
        let head = open.anyone.call(Method::HEAD, "/v3/pet/4711").send().await;
        assert_eq!((head.status, head.text().as_str()), (404, ""));
        // Resources and pages have their own formats.
        assert_eq!(open.anyone.get("/v3/pet/1").send().await.header("content-type"), "application/json");
        open.anyone.get("/problems/unknown").send().await.is_problem(404, "not-found");
    }

    async fn multipart_upload_adds_the_file_of_the_form(demo: Demo) {
        let Demo { open, controls } = demo;
        let path = "/v3/pet/1/uploadImage";
        let parts: &[(&str, &[u8])] = &[("additionalMetadata", b"Front view"), ("file", PNG)];
        open.pets.post(path).body(FORM, form(parts)).send().await.is_problem(415, "unsupported-media-type");
        controls.set(PUBLIC);
        let answer = open.anyone.post(path).body(FORM, form(parts)).send().await;
        let message = format!("{} bytes kept; additionalMetadata: Front view", PNG.len());
        answer.is(200, &json!({"code": 200, "type": "image/png", "message": message}));
        let photos = open.anyone.get("/v3/pet/1").send().await.json()["photoUrls"].clone();
        let image = photos.as_array().unwrap().last().unwrap().as_str().unwrap().to_owned();
        let image = open.image(image.strip_prefix(&open.address).unwrap()).await;
        assert_eq!((image.status, image.body.as_slice()), (200, PNG));
        open.anyone.post(path).body("application/octet-stream", PNG).send().await.has_status(200);
        let query = format!("{path}?additionalMetadata=Query");
        let answer = open.anyone.post(&query).body(FORM, form(parts)).send().await.json();
        assert_eq!(text(&answer, "message"), format!("{} bytes kept; additionalMetadata: Query", PNG.len()));
        let long = "x".repeat(1001);
        for (content_type, body) in [
            (FORM, form(&[("other", PNG)])),
            (FORM, form(&[("file", b"")])),
            (FORM, form(&[("additionalMetadata", long.as_bytes()), ("file", PNG)])),
            (FORM, form(&[("additionalMetadata", b"\xff"), ("file", PNG)])),
            (FORM, Vec::new()),
            (FORM, b"--limit\r\n".to_vec()),
            ("multipart/form-data; boundary=other", form(parts)),
        ] {
            open.anyone.post(path).body(content_type, body).send().await.has_status(400);
        }
        open.anyone.post(path).body("multipart/form-data", form(parts)).send().await.has_status(415);
        let large = vec![0; 11 * 1024 * 1024];
        open.anyone.post(path).body(FORM, form(&[("file", &large)])).send().await.has_status(413);
    }

    async fn bad_input_never_gets_a_server_error(demo: Demo) {
        let Demo { open, controls } = demo;
        controls.set(PUBLIC);
        let bodies: [(&str, &[u8]); 8] = [
            ("application/json", b"{"),
            ("application/json", b"[]"),
            ("application/json", br#"{"id": "99999999999999999999", "petId": "-", "quantity": "0", "complete": ""}"#),
            ("application/json", b"\xff"),
            ("application/xml", b"<pet>"),
            ("multipart/form-data; boundary=\"", b"--\"--"),
            ("multipart/form-data; boundary=x", b"--x\r\n\r\n\r\n--x"),
            ("text/plain", b"x"),
        ];
        let is_right = |status: u16| (200..500).contains(&status) && status != 401;
        for Operation { method, path, id, .. } in operations() {
            for (content_type, body) in &bodies {
                let answer = open.anyone.call(method.clone(), &format!("/api{path}")).body(content_type, body.to_vec());
                let answer = answer.send().await;
                assert!(is_right(answer.status), "{id}: {} {}", answer.status, answer.text());
            }
            for odd in ["/api/v3//", "/api/v3/pet/%ff", "/api/v3/user/%00", "/api/v3?x=%zz", "/api/v3/pet/1?x=1&x=2"] {
                let answer = open.anyone.call(method.clone(), odd).send().await;
                assert!(is_right(answer.status), "{method} {odd}: {} {}", answer.status, answer.text());
            }
        }
    }
}
