//! The OpenAPI document: its content, and that it is complete.

use service::Service;
use std::collections::BTreeMap;

use http::Method;
use museum::Settings;
use serde_json::{Value, json};
use testkit::{
    Store,
    openapi::{is_whole, keys, resolve},
};

use crate::fixture::{Open, Setup, event, general};

/// An operation of the document, with a path that can be called.
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) id: String,
    /// What the document says of it.
    pub(crate) document: Value,
}

/// Every operation of the document. Ids in paths are unknown ones.
pub(crate) fn operations() -> Vec<Operation> {
    let document = document();
    let prefix = document["servers"][0]["url"].as_str().unwrap().to_owned();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = "dad4bce8-f5cb-4078-a211-995864315e39";
            let path = path.replace("{eventId}", id).replace("{ticketId}", id);
            operations.push(Operation {
                method: method.to_uppercase().parse().unwrap(),
                path: format!("{prefix}{path}"),
                id: operation["operationId"].as_str().unwrap().to_owned(),
                document: operation.clone(),
            });
        }
    }
    operations
}

fn document() -> Value {
    serde_json::from_str(&web::document_text(&museum::openapi(""))).unwrap()
}

testkit::on_one_engine! {
    async fn service_serves_its_document(open: Open) {
        let answer = open.anyone.get("/openapi.json").send().await;
        // With examples for the moment at which it started.
        let document = Settings::default().openapi("", open.clock.now());
        assert_eq!(answer.has_status(200).text(), web::document_text(&document.unwrap()));
        // Tools in a browser read it from anywhere.
        assert_eq!(answer.header("access-control-allow-origin"), "*");
    }

    async fn configured_address_is_in_the_document_and_in_locations(store: Store) {
        let settings = Settings { address: "https://museum.example.com".into(), ..Settings::default() };
        let open = Open::on(store, Setup { settings, ..Setup::default() }).await;
        let document = open.anyone.get("/openapi.json").send().await.json();
        let server = json!({"url": "https://museum.example.com/v1.1", "description": "This service"});
        assert_eq!(document["servers"], json!([server]));
        let made = open.ada.post("/v1.1/special-events").json(&event("Open day", &["2026-05-20"])).send().await;
        let id = made.has_status(201).json()["eventId"].as_str().unwrap().to_owned();
        assert_eq!(made.header("location"), format!("https://museum.example.com/v1.1/special-events/{id}"));
        let bought = open.buy(&general("2026-05-20")).await;
        let id = bought.has_status(201).json()["ticketId"].as_str().unwrap().to_owned();
        assert_eq!(bought.header("location"), format!("https://museum.example.com/v1.1/tickets/{id}/pkpass"));
    }
}

#[test]
fn document_matches_its_snapshot() {
    insta::assert_snapshot!("openapi", web::document_text(&museum::openapi("")));
}

#[test]
fn all_operations_have_their_responses() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    assert_eq!(document["servers"][0]["url"], "/v1.1");
    assert_eq!(document["security"], json!([{"MuseumPlaceholderAuth": []}]));
    assert_eq!(
        document["components"]["securitySchemes"],
        json!({"MuseumPlaceholderAuth": {"type": "http", "scheme": "basic"}})
    );
    let mut found = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let answers = keys(&operation["responses"]).join(" ");
            let id = operation["operationId"].as_str().unwrap();
            found.insert(format!("{} {path}", method.to_uppercase()), format!("{id}: {answers}"));
        }
    }
    let expected = [
        ("GET /museum-hours", "getMuseumHours: 200 400 406 429 503"),
        ("GET /museum-hours/now", "getMuseumTime: 200 400 406 429 503"),
        ("POST /special-events", "createSpecialEvent: 201 400 401 406 408 413 415 429 503"),
        ("GET /special-events", "listSpecialEvents: 200 400 401 406 429 503"),
        ("GET /special-events/{eventId}", "getSpecialEvent: 200 400 401 404 406 429 503"),
        ("PATCH /special-events/{eventId}", "updateSpecialEvent: 200 400 401 404 406 408 413 415 429 503"),
        ("DELETE /special-events/{eventId}", "deleteSpecialEvent: 204 400 401 404 429 503"),
        ("POST /tickets", "buyMuseumTickets: 201 400 401 404 406 408 413 415 429 503"),
        ("GET /tickets/{ticketId}/pkpass", "getTicketPass: 200 400 401 404 406 429 503"),
        ("POST /tickets/{ticketId}/admissions", "admitTicket: 201 400 401 404 406 409 429 503"),
        ("GET /tickets/{ticketId}/admissions", "getTicketAdmissions: 200 303 400 401 404 406 429 503"),
        ("GET /tickets/{ticketId}/qr", "getTicketQrCode: 200 400 401 404 406 429 503"),
    ];
    let expected = expected.map(|(operation, answers)| (operation.to_owned(), answers.to_owned()));
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn all_bodies_have_their_media_type_and_schema() {
    let document = document();
    for Operation { id, document: operation, method, .. } in operations() {
        let body = &operation["requestBody"];
        if [Method::POST, Method::PATCH].contains(&method) && id != "admitTicket" {
            assert_eq!(body["required"], true, "{id}");
            assert_eq!(keys(&body["content"]), ["application/json"], "{id}");
            assert!(body["content"]["application/json"]["schema"].is_object(), "{id}");
        } else {
            assert!(body.is_null(), "{id}");
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolve(&document, response);
            let content = &response["content"];
            let media_types: &[&str] = match (status.as_str(), id.as_str()) {
                ("204" | "303", _) => {
                    assert!(content.is_null(), "{id} {status}");
                    continue;
                }
                ("200", "getTicketPass") => &["application/json", "application/vnd.apple.pkpass"],
                ("200", "getTicketQrCode") => &["image/png", "image/svg+xml"],
                ("200" | "201", _) => &["application/json"],
                _ => &["application/problem+json"],
            };
            assert_eq!(keys(content), media_types, "{id} {status}");
            for media_type in media_types {
                let schema = &content[*media_type]["schema"];
                assert!(schema.is_object(), "{id} {status} {media_type}");
                if *media_type == "application/problem+json" {
                    assert_eq!(schema, &json!({"$ref": "#/components/schemas/Problem"}), "{id} {status}");
                }
            }
            assert!(!response["description"].as_str().unwrap().is_empty(), "{id} {status}");
            assert!(response["headers"]["X-Request-Id"].is_object(), "{id} {status}");
            let named = [
                ("201", "Location"),
                ("401", "WWW-Authenticate"),
                ("429", "Retry-After"),
                ("503", "Retry-After"),
            ];
            for (_, header) in named.iter().filter(|(with, _)| with == status) {
                assert!(response["headers"][header].is_object(), "{id} {status} {header}");
            }
        }
    }
}

#[test]
fn references_resolve_and_all_components_are_used() {
    is_whole(&document());
}
