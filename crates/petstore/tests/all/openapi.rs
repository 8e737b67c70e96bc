//! The OpenAPI document: its content, and that it is complete.

use petstore::Settings;
use service::Service;
use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value, json};
use testkit::openapi::{is_whole, keys, resolve};

use crate::fixture::Open;

/// An operation of the document, with a path that can be called.
pub(crate) struct Operation {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) id: String,
    /// What the document says of it.
    pub(crate) document: Value,
}

/// Every operation of the document: on pet 1, order 1, user ada, and an image that there is not.
pub(crate) fn operations() -> Vec<Operation> {
    let document = document();
    let prefix = document["servers"][0]["url"].as_str().unwrap().to_owned();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let path = path
                .replace("{petId}", "1")
                .replace("{orderId}", "1")
                .replace("{username}", "ada")
                .replace("{imageId}", "dad4bce8-f5cb-4078-a211-995864315e39");
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

pub(crate) fn document() -> Value {
    serde_json::from_str(&web::document_text(&petstore::openapi("http://127.0.0.1:8080"))).unwrap()
}

testkit::on_one_engine! {
    async fn service_serves_its_document(open: Open) {
        let answer = open.anyone.get("/openapi.json").send().await;
        // With examples for the moment at which it started.
        let document = Settings::default().openapi(&open.address, open.clock.now()).unwrap();
        assert_eq!(answer.has_status(200).text(), web::document_text(&document));
        assert_eq!(answer.header("content-type"), "application/json");
        // Tools in a browser read it from anywhere.
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        let flow =
            &answer.json()["components"]["securitySchemes"]["petstore_auth"]["flows"]["authorizationCode"];
        assert_eq!(flow["authorizationUrl"], format!("{}/oauth/authorize", open.address));
        assert_eq!(flow["tokenUrl"], format!("{}/oauth/token", open.address));
    }
}

/// Keywords that only 3.1 has, with their pointers.
fn only_in_3_1(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let inside = format!("{path}/{name}");
                let is_member_name = path.ends_with("/properties");
                let unknown = match name.as_str() {
                    "examples" | "type" => member.is_array(),
                    "exclusiveMinimum" | "exclusiveMaximum" => !member.is_boolean(),
                    "$ref" => members.len() > 1,
                    "const" | "if" | "then" | "else" | "propertyNames" | "patternProperties"
                    | "prefixItems" | "webhooks" | "identifier" | "contentMediaType" | "$defs" => true,
                    _ => member == "null",
                };
                if unknown && !is_member_name {
                    found.push(inside.clone());
                }
                only_in_3_1(member, &inside, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| only_in_3_1(item, path, found)),
        _ => {}
    }
}

testkit::on_one_engine! {
    async fn document_is_also_served_as_openapi_3_0(open: Open) {
        let answer = open.anyone.get("/openapi-3.0.json").send().await;
        let document = Settings::default().openapi(&open.address, open.clock.now()).unwrap();
        assert_eq!(answer.has_status(200).text(), web::document_text_3_0(&document));
        assert_eq!(answer.header("content-type"), "application/json");
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        let (old, new) = (answer.json(), open.anyone.get("/openapi.json").send().await.json());
        assert_eq!((&old["openapi"], &new["openapi"]), (&json!("3.0.4"), &json!("3.1.0")));
        let mut found = Vec::new();
        only_in_3_1(&old, "", &mut found);
        assert_eq!(found, [""; 0]);
        // All else is equal: the operations with their answers, and the schemas with their members.
        assert_eq!(keys(&old["paths"]), keys(&new["paths"]));
        for (path, item) in new["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let same = &old["paths"][path][method];
                assert_eq!(same["operationId"], operation["operationId"]);
                assert_eq!(same["security"], operation["security"]);
                assert_eq!(keys(&same["responses"]), keys(&operation["responses"]), "{method} {path}");
            }
        }
        for (name, schema) in new["components"]["schemas"].as_object().unwrap() {
            let same = &old["components"]["schemas"][name];
            assert_eq!(same["required"], schema["required"], "{name}");
            if schema.get("properties").is_some() {
                assert_eq!(keys(&same["properties"]), keys(&schema["properties"]), "{name}");
            }
        }
        is_whole(&old);
    }
}

#[test]
fn document_matches_its_snapshot() {
    let text = web::document_text(&petstore::openapi("http://127.0.0.1:8080"));
    insta::assert_snapshot!("openapi", text);
}

#[test]
fn all_operations_have_their_responses() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    assert_eq!(document["servers"][0]["url"], "/v3");
    assert!(document.get("security").is_none(), "each operation says for itself what it wants");
    let mut found = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let answers: BTreeSet<_> = keys(&operation["responses"]).into_iter().collect();
            let answers = answers.into_iter().collect::<Vec<_>>().join(" ");
            let id = operation["operationId"].as_str().unwrap();
            found.insert(format!("{} {path}", method.to_uppercase()), format!("{id}: {answers}"));
        }
    }
    let expected = [
        ("POST /pet", "addPet: 200 400 401 403 406 408 413 415 422 429 503"),
        ("PUT /pet", "updatePet: 200 400 401 403 404 406 408 413 415 422 429 503"),
        ("GET /pet/findByStatus", "findPetsByStatus: 200 400 401 403 406 429 503"),
        ("GET /pet/findByTags", "findPetsByTags: 200 400 401 403 406 429 503"),
        ("GET /pet/{petId}", "getPetById: 200 400 401 403 404 406 429 503"),
        ("POST /pet/{petId}", "updatePetWithForm: 200 400 401 403 404 406 429 503"),
        ("DELETE /pet/{petId}", "deletePet: 200 400 401 403 404 429 503"),
        ("POST /pet/{petId}/uploadImage", "uploadFile: 200 400 401 403 404 406 408 409 413 415 429 503"),
        ("GET /images/{imageId}", "getImage: 200 400 404 406 429 503"),
        ("GET /store/inventory", "getInventory: 200 400 401 406 429 503"),
        ("POST /store/order", "placeOrder: 200 400 406 408 413 415 422 429 503"),
        ("GET /store/order/{orderId}", "getOrderById: 200 400 404 406 429 503"),
        ("DELETE /store/order/{orderId}", "deleteOrder: 200 400 404 429 503"),
        ("POST /user", "createUser: 200 400 401 406 408 409 413 415 422 429 503"),
        (
            "POST /user/createWithList",
            "createUsersWithListInput: 200 400 401 406 408 409 413 415 422 429 503",
        ),
        ("GET /user/login", "loginUser: 200 400 406 429 503"),
        ("GET /user/logout", "logoutUser: 200 400 429 503"),
        ("GET /user/{username}", "getUserByName: 200 400 404 406 429 503"),
        ("PUT /user/{username}", "updateUser: 200 400 401 403 404 408 409 413 415 422 429 503"),
        ("DELETE /user/{username}", "deleteUser: 200 400 401 403 404 429 503"),
    ];
    let expected = expected.map(|(operation, answers)| (operation.to_owned(), answers.to_owned()));
    assert_eq!(found, BTreeMap::from(expected));
}

/// The version, the scopes and the error texts are those of the public description.
#[test]
fn document_has_the_texts_of_the_public_description() {
    let document = document();
    assert_eq!(document["info"]["version"], "1.0.20-SNAPSHOT");
    let flow = &document["components"]["securitySchemes"]["petstore_auth"]["flows"]["authorizationCode"];
    let scopes = json!({"write:pets": "modify pets in your account", "read:pets": "read your pets"});
    assert_eq!(flow["scopes"], scopes);
    for operation in operations() {
        let invalid = &operation.document["responses"]["400"];
        let expected = match operation.id.as_str() {
            "addPet" | "updatePetWithForm" | "placeOrder" => "Invalid input",
            "updatePet" | "getPetById" | "getOrderById" | "deleteOrder" => "Invalid ID supplied",
            "findPetsByStatus" => "Invalid status value",
            "findPetsByTags" => "Invalid tag value",
            "deletePet" => "Invalid pet value",
            "uploadFile" => "No file uploaded",
            "loginUser" => "Invalid username/password supplied",
            "getUserByName" | "deleteUser" => "Invalid username supplied",
            "updateUser" => "bad request",
            _ => continue,
        };
        assert_eq!(invalid["description"], expected, "{}", operation.id);
        assert_eq!(
            invalid["content"]["application/problem+json"]["schema"]["$ref"], "#/components/schemas/Problem",
            "{}",
            operation.id
        );
    }
}

/// The forms in which each operation takes a body.
fn taken(id: &str) -> &'static [&'static str] {
    match id {
        "addPet" | "updatePet" | "placeOrder" | "createUser" | "updateUser" => {
            &["application/json", "application/x-www-form-urlencoded", "application/xml"]
        }
        "createUsersWithListInput" => &["application/json"],
        "uploadFile" => &["application/octet-stream", "image/*"],
        _ => &[],
    }
}

/// The forms in which each operation answers.
fn given(id: &str) -> &'static [&'static str] {
    match id {
        "deletePet" | "deleteOrder" | "logoutUser" | "updateUser" | "deleteUser" => &[],
        "uploadFile" | "getInventory" | "placeOrder" => &["application/json"],
        "getImage" => &["application/octet-stream", "image/*"],
        "loginUser" => &["application/json", "application/xml", "text/plain"],
        _ => &["application/json", "application/xml"],
    }
}

#[test]
fn all_bodies_have_their_media_types_and_schemas() {
    let document = document();
    for Operation { id, document: operation, .. } in operations() {
        let sorted = |value: &Value| keys(value).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        let wanted = |types: &[&str]| types.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let body = &operation["requestBody"];
        assert_eq!(sorted(&body["content"]), wanted(taken(&id)), "{id}");
        if !taken(&id).is_empty() {
            assert_eq!(body["required"], true, "{id}");
        }
        for content in body["content"].as_object().into_iter().flatten().map(|(_, content)| content) {
            assert!(content["schema"].is_object(), "{id}");
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolve(&document, response);
            let content = &response["content"];
            let types = match status.as_str() {
                "200" => given(&id),
                _ => &["application/problem+json", "application/problem+xml"],
            };
            assert_eq!(sorted(content), wanted(types), "{id} {status}");
            for (media_type, content) in content.as_object().into_iter().flatten() {
                assert!(content["schema"].is_object(), "{id} {status}");
                if media_type.contains("problem") {
                    let problem = json!({"$ref": "#/components/schemas/Problem"});
                    assert_eq!(content["schema"], problem, "{id} {status}");
                }
            }
            assert!(!response["description"].as_str().unwrap().is_empty(), "{id} {status}");
            assert!(response["headers"]["X-Request-Id"].is_object(), "{id} {status}");
            let named = [("401", "WWW-Authenticate"), ("429", "Retry-After"), ("503", "Retry-After")];
            for (_, header) in named.iter().filter(|(with, _)| with == status) {
                assert!(response["headers"][header].is_object(), "{id} {status} {header}");
            }
            if id == "loginUser" && status == "200" {
                for header in ["X-Rate-Limit", "X-Expires-After", "Set-Cookie"] {
                    assert!(response["headers"][header].is_object(), "{id} {header}");
                }
            }
        }
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{id}");
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{id}");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(parameter["schema"].is_object(), "{id} {parameter}");
            let required = parameter["in"] == "path" || id == "loginUser" || parameter["name"] == "tags";
            assert_eq!(parameter["required"], required, "{id} {parameter}");
        }
    }
}

#[test]
fn bytes_are_described_as_bytes() {
    let document = document();
    let upload = &document["paths"]["/pet/{petId}/uploadImage"]["post"]["requestBody"]["content"];
    let image = &document["paths"]["/images/{imageId}"]["get"]["responses"]["200"]["content"];
    for content in [upload, image] {
        for (media_type, content) in content.as_object().unwrap() {
            let schema = &content["schema"];
            assert_eq!(
                (&schema["type"], &schema["format"]),
                (&json!("string"), &json!("binary")),
                "{media_type}"
            );
        }
    }
}

#[test]
fn all_security_schemes_are_described() {
    let schemes = &document()["components"]["securitySchemes"];
    assert_eq!(
        keys(schemes).into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from(["api_key", "petstore_auth", "session"])
    );
    let flow = &schemes["petstore_auth"]["flows"]["authorizationCode"];
    assert_eq!(schemes["petstore_auth"]["type"], "oauth2");
    assert_eq!(keys(&schemes["petstore_auth"]["flows"]), ["authorizationCode"]);
    assert_eq!(flow["authorizationUrl"], "http://127.0.0.1:8080/oauth/authorize");
    assert_eq!(flow["tokenUrl"], "http://127.0.0.1:8080/oauth/token");
    assert_eq!(
        keys(&flow["scopes"]).into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from(["read:pets", "write:pets"])
    );
    assert_eq!(schemes["api_key"]["type"], "apiKey");
    assert_eq!(
        (&schemes["api_key"]["in"], &schemes["api_key"]["name"]),
        (&json!("header"), &json!("api_key"))
    );
    assert_eq!(
        (&schemes["session"]["type"], &schemes["session"]["scheme"]),
        (&json!("http"), &json!("bearer"))
    );
}

#[test]
fn schemas_match_the_rules() {
    let document = document();
    let schema = |name: &str| document["components"]["schemas"][name].clone();
    let required = |name: &str| schema(name)["required"].clone();
    assert_eq!(required("PetInput"), json!(["name", "photoUrls"]));
    assert_eq!(required("Pet"), json!(["id", "name", "photoUrls"]));
    assert_eq!(required("OrderInput"), json!(["petId"]));
    assert_eq!(required("Order"), json!(["id", "petId", "quantity", "status", "complete"]));
    assert!(schema("User")["properties"].get("password").is_none(), "no answer has one");
    for (name, root) in [
        ("Pet", "pet"),
        ("PetInput", "pet"),
        ("PetUpdate", "pet"),
        ("Order", "order"),
        ("OrderInput", "order"),
        ("User", "user"),
        ("UserInput", "user"),
        ("UserChanges", "user"),
    ] {
        assert_eq!(schema(name)["xml"]["name"], root, "{name}");
    }
    let members = "email firstName id lastName password phone userStatus username";
    for name in ["UserInput", "UserChanges"] {
        let mut found = keys(&schema(name)["properties"]).into_iter().map(str::to_owned).collect::<Vec<_>>();
        found.sort_unstable();
        assert_eq!((schema(name)["type"].as_str(), found.join(" ").as_str()), (Some("object"), members));
        assert_eq!(schema(name)["properties"]["username"]["type"], "string", "{name}");
    }
    for name in ["Pet", "PetInput"] {
        for (list, item) in [("photoUrls", "photoUrl"), ("tags", "tag")] {
            let list = &schema(name)["properties"][list];
            assert_eq!(list["xml"]["wrapped"], true, "{name} {list}");
            let items = resolve(&document, &list["items"]);
            assert_eq!(items["xml"]["name"], item, "{name} {list}: the element is named by its items");
        }
    }
    assert_eq!(schema("Status")["enum"], json!(["available", "pending", "sold"]));
    assert_eq!(schema("OrderStatus")["enum"], json!(["placed", "approved", "delivered"]));
    let list = &document["paths"]["/user/createWithList"]["post"]["requestBody"]["content"]["application/json"]
        ["schema"];
    assert_eq!((&list["minItems"], &list["maxItems"]), (&json!(1), &json!(50)));
    for path in ["/pet/findByStatus", "/pet/findByTags"] {
        let found =
            &document["paths"][path]["get"]["responses"]["200"]["content"]["application/xml"]["schema"];
        assert_eq!(found["xml"]["name"], "pets", "{path}");
    }
}

/// A `null` of a client is rejected, and no answer has one, so no schema may allow it.
#[test]
fn no_schema_allows_null() {
    let text = web::document_text(&petstore::openapi("http://127.0.0.1:8080"));
    assert!(!text.contains("\"null\""), "{text}");
}

#[test]
fn references_resolve_and_all_components_are_used() {
    is_whole(&document());
}
