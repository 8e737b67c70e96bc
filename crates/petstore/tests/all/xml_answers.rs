//! Each XML answer has the elements that its schema names.

use std::collections::BTreeSet;

use serde_json::json;
use testkit::Call;

use crate::{
    answers::pet_with,
    fixture::Open,
    openapi::{document, operations},
};

const XML: &str = "application/xml";

testkit::on_one_engine! {
    async fn xml_answers_have_the_names_of_their_schemas(open: Open) {
        let mut pet = pet_with("Rex", "id", 1);
        pet["photoUrls"] = json!(["1.jpg", "2.jpg"]);
        pet["category"] = json!({"id": 1, "name": "Dogs"});
        pet["tags"] = json!([{"id": 7, "name": "brown"}, {}]);
        pet["status"] = json!("available");
        open.add(&pet).await;
        let order = json!({"id": 1, "petId": 1, "shipDate": "2026-05-17T10:30:00Z"});
        open.anyone.post("/v3/store/order").json(&order).send().await.has_status(200);
        open.ada.put("/v3/user/ada").json(&json!({"firstName": "Ada", "userStatus": 1})).send().await.has_status(200);
        let user = |name: &str| {
            json!({"username": name, "password": "correct-horse-7", "email": "z@example.com", "userStatus": 1})
        };
        open.ada.post("/v3/user").json(&user("max")).send().await.has_status(200);

        let document = document();
        let mut checked = BTreeSet::new();
        for operation in operations() {
            let schema = &operation.document["responses"]["200"]["content"][XML]["schema"];
            if schema.is_null() {
                continue;
            }
            let id = operation.id.as_str();
            let call = |accept: &str| -> Call {
                // Two users of different names, for the two answers.
                let name = accept.replace('/', "-");
                let path = match id {
                    "findPetsByTags" => format!("{}?tags=brown", operation.path),
                    "updatePetWithForm" => format!("{}?name=Rex", operation.path),
                    "loginUser" => format!("{}?username=max&password=correct-horse-7", operation.path),
                    _ => operation.path.clone(),
                };
                let caller = if id.starts_with("createUser") { &open.ada } else { &open.pets };
                let call = caller.call(operation.method.clone(), &path).header("accept", accept);
                match id {
                    "addPet" | "updatePet" => call.json(&pet),
                    "createUser" => call.json(&user(&name)),
                    "createUsersWithListInput" => call.json(&json!([user(&format!("{name}-in-list"))])),
                    _ => call,
                }
            };
            let xml = call(XML).send().await;
            assert_eq!(xml.header("content-type"), XML, "{id}: {}", xml.text());
            let mut found = testkit::xml::by_schema(&document, schema, &xml.has_status(200).text());
            let mut expected = call("application/json").send().await.has_status(200).json();
            match id {
                // Another session each time.
                "loginUser" => {
                    assert!(found != expected && found.is_string());
                    found = expected.clone();
                }
                "createUser" | "createUsersWithListInput" => {
                    for member in ["id", "username"] {
                        assert!(found[member].take() != expected[member].take(), "{id}");
                    }
                }
                _ => {}
            }
            assert_eq!(found, expected, "{id}: {}", xml.text());
            checked.insert(id.to_owned());
        }
        assert_eq!(checked.len(), 11, "{checked:?}");
    }
}
