//! What every operation has in common, in the document.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use utoipa::{
    OpenApi as _,
    openapi::{OpenApi, Ref},
};
use web::openapi::{Speaks, complete};

#[utoipa::path(
    post, path = "/pet", request_body = String,
    responses((status = 200, description = "Fine."), (status = 422, description = "It breaks a rule.")),
)]
#[expect(dead_code, reason = "the document reads it")]
fn add() {}

#[utoipa::path(get, path = "/pet", responses((status = 200, description = "Fine.")))]
#[expect(dead_code, reason = "the document reads it")]
fn get() {}

#[derive(utoipa::OpenApi)]
#[openapi(paths(add, get))]
struct Document;

fn document(speaks: Speaks) -> Value {
    serde_json::from_str(&web::document_text(&complete(Document::openapi(), speaks))).unwrap()
}

fn media_types(response: &Value) -> Vec<&str> {
    response["content"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn problems_are_described_in_each_form_that_the_service_speaks() {
    let json = ["application/problem+json"].as_slice();
    let both = ["application/problem+json", "application/problem+xml"].as_slice();
    for (speaks, expected) in [(Speaks::Json, json), (Speaks::Xml, both)] {
        let document = document(speaks);
        let shared = document["components"]["responses"].as_object().unwrap();
        assert!(shared.len() > 5);
        let own = &document["paths"]["/pet"]["post"]["responses"]["422"];
        for response in shared.values().chain([own]) {
            assert_eq!(media_types(response), expected, "{response}");
            for content in response["content"].as_object().unwrap().values() {
                let problem = json!({"$ref": Ref::from_schema_name("Problem").ref_location});
                assert_eq!(content["schema"], problem);
            }
        }
        assert_eq!(own["description"], "It breaks a rule.");
    }
}

#[test]
fn only_who_declares_a_422_has_one() {
    for speaks in [Speaks::Json, Speaks::Xml] {
        let document = document(speaks);
        let responses = |method: &str| &document["paths"]["/pet"][method]["responses"];
        assert!(responses("get")["422"].is_null());
        assert!(responses("post")["422"].is_object());
        assert_eq!(responses("post")["400"]["$ref"], "#/components/responses/InvalidRequest");
    }
}

#[test]
fn the_elements_of_a_problem_have_their_names() {
    let xml = document(Speaks::Xml);
    let schemas = &xml["components"]["schemas"];
    assert_eq!(schemas["Problem"]["xml"], json!({"name": "problem", "namespace": "urn:ietf:rfc:7807"}));
    assert_eq!(schemas["Problem"]["properties"]["errors"]["xml"], json!({"wrapped": true}));
    assert_eq!(schemas["Invalid"]["xml"], json!({"name": "error"}));
    // A service without XML has nothing to say about it.
    assert!(!document(Speaks::Json).to_string().contains("xml"));
}

/// A document is completed as it is: an empty one stays without operations.
#[test]
fn nothing_is_added_that_has_no_operation() {
    let document = complete(OpenApi::default(), Speaks::Xml);
    assert!(document.paths.paths.is_empty());
}
