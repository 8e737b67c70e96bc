//! The response format of answers and problems, and that no answer has a password.

use http::Method;
use serde_json::json;

use crate::{
    answers::pet_with,
    fixture::{As, Open},
    openapi::operations,
};

const XML: &str = "application/xml";

/// A caller with the credentials of an operation.
fn caller<'a>(open: &'a Open, id: &str) -> &'a As {
    match id {
        "getInventory" => &open.key,
        "createUser" | "createUsersWithListInput" | "updateUser" | "deleteUser" => &open.ada,
        _ => &open.pets,
    }
}

testkit::on_one_engine! {
    async fn unknown_parameter_is_rejected_by_every_operation(open: Open) {
        for operation in operations() {
            let path = format!("{}?bogus=1", operation.path);
            let call = caller(&open, &operation.id).call(operation.method.clone(), &path);
            let call = match operation.id.as_str() {
                "uploadFile" => call.body("image/png", "x"),
                _ => call.json(&json!({})),
            };
            call.send().await.has_unknown_parameter("bogus");
        }
    }

    async fn accept_header_chooses_the_response_format(open: Open) {
        open.add(&pet_with("Rex", "id", 1)).await;
        open.anyone.post("/v3/store/order").json(&json!({"id": 1, "petId": 1})).send().await.has_status(200);
        for (accept, media_type) in [
            ("", "application/json"),
            ("*/*", "application/json"),
            ("application/*", "application/json"),
            ("text/html, */*;q=0.1", "application/json"),
            ("application/xml", XML),
            ("APPLICATION/XML", XML),
            ("application/json;q=0.5, application/xml", XML),
            ("application/json, application/xml", "application/json"),
            ("application/json;q=0, */*", XML),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", XML),
            ("text/xml", "text/xml; charset=utf-8"),
            ("text/*", "text/xml; charset=utf-8"),
        ] {
            for path in [
                "/v3/pet/1",
                "/v3/pet/findByStatus",
                "/v3/pet/findByTags?tags=x",
                "/v3/store/order/1",
                "/v3/user/ada",
            ] {
                let answer = open.pets.get(path).header("accept", accept).send().await;
                assert_eq!(
                    (answer.status, answer.header("content-type")),
                    (200, media_type),
                    "{path} {accept}"
                );
                assert_eq!(answer.header("vary").split(", ").next(), Some("accept"), "{path}");
            }
        }
    }

    async fn unacceptable_response_format_gets_406_and_changes_nothing(open: Open) {
        open.add(&pet_with("Rex", "id", 1)).await;
        let before = open.dump().await;
        let either = "This operation answers as application/json, application/xml or text/xml only.";
        let json_only = "This operation answers as application/json only.";
        let mut refused = 0;
        for operation in operations() {
            let (id, said) = match operation.id.as_str() {
                // These answer without a body, or with the bytes that were uploaded.
                "deletePet" | "deleteOrder" | "logoutUser" | "updateUser" | "deleteUser" | "getImage" => {
                    continue;
                }
                id @ ("uploadFile" | "getInventory" | "placeOrder") => (id, json_only),
                id @ "loginUser" => {
                    (id, "This operation answers as application/json, application/xml or text/plain only.")
                }
                id => (id, either),
            };
            let path = match id {
                "loginUser" => format!("{}?username=ada&password=x", operation.path),
                "findPetsByTags" => format!("{}?tags=x", operation.path),
                "updatePetWithForm" => format!("{}?name=Max", operation.path),
                _ => operation.path.clone(),
            };
            for accept in [
                "image/png",
                "application/json;q=0, application/xml;q=0, text/*;q=0",
                "application/pdf, text/html",
            ] {
                let call = caller(&open, id).call(operation.method.clone(), &path).header("accept", accept);
                let call = match id {
                    "addPet" => call.json(&pet_with("Max", "id", 2)),
                    "updatePet" => call.json(&pet_with("Max", "id", 1)),
                    "placeOrder" => call.json(&json!({"petId": 1})),
                    "createUser" => call.json(&json!({"username": "max"})),
                    "createUsersWithListInput" => call.json(&json!([{"username": "max"}])),
                    "uploadFile" => call.body("image/png", "x"),
                    _ => call,
                };
                let answer = call.send().await;
                match accept {
                    "application/pdf, text/html" => answer.is_problem_page(406, "not-acceptable", said),
                    _ => assert_eq!(answer.is_problem(406, "not-acceptable"), said, "{id}"),
                }
                refused += 1;
            }
        }
        assert_eq!(refused, 14 * 3);
        for id in ["getInventory", "placeOrder"] {
            let operation = operations().into_iter().find(|operation| operation.id == id).unwrap();
            let call = caller(&open, id).call(operation.method, &operation.path).json(&json!({"petId": 1}));
            let answer = call.header("accept", XML).send().await;
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (406, "application/problem+xml"),
                "{id}"
            );
        }
        assert_eq!(open.dump().await, before);
    }

    async fn operation_without_a_response_body_ignores_the_accept_header(open: Open) {
        for accept in ["application/problem+json", "application/problem+xml", "text/html", "image/png"] {
            open.add(&pet_with("Rex", "id", 1)).await;
            let order = json!({"id": 1, "petId": 1});
            open.anyone.post("/v3/store/order").json(&order).send().await.has_status(200);
            let user = json!({"username": "max", "password": "correct-horse-7"});
            open.ada.post("/v3/user").json(&user).send().await.has_status(200);
            let max = open.anyone.bearer(&open.session_of("max").await);
            for call in [
                open.anyone.delete("/v3/store/order/1"),
                open.pets.delete("/v3/pet/1"),
                open.ada.put("/v3/user/ada").json(&json!({"firstName": "Ada"})),
                open.anyone.get("/v3/user/logout"),
                max.delete("/v3/user/max"),
            ] {
                let answer = call.header("accept", accept).send().await;
                assert_eq!(answer.has_status(200).text(), "", "{accept}");
            }
            open.user("max").await.is_problem(404, "not-found");
        }
    }

    async fn problem_is_xml_if_the_client_prefers_it(open: Open) {
        let problem = |kind: &str, title: &str, status: u16, detail: &str, more: &str| {
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><problem xmlns=\"urn:ietf:rfc:7807\"><type>/problems/{kind}</type>\
                 <title>{title}</title><status>{status}</status><detail>{detail}</detail><instance>visit-1</instance>{more}\
                 </problem>"
            )
        };
        let nothing = "There is nothing at this address. The API begins at /v3; its operations are listed at /docs.";
        let error = |pointer: &str, detail: &str| {
            format!("<error><pointer>{pointer}</pointer><detail>{detail}</detail></error>")
        };
        let empty = "must not be empty";
        for accept in [XML, "text/xml", "application/problem+xml", "application/xml, application/json;q=0.9"]
        {
            let get = async |caller: &As, method: Method, path: &str| {
                let call =
                    caller.call(method, path).header("accept", accept).header("x-request-id", "visit-1");
                let answer = call.send().await;
                assert_eq!(answer.header("content-type"), "application/problem+xml", "{path} {accept}");
                assert_eq!(answer.header("cache-control"), "no-store");
                (answer.status, answer.text())
            };
            let found = get(&open.anyone, Method::GET, "/v3/nothing").await;
            assert_eq!(found, (404, problem("not-found", "Not found", 404, nothing, "")));
            let found = get(&open.anyone, Method::GET, "/v3/user/nobody").await;
            // For this Accept header the problem is a 406.
            if accept != "application/problem+xml" {
                assert_eq!(
                    found,
                    (404, problem("not-found", "Not found", 404, "There is no user with this name.", ""))
                );
                let (status, _) = get(&open.anyone, Method::GET, "/v3/pet/findByStatus").await;
                assert_eq!(status, 401);
                let found = get(&open.pets, Method::POST, "/v3/pet/1?name=&status=%3C").await;
                let errors = format!(
                    "<errors>{}{}</errors>",
                    error("?name", empty),
                    error("?status", "must be one of: available, pending, sold")
                );
                let detail = "2 things are wrong with this request; see errors.";
                assert_eq!(found, (400, problem("invalid-request", "Invalid request", 400, detail, &errors)));
            }
            let (status, text) = get(&open.anyone, Method::DELETE, "/v3/pet").await;
            assert!(status == 405 && text.contains("<type>/problems/method-not-allowed</type>"), "{text}");
        }
        // With equal quality, the answer is JSON.
        for accept in ["*/*", "application/json, application/xml", "image/png"] {
            open.anyone.get("/v3/nothing").header("accept", accept).send().await.is_problem(404, "not-found");
        }
        let answer = open.pets.post("/v3/pet").body(XML, "<pet/>").header("accept", XML).send().await;
        assert!(answer.text().contains(&error("#/name", "is required")), "{}", answer.text());
    }

    async fn no_answer_has_a_password(open: Open) {
        let secret = "correct-horse-7";
        let user = json!({"username": "zoe", "password": secret, "firstName": "Zoe"});
        let mut answers = vec![
            open.ada.post("/v3/user").json(&user).send().await,
            open.ada.post("/v3/user").json(&user).send().await,
            open.ada.post("/v3/user/createWithList").json(&json!([user])).send().await,
            open.anyone.post("/v3/user").json(&user).send().await,
            open.ada.post("/v3/user").json(&json!({"password": secret})).send().await,
            open.ada
                .post("/v3/user")
                .body("application/json", format!("{{\"password\":\"{secret}\""))
                .send()
                .await,
            open.ada.post("/v3/user").json(&json!({"username": "x", "password": [secret]})).send().await,
            open.ada
                .post("/v3/user/createWithList")
                .json(&json!([{"username": "y", "password": format!("{secret}{}", "x".repeat(1000))}]))
                .send()
                .await,
        ];
        let zoe = open.anyone.bearer(&open.session_of("zoe").await);
        answers
            .push(zoe.put("/v3/user/zoe").json(&json!({"password": secret, "username": "ada"})).send().await);
        for accept in ["application/json", XML] {
            answers.push(open.anyone.get("/v3/user/zoe").header("accept", accept).send().await);
            for password in [secret, "wrong-horse-7"] {
                let path = format!("/v3/user/login?username=zoe&password={password}");
                answers.push(open.anyone.get(&path).header("accept", accept).send().await);
            }
        }
        answers.push(open.anyone.get(&format!("/v3/user/login?password={secret}")).send().await);
        answers.push(zoe.delete("/v3/user/zoe").send().await);
        for answer in &answers {
            let whole = format!("{:?} {}", answer.headers, answer.text());
            assert!(!whole.contains("horse") && !whole.contains("argon2"), "{whole}");
            assert!(answer.status < 500, "{whole}");
        }
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 6);
        let stored = open
            .db
            .read(|tx| tx.rows("SELECT password_hash FROM account", &[], |row| row.get::<Option<String>>(0)));
        let stored = stored.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
        assert!(stored.iter().flatten().all(|hash| hash.starts_with("$argon2id$") && !hash.contains(secret)));
    }
}
