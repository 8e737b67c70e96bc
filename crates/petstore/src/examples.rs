//! Examples in the OpenAPI document that work when they are sent to a demo: pets, an order and users of the demo.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use utoipa::openapi::OpenApi;
use web::openapi::{body_example, parameter_example};

/// The document with examples for this time.
pub(crate) fn with_examples(mut document: OpenApi, now: Timestamp) -> OpenApi {
    parameter_example(&mut document, "petId", 10);
    parameter_example(&mut document, "orderId", 10);
    parameter_example(&mut document, "username", "user1");
    let pet = json!({
        "id": 10,
        "category": {"id": 1, "name": "Dogs"},
        "name": "doggie",
        "photoUrls": ["https://example.com/pets/10.jpg"],
        "tags": [{"id": 1, "name": "tag1"}],
        "status": "available",
    });
    body_example(&mut document, "addPet", pet.clone());
    body_example(&mut document, "updatePet", pet);
    let tomorrow = now.checked_add(SignedDuration::from_hours(24)).unwrap_or(now);
    let order = json!({
        "petId": 198_772,
        "quantity": 7,
        "shipDate": format!("{tomorrow:.0}"),
        "status": "approved",
        "complete": true,
    });
    body_example(&mut document, "placeOrder", order);
    let user = |name: &str| {
        json!({
            "username": name,
            "firstName": "John",
            "lastName": "James",
            "email": "john@example.com",
            "password": "12345",
            "phone": "12345",
            "userStatus": 1,
        })
    };
    body_example(&mut document, "createUser", user("newUser"));
    body_example(&mut document, "createUsersWithListInput", json!([user("firstUser"), user("secondUser")]));
    body_example(
        &mut document,
        "updateUser",
        json!({"firstName": "Una", "lastName": "One", "phone": "555-0101"}),
    );
    document
}
