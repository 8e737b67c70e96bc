//! Pets and users in XML and in forms, as the public description offers.

use http::Method;
use serde_json::json;
use testkit::Answer;

use crate::{
    answers::{is_broken, is_empty},
    fixture::Open,
};

const FORM: &str = "application/x-www-form-urlencoded";
const XML: &str = "application/xml";

impl Open {
    async fn send_pet(&self, method: Method, form: &str) -> Answer {
        self.pets.call(method, "/v3/pet").body(FORM, form.to_owned()).send().await
    }
}

testkit::on_one_engine! {
    async fn pet_is_read_from_a_form(open: Open) {
        // Lists are repeated, objects are JSON: so OpenAPI has forms.
        let form = "id=5&name=Rex+%26+Max&photoUrls=a&photoUrls=b%2Cc&status=sold\
                    &category=%7B%22id%22%3A1%2C%22name%22%3A%22Dogs%22%7D\
                    &tags=%7B%22id%22%3A2%2C%22name%22%3A%22brown%22%7D&tags=%7B%22name%22%3A%22old%22%7D";
        let mut pet = json!({
            "id": 5, "category": {"id": 1, "name": "Dogs"}, "name": "Rex & Max", "photoUrls": ["a", "b,c"],
            "tags": [{"id": 2, "name": "brown"}, {"name": "old"}], "status": "sold",
        });
        open.send_pet(Method::POST, form).await.is(200, &pet);
        open.pet(5).await.is(200, &pet);
        open.pets.get("/v3/pet/findByTags?tags=old").send().await.is(200, &json!([pet]));
        let form = form.replace("status=sold", "status=pending");
        pet["status"] = "pending".into();
        open.send_pet(Method::PUT, &form).await.is(200, &pet);
        // An empty value is an empty list.
        let least = json!({"id": 1, "name": "Rex", "photoUrls": []});
        open.send_pet(Method::POST, "name=Rex&photoUrls=").await.is(200, &least);
        let without_tags = json!({"id": 6, "name": "Rex", "photoUrls": ["a"], "tags": []});
        open.send_pet(Method::POST, "id=6&name=Rex&photoUrls=a&tags=").await.is(200, &without_tags);
    }

    async fn all_validation_errors_of_a_pet_form_are_listed(open: Open) {
        let before = open.dump().await;
        let json = "must be a JSON object, as text";
        for (form, errors) in [
            ("", &[("#/name", "is required"), ("#/photoUrls", "is required")][..]),
            ("name=a&photoUrls=&category=cats", &[("#/category", json)]),
            ("name=a&photoUrls=&category=%5B1%5D", &[("#/category", "must be a JSON object")]),
            ("name=a&photoUrls=&category=%7B%22id%22%3A1%2C%22id%22%3A2%7D", &[("#/category", json)]),
            ("name=a&photoUrls=&tags=%7B%22name%22%3A5%7D&tags=x", &[
                ("#/tags/0/name", "must be text"), ("#/tags/1", json),
            ]),
            ("name=&photoUrls=&status=lost", &[
                ("#/name", "must not be empty"), ("#/status", "must be one of: available, pending, sold"),
            ]),
        ] {
            is_broken(&open.send_pet(Method::POST, form).await, errors);
        }
        let many = format!("name=a{}", "&photoUrls=x".repeat(101));
        let said = "must have at most 100 items, not 101";
        is_broken(&open.send_pet(Method::POST, &many).await, &[("#/photoUrls", said)]);
        let twice = open.send_pet(Method::POST, "name=a&name=b&photoUrls=").await;
        twice.is_invalid(&[("#/name", "is given more than once")]);
        assert_eq!(open.dump().await, before);
    }

    async fn user_is_read_from_xml_and_from_a_form(open: Open) {
        let whole = |id: i64, name: &str| {
            json!({
                "id": id, "username": name, "firstName": "Zoë", "lastName": "Z", "email": "z@example.com", "phone": "1",
                "userStatus": 3,
            })
        };
        let members = "<firstName>Zo\u{eb}</firstName><lastName>Z</lastName><email>z@example.com</email><phone>1</phone>\
                       <userStatus>3</userStatus>";
        let xml = format!("<user><id>5</id><username>zoe</username><password>secret</password>{members}</user>");
        let created = open.ada.post("/v3/user").body(XML, xml).send().await;
        created.is(200, &whole(5, "zoe"));
        let rest = "firstName=Zo%C3%AB&lastName=Z&email=z%40example.com&phone=1&userStatus=3";
        let form = format!("id=6&username=zed&password=secret&{rest}");
        open.ada.post("/v3/user").body(FORM, form).send().await.is(200, &whole(6, "zed"));
        for name in ["zoe", "zed"] {
            let path = format!("/v3/user/login?username={name}&password=secret");
            open.anyone.get(&path).send().await.has_status(200);
        }
        let changed = open.ada.put("/v3/user/ada").body(XML, format!("<user>{members}</user>")).send().await;
        is_empty(&changed);
        open.user("ada").await.is(200, &whole(2001, "ada"));
        is_empty(&open.ben.put("/v3/user/ben").body(FORM, rest).send().await);
        open.user("ben").await.is(200, &whole(2002, "ben"));
    }

    async fn all_validation_errors_of_a_user_form_are_listed(open: Open) {
        let before = open.dump().await;
        let status = "must be a whole number from -2147483648 to 2147483647";
        for (content_type, body) in [
            (FORM, "password=&userStatus=x"),
            (XML, "<user><password></password><userStatus>x</userStatus></user>"),
        ] {
            let errors = [
                ("#/username", "is required"), ("#/password", "must not be empty"), ("#/userStatus", status),
            ];
            is_broken(&open.ada.post("/v3/user").body(content_type, body).send().await, &errors);
            let answer = open.ada.put("/v3/user/ada").body(content_type, body).send().await;
            is_broken(&answer, &errors[1..]);
        }
        let pet = open.ada.post("/v3/user").body(XML, "<pet/>").send().await;
        pet.is_problem(400, "invalid-request");
        assert_eq!(open.dump().await, before);
    }
}
