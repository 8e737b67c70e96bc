//! `POST /pet`, `PUT /pet`, `GET /pet/{petId}` in JSON.

use serde_json::{Value, json};

use crate::{
    answers::{is_broken, number, pet, pet_with},
    fixture::Open,
};

/// A pet with everything a pet can have.
fn doggie(id: i64) -> Value {
    json!({
        "id": id,
        "category": {"id": 1, "name": "Dogs"},
        "name": "doggie",
        "photoUrls": ["https://example.com/1.jpg", "data:,x"],
        "tags": [{"id": 7, "name": "brown"}, {"name": "small"}, {"id": 8}, {}],
        "status": "pending",
    })
}

testkit::on_both_engines! {
    async fn pet_is_stored_as_sent(open: Open) {
        let sent = doggie(10);
        open.pets.post("/v3/pet").json(&sent).send().await.is(200, &sent);
        open.pet(10).await.is(200, &sent);
        open.key.get("/v3/pet/10").send().await.is(200, &sent);
        // As text, in this order: no member that was not sent, none of another type.
        let answer = open.pet(10).await;
        assert_eq!(
            answer.text(),
            "{\"id\":10,\"category\":{\"id\":1,\"name\":\"Dogs\"},\"name\":\"doggie\",\
             \"photoUrls\":[\"https://example.com/1.jpg\",\"data:,x\"],\"tags\":[{\"id\":7,\"name\":\"brown\"},\
             {\"name\":\"small\"},{\"id\":8},{}],\"status\":\"pending\"}"
        );
        assert_eq!(answer.header("vary").split(", ").next(), Some("accept"));
    }

    async fn name_and_photo_urls_are_enough_for_a_pet(open: Open) {
        let added = open.add(&pet("Rex")).await;
        assert_eq!(added, json!({"id": 1, "name": "Rex", "photoUrls": []}));
        open.pet(1).await.is(200, &added);
        // Empty members stay empty, and are not absent.
        let sent = json!({"name": "Rex", "photoUrls": [], "tags": [], "category": {}});
        let added = open.add(&sent).await;
        let expected = json!({"id": 2, "name": "Rex", "photoUrls": [], "tags": [], "category": {}});
        assert_eq!(added, expected);
        open.pet(2).await.is(200, &expected);
        // Unknown members are not stored.
        let sent = json!({"name": "Rex", "photoUrls": [], "unknown": "brown", "photourls": [1]});
        assert_eq!(open.add(&sent).await, json!({"id": 3, "name": "Rex", "photoUrls": []}));
    }

    async fn name_may_have_any_printable_characters(open: Open) {
        for name in [
            "é",
            "🐕‍🦺",
            "O'Malley & <b>Sons</b> \"]]>\"",
            "a\tb\nc\rd",
            " padded ",
            "\u{202e}x",
            "' OR 1=1 --",
            "\\u0041 %41 {}",
        ] {
            let added = open.add(&pet(name)).await;
            assert_eq!(added["name"], name);
            open.pet(number(&added, "id")).await.is(200, &added);
        }
        let longest = "ü".repeat(200);
        assert_eq!(open.add(&pet(&longest)).await["name"], longest.as_str());
    }

    async fn ids_of_64_bits_keep_all_digits(open: Open) {
        for id in [i64::MAX, i64::MIN, i64::MAX - 1, -1, 0, 9_007_199_254_740_993] {
            let sent = pet_with("Rex", "id", id);
            let answer = open.pets.post("/v3/pet").json(&sent).send().await;
            assert_eq!(
                answer.has_status(200).text(),
                format!("{{\"id\":{id},\"name\":\"Rex\",\"photoUrls\":[]}}")
            );
            assert_eq!(open.pet(id).await.text(), answer.text());
        }
        let sent =
            json!({"name": "Rex", "photoUrls": [], "category": {"id": i64::MAX}, "tags": [{"id": i64::MIN}]});
        let added = open.add(&sent).await;
        assert_eq!(added["category"]["id"].to_string(), i64::MAX.to_string());
        assert_eq!(added["tags"][0]["id"].to_string(), i64::MIN.to_string());
        open.pet(number(&added, "id")).await.is(200, &added);
    }

    async fn post_with_an_existing_id_replaces_the_pet(open: Open) {
        open.add(&doggie(10)).await;
        let other = json!({"id": 10, "name": "Rex", "photoUrls": ["https://example.com/2.jpg"]});
        open.pets.post("/v3/pet").json(&other).send().await.is(200, &other);
        // All members of the old pet are replaced.
        open.pet(10).await.is(200, &other);
        open.pets.get("/v3/pet/findByTags?tags=brown,small").send().await.is(200, &json!([]));
        assert_eq!(open.inventory().await, json!({"available": 0, "pending": 0, "sold": 0}));
    }

    async fn put_replaces_an_existing_pet(open: Open) {
        open.add(&doggie(10)).await;
        let other =
            json!({"id": 10, "name": "Rex", "photoUrls": [], "tags": [{"name": "grey"}], "status": "sold"});
        open.pets.put("/v3/pet").json(&other).send().await.is(200, &other);
        open.pet(10).await.is(200, &other);
        open.pets.get("/v3/pet/findByTags?tags=brown").send().await.is(200, &json!([]));
        open.pets.get("/v3/pet/findByTags?tags=grey").send().await.is(200, &json!([other]));
        open.pets.put("/v3/pet").json(&doggie(10)).send().await.is(200, &doggie(10));
    }

    async fn put_without_id_is_rejected(open: Open) {
        open.add(&doggie(10)).await;
        let before = open.dump().await;
        let answer = open.pets.put("/v3/pet").json(&pet("Rex")).send().await;
        answer.is_invalid(&[("#/id", "is required, to say which pet is replaced")]);
        for unknown in [11, -10, 0, i64::MAX] {
            let answer = open.pets.put("/v3/pet").json(&pet_with("Rex", "id", unknown)).send().await;
            assert_eq!(answer.is_problem(404, "not-found"), "There is no pet with this id.");
        }
        // Validation errors of the body are reported before an unknown pet, all at once.
        let answer = open.pets.put("/v3/pet").json(&json!({"id": 11, "status": "lost"})).send().await;
        is_broken(
            &answer,
            &[
                ("#/name", "is required"),
                ("#/photoUrls", "is required"),
                ("#/status", "must be one of: available, pending, sold"),
            ],
        );
        assert_eq!(open.dump().await, before);
    }

    async fn unknown_pet_gets_404(open: Open) {
        open.add(&doggie(10)).await;
        for id in [1, 9, 11, -10, i64::MAX, i64::MIN] {
            for caller in [&open.pets, &open.key] {
                let answer = caller.get(&format!("/v3/pet/{id}")).send().await;
                assert_eq!(answer.is_problem(404, "not-found"), "There is no pet with this id.");
            }
        }
    }
}
