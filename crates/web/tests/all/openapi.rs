//! The parts of the document that all operations share.

use serde_json::{Value, json};
use utoipa::{
    OpenApi as _,
    openapi::{OpenApi, Ref},
};
use web::openapi::{ProblemFormats, complete};

#[utoipa::path(
    post, path = "/pet", request_body = String,
    responses((status = 200, description = "Fine."), (status = 422, description = "It breaks a rule.")),
)]
#[expect(dead_code, reason = "the document reads it")]
fn add() {}

#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the document reads it")]
struct Sample {
    text: String,
    #[schema(min_length = 1)]
    visible: String,
    #[schema(min_length = 1, format = Password)]
    secret: String,
    #[schema(pattern = "^[a-z]+$")]
    word: String,
    #[schema(format = "uri")]
    link: String,
    list: Vec<String>,
    small: i32,
    #[schema(minimum = 1)]
    large: i64,
}

#[utoipa::path(
    get, path = "/pet",
    params(("name" = String, Query)),
    responses((status = 200, description = "Fine.", body = Sample)),
)]
#[expect(dead_code, reason = "the document reads it")]
fn get() {}

#[derive(utoipa::OpenApi)]
#[openapi(paths(add, get))]
struct Document;

fn document(problem_formats: ProblemFormats) -> Value {
    serde_json::from_str(&web::document_text(&complete(Document::openapi(), problem_formats))).unwrap()
}

fn media_types(response: &Value) -> Vec<&str> {
    response["content"].as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn problems_are_described_in_each_media_type_of_the_service() {
    let json = ["application/problem+json"].as_slice();
    let both = ["application/problem+json", "application/problem+xml"].as_slice();
    for (problem_formats, expected) in [(ProblemFormats::Json, json), (ProblemFormats::JsonAndXml, both)] {
        let document = document(problem_formats);
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
fn text_and_whole_numbers_have_the_rules_of_the_server() {
    let text = r"^[^\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\uFFFE\uFFFF]*$";
    let document = document(ProblemFormats::Json);
    let properties = &document["components"]["schemas"]["Sample"]["properties"];
    assert_eq!(properties["text"], json!({"type": "string", "pattern": text}));
    let visible = properties["visible"]["pattern"].as_str().unwrap();
    assert!(visible.starts_with('^') && visible.contains(r"[^\s\u0000-\u0008") && visible.ends_with('$'));
    assert_eq!(properties["secret"]["pattern"], visible);
    assert_eq!(properties["word"]["pattern"], "^[a-z]+$");
    assert_eq!(properties["link"], json!({"type": "string", "format": "uri"}));
    assert_eq!(properties["list"]["items"], json!({"type": "string", "pattern": text}));
    let small = json!({"type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": i32::MAX});
    assert_eq!(properties["small"], small);
    let large = json!({"type": "integer", "format": "int64", "minimum": 1, "maximum": i64::MAX});
    assert_eq!(properties["large"], large);
    assert_eq!(document["paths"]["/pet"]["get"]["parameters"][0]["schema"]["pattern"], text);
    let sent = &document["paths"]["/pet"]["post"]["requestBody"]["content"];
    assert_eq!(sent["text/plain"]["schema"]["pattern"], text);
    // The detail of a problem may repeat rejected characters.
    assert!(document["components"]["schemas"]["Problem"]["properties"]["detail"]["pattern"].is_null());
}

#[test]
fn only_operations_that_declare_422_have_it() {
    for problem_formats in [ProblemFormats::Json, ProblemFormats::JsonAndXml] {
        let document = document(problem_formats);
        let responses = |method: &str| &document["paths"]["/pet"][method]["responses"];
        assert!(responses("get")["422"].is_null());
        assert!(responses("post")["422"].is_object());
        assert_eq!(responses("post")["400"]["$ref"], "#/components/responses/InvalidRequest");
    }
}

#[test]
fn xml_elements_of_a_problem_are_named() {
    let xml = document(ProblemFormats::JsonAndXml);
    let schemas = &xml["components"]["schemas"];
    assert_eq!(schemas["Problem"]["xml"], json!({"name": "problem", "namespace": "urn:ietf:rfc:7807"}));
    assert_eq!(schemas["Problem"]["properties"]["errors"]["xml"], json!({"wrapped": true}));
    assert_eq!(schemas["Invalid"]["xml"], json!({"name": "error"}));
    // The document of a service without XML does not mention it.
    assert!(!document(ProblemFormats::Json).to_string().contains("xml"));
}

/// A document is completed as it is: an empty one stays without operations.
#[test]
fn empty_document_stays_without_operations() {
    let document = complete(OpenApi::default(), ProblemFormats::JsonAndXml);
    assert!(document.paths.paths.is_empty());
}

/// A book, which operations name once.
#[derive(model::Resource)]
#[resource(xml = "book", list = "books", form, broken = web::problem::UNPROCESSABLE, new = NewBook)]
struct Book {
    #[field(assigned)]
    id: i64,
}

#[utoipa::path(
    post, path = "/book", request_body = NewBook,
    responses((status = 200, description = "Fine.", body = Book)),
    security(("oauth" = ["write"])),
)]
#[expect(dead_code, reason = "the document reads it")]
fn add_book() {}

#[utoipa::path(
    get, path = "/book",
    responses((status = 200, description = "Fine.", body = Vec<Book>)),
    security(("oauth" = [])),
)]
#[expect(dead_code, reason = "the document reads it")]
fn list_books() {}

#[derive(utoipa::OpenApi)]
#[openapi(paths(add_book, list_books))]
struct Books;

fn books(answers_in_xml: bool) -> Value {
    assert_eq!(NewBook { id: None }.with_id(1).id, 1);
    let mut document = Books::openapi();
    if answers_in_xml {
        web::openapi::answer_in_xml(&mut document);
    }
    serde_json::to_value(complete(document, ProblemFormats::JsonAndXml)).unwrap()
}

#[test]
fn formats_of_a_body_are_those_of_its_type() {
    let document = books(false);
    let add = &document["paths"]["/book"]["post"];
    let form = "application/x-www-form-urlencoded";
    assert_eq!(media_types(&add["requestBody"]), ["application/json", form, "application/xml"]);
    let reference = json!({"schema": {"$ref": "#/components/schemas/NewBook"}});
    for format in media_types(&add["requestBody"]) {
        assert_eq!(add["requestBody"]["content"][format], reference);
    }
    assert_eq!(add["responses"]["422"]["description"], "The body breaks a rule.");
    assert_eq!(media_types(&add["responses"]["200"]), ["application/json"]);
    // What the types noted of themselves is no part of the document.
    assert_eq!(document["components"]["schemas"]["NewBook"].get("x-body"), None);
    assert_eq!(document["components"]["schemas"]["Book"].get("x-list"), None);
}

#[test]
fn answers_in_xml_have_the_elements_of_their_types() {
    let document = books(true);
    let (add, list) = (&document["paths"]["/book"]["post"], &document["paths"]["/book"]["get"]);
    let reference = json!({"$ref": "#/components/schemas/Book"});
    let content = &add["responses"]["200"]["content"];
    assert_eq!(
        content,
        &json!({"application/json": {"schema": reference}, "application/xml": {"schema": reference}})
    );
    let content = &list["responses"]["200"]["content"];
    assert_eq!(content["application/json"]["schema"], json!({"type": "array", "items": reference}));
    let named = json!({"type": "array", "items": reference, "xml": {"name": "books", "wrapped": true}});
    assert_eq!(content["application/xml"]["schema"], named);
}

#[test]
fn operations_that_need_a_scope_describe_403() {
    let document = books(false);
    let (add, list) = (&document["paths"]["/book"]["post"], &document["paths"]["/book"]["get"]);
    assert_eq!(add["responses"]["403"], json!({"$ref": "#/components/responses/Forbidden"}));
    let forbidden = &document["components"]["responses"]["Forbidden"];
    assert_eq!(forbidden["description"], "The access token lacks the scope that the operation needs.");
    assert_eq!(media_types(forbidden), ["application/problem+json", "application/problem+xml"]);
    let headers = forbidden["headers"].as_object().unwrap();
    assert_eq!(headers.keys().collect::<Vec<_>>(), ["WWW-Authenticate", "X-Request-Id"]);
    assert_eq!(list["responses"].get("403"), None);
}

#[test]
fn document_without_scopes_does_not_describe_403() {
    assert_eq!(document(ProblemFormats::JsonAndXml)["components"]["responses"].get("Forbidden"), None);
}
