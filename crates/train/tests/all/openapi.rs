//! The OpenAPI document: its content, and that it is complete.

use service::Service;
use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use testkit::openapi::{is_whole, keys, resolve};

use crate::{
    fixture::{ADDRESS, HOLD, Open},
    operations::{Operation, document, operations},
};

testkit::on_one_engine! {
    async fn service_serves_its_document(open: Open) {
        let answer = open.anyone.get("/openapi.json").send().await;
        // With examples for the moment at which it started.
        let document = train::Settings::default().openapi(ADDRESS, open.clock.now()).unwrap();
        assert_eq!(answer.has_status(200).text(), web::document_text(&document));
        // Tools in a browser read it from anywhere.
        assert_eq!(answer.header("access-control-allow-origin"), "*");
    }
}

#[test]
fn document_matches_its_snapshot() {
    insta::assert_snapshot!("openapi", web::document_text(&train::openapi(ADDRESS, HOLD)));
}

#[test]
fn all_operations_have_their_responses() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    assert_eq!(document["info"]["version"], "1.0.0");
    assert_eq!(document["servers"][0]["url"], "/");
    let mut found = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let answers: BTreeSet<_> = keys(&operation["responses"]).into_iter().collect();
            let answers: Vec<_> = answers.into_iter().collect();
            let id = operation["operationId"].as_str().unwrap();
            found.insert(format!("{} {path}", method.to_uppercase()), format!("{id}: {}", answers.join(" ")));
        }
    }
    let expected = [
        ("GET /stations", "get-stations: 200 400 401 403 406 429 503"),
        ("GET /stations/{stationId}", "get-station: 200 400 401 403 404 406 429 503"),
        ("GET /trips", "get-trips: 200 400 401 403 406 429 503"),
        ("GET /trips/{tripId}", "get-trip: 200 400 401 403 404 406 429 503"),
        ("GET /bookings", "get-bookings: 200 400 401 403 406 429 503"),
        ("POST /bookings", "create-booking: 201 400 401 403 404 406 408 409 413 415 422 429 503"),
        ("GET /bookings/{bookingId}", "get-booking: 200 400 401 403 404 406 429 503"),
        ("DELETE /bookings/{bookingId}", "delete-booking: 204 400 401 403 404 409 429 503"),
        (
            "POST /bookings/{bookingId}/payment",
            "create-booking-payment: 200 400 401 403 404 406 408 409 413 415 422 429 503",
        ),
        ("GET /bookings/{bookingId}/qr", "get-booking-qr: 200 400 401 403 404 406 409 429 503"),
        ("GET /inboxes", "get-inboxes: 200 400 401 403 406 429 503"),
        ("POST /inboxes", "create-inbox: 201 400 401 403 406 409 429 503"),
        ("GET /inboxes/{inboxId}", "get-inbox: 200 400 401 403 404 406 429 503"),
        ("DELETE /inboxes/{inboxId}", "delete-inbox: 204 400 401 403 404 429 503"),
        ("GET /webhooks", "get-webhooks: 200 400 401 403 406 429 503"),
        ("POST /webhooks", "create-webhook: 201 400 401 403 406 408 409 413 415 429 503"),
        ("GET /webhooks/{webhookId}", "get-webhook: 200 400 401 403 404 406 429 503"),
        ("DELETE /webhooks/{webhookId}", "delete-webhook: 204 400 401 403 404 429 503"),
        ("POST /webhooks/{webhookId}/secret", "rotate-webhook-secret: 200 400 401 403 404 406 409 429 503"),
        ("POST /webhooks/{webhookId}/test", "test-webhook: 202 400 401 403 404 429 503"),
        (
            "POST /webhooks/{webhookId}/redeliver",
            "redeliver-webhook: 200 400 401 403 404 406 408 413 415 429 503",
        ),
    ];
    let expected = expected.map(|(operation, answers)| (operation.to_owned(), answers.to_owned()));
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn all_operations_name_their_scope() {
    let document = document();
    assert_eq!(
        document["components"]["securitySchemes"],
        json!({"OAuth2": {"type": "oauth2", "flows": {"authorizationCode": {
            "authorizationUrl": format!("{ADDRESS}/oauth/authorize"),
            "tokenUrl": format!("{ADDRESS}/oauth/token"),
            "refreshUrl": format!("{ADDRESS}/oauth/token"),
            "scopes": {
                "read": "see stations, trips and your bookings",
                "write": "book, pay and cancel for you",
            },
        }}}})
    );
    for operation in operations() {
        let scope = if operation.method == Method::GET { "read" } else { "write" };
        assert_eq!(operation.document["security"], json!([{"OAuth2": [scope]}]), "{}", operation.id);
    }
}

#[test]
fn all_bodies_have_their_media_types_and_schemas() {
    let document = document();
    for Operation { id, document: operation, method, .. } in operations() {
        let body = &operation["requestBody"];
        let bare = ["rotate-webhook-secret", "test-webhook", "create-inbox"].contains(&id.as_str());
        if method == Method::POST && !bare {
            assert_eq!(body["required"], true, "{id}");
            assert_eq!(keys(&body["content"]), ["application/json", "application/xml"], "{id}");
            assert!(body["content"]["application/xml"]["schema"].is_object(), "{id}");
        } else {
            assert!(body.is_null(), "{id}");
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolve(&document, response);
            let headers = &response["headers"];
            assert!(!response["description"].as_str().unwrap().is_empty(), "{id} {status}");
            assert!(headers["X-Request-Id"].is_object(), "{id} {status}");
            assert_eq!(
                headers["RateLimit"].is_object(),
                !["401", "403"].contains(&status.as_str()),
                "{id} {status}"
            );
            assert_eq!(headers["Cache-Control"].is_object(), status.starts_with('2'), "{id} {status}");
            for (with, header) in [
                ("201", "Location"),
                ("401", "WWW-Authenticate"),
                ("403", "WWW-Authenticate"),
                ("429", "Retry-After"),
                ("503", "Retry-After"),
            ] {
                assert_eq!(
                    status == with,
                    headers[header].is_object() && status == with,
                    "{id} {status} {header}"
                );
            }
            let content = &response["content"];
            match status.as_str() {
                "202" | "204" => assert!(content.is_null(), "{id} {status}"),
                "200" if id == "get-booking-qr" => assert_eq!(keys(content), ["image/png", "image/svg+xml"]),
                "200" | "201" => {
                    assert_eq!(keys(content), ["application/json", "application/xml"], "{id} {status}");
                    assert!(content["application/json"]["schema"].is_object(), "{id} {status}");
                    assert_eq!(content["application/json"]["schema"], content["application/xml"]["schema"]);
                }
                _ => {
                    let types = ["application/problem+json", "application/problem+xml"];
                    assert_eq!(keys(content), types, "{id} {status}");
                    for media_type in types {
                        let schema = &content[media_type]["schema"];
                        assert_eq!(*schema, json!({"$ref": "#/components/schemas/Problem"}), "{id} {status}");
                    }
                }
            }
        }
    }
}

#[test]
fn all_parameters_are_described() {
    let mut found = BTreeMap::new();
    for operation in operations() {
        let parameters = operation.document["parameters"].as_array().cloned().unwrap_or_default();
        let parameters = parameters.iter().map(|parameter| {
            let (name, place) = (parameter["name"].as_str().unwrap(), parameter["in"].as_str().unwrap());
            format!("{place} {name}{}", if parameter["required"] == json!(true) { "!" } else { "" })
        });
        found.insert(operation.id.clone(), parameters.collect::<Vec<_>>().join(", "));
    }
    let expected = [
        (
            "get-stations",
            "query coordinates, query search, query country, query direct_from, query page, query limit",
        ),
        ("get-station", "path stationId!"),
        (
            "get-trips",
            "query origin!, query destination!, query date!, query bicycles, query dogs, query page, query limit",
        ),
        ("get-trip", "path tripId!"),
        ("get-bookings", "query page, query limit"),
        ("create-booking", "header Idempotency-Key"),
        ("get-booking", "path bookingId!"),
        ("delete-booking", "path bookingId!"),
        ("get-booking-qr", "path bookingId!"),
        ("get-inboxes", "query page, query limit"),
        ("create-inbox", ""),
        ("get-inbox", "path inboxId!"),
        ("delete-inbox", "path inboxId!"),
        ("create-booking-payment", "path bookingId!, header Idempotency-Key"),
        ("get-webhooks", "query page, query limit"),
        ("create-webhook", ""),
        ("get-webhook", "path webhookId!"),
        ("delete-webhook", "path webhookId!"),
        ("rotate-webhook-secret", "path webhookId!"),
        ("test-webhook", "path webhookId!"),
        ("redeliver-webhook", "path webhookId!"),
    ];
    let expected = expected.map(|(operation, parameters)| (operation.to_owned(), parameters.to_owned()));
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn all_xml_elements_are_named() {
    let schemas = &document()["components"]["schemas"];
    for (schema, name) in [
        ("Station", "station"),
        ("Trip", "trip"),
        ("Booking", "booking"),
        ("BookingInput", "booking"),
        ("Payment", "payment"),
        ("PaymentInput", "payment"),
        ("StationPage", "data"),
        ("TripPage", "data"),
        ("BookingPage", "data"),
        ("Webhook", "webhook"),
        ("WebhookInput", "webhook"),
        ("RedeliverInput", "redeliver"),
        ("Inbox", "inbox"),
        ("InboxMessage", "message"),
        ("WebhookPage", "data"),
        ("Problem", "problem"),
    ] {
        assert_eq!(schemas[schema]["xml"]["name"], name, "{schema}");
    }
    for (schema, list) in [("StationPage", "stations"), ("TripPage", "trips"), ("BookingPage", "bookings")] {
        assert_eq!(schemas[schema]["properties"]["data"]["xml"], json!({"name": list, "wrapped": true}));
    }
}

/// The types of all members: none is `null`, since absent members are omitted and a sent `null` is rejected.
#[test]
fn no_schema_allows_null() {
    let mut document = document();
    // In every service's document alike.
    document["components"]["schemas"]["Problem"] = Value::Null;
    let text = serde_json::to_string_pretty(&document).unwrap();
    let nulls: Vec<_> = text.lines().filter(|line| line.contains("\"null\"")).collect();
    assert!(nulls.is_empty(), "{nulls:?}");
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["BookingInput"]["required"], json!(["trip_id", "passenger_name"]));
    assert_eq!(schemas["PaymentInput"]["required"], json!(["source"]));
    assert_eq!(schemas["PageLinks"]["required"], json!(["self"]));
}

#[test]
fn source_schema_is_discriminated_by_object() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let (card, account) = ("#/components/schemas/CardInput", "#/components/schemas/BankAccountInput");
    assert_eq!(
        schemas["PaymentSourceInput"],
        json!({
            "oneOf": [{"$ref": card}, {"$ref": account}],
            "description": "A card or a bank account.",
            "discriminator": {"propertyName": "object", "mapping": {"card": card, "bank_account": account}},
        })
    );
    for (schema, word, required) in [
        ("CardInput", "card", "object name number cvc exp_month exp_year address_country"),
        ("BankAccountInput", "bank_account", "object name number account_type bank_name country"),
    ] {
        assert_eq!(schemas[schema]["properties"]["object"], json!({"type": "string", "enum": [word]}));
        let found: Vec<_> =
            schemas[schema]["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(found.join(" "), required);
    }
}

#[test]
fn references_resolve_and_all_components_are_used() {
    is_whole(&document());
}

#[test]
fn webhook_call_is_described() {
    let document = document();
    assert_eq!(keys(&document["webhooks"]), ["newBooking"]);
    let call = &document["webhooks"]["newBooking"]["post"];
    let body = resolve(&document, &call["requestBody"]["content"]["application/json"]["schema"]);
    let answer =
        &document["paths"]["/bookings"]["post"]["responses"]["201"]["content"]["application/json"]["schema"];
    assert_eq!(body, resolve(&document, answer));
    let headers: Vec<_> =
        call["parameters"].as_array().unwrap().iter().map(|header| &header["name"]).collect();
    assert_eq!(headers, ["webhook-id", "webhook-timestamp", "webhook-signature"]);
    assert_eq!(keys(&call["responses"]), ["2XX", "410", "default"]);
}

#[test]
fn webhook_call_declares_its_token() {
    let call = &document()["webhooks"]["newBooking"]["post"];
    assert_eq!(call["security"], json!([{"OAuth2": ["read"]}]));
}

#[test]
fn bookings_link_to_themselves_and_to_their_trip() {
    let document = document();
    let schema = &document["components"]["schemas"]["BookingLinks"];
    assert_eq!(schema["required"], json!(["self", "trip"]));
    for link in ["self", "trip"] {
        assert_eq!(schema["properties"][link], json!({"type": "string", "format": "uri"}));
    }
}

#[test]
fn list_of_webhooks_describes_subscriptions() {
    let parameters = &document()["paths"]["/webhooks"]["get"]["parameters"];
    let described: Vec<_> = parameters.as_array().unwrap().iter().map(|one| &one["description"]).collect();
    assert_eq!(described, ["Which page, from 1.", "How many subscriptions a page has."]);
}

#[test]
fn document_has_the_length_of_a_hold() {
    for (seconds, words) in [
        (3600, "an hour"),
        (7200, "2 hours"),
        (600, "10 minutes"),
        (60, "a minute"),
        (90, "90 seconds"),
        (1, "a second"),
    ] {
        let document = train::openapi(ADDRESS, SignedDuration::from_secs(seconds));
        let document: Value = serde_json::from_str(&web::document_text(&document)).unwrap();
        let expected = format!(
            "It holds a seat for {words}, or until the train leaves if that is sooner; paying for it confirms it."
        );
        assert_eq!(document["paths"]["/bookings"]["post"]["description"], expected);
        let for_an_hour = document.to_string().contains("for an hour");
        assert_eq!(for_an_hour, seconds == 3600, "nothing else says that it is an hour");
    }
}
