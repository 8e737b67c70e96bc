//! `POST /pet/{petId}` and `DELETE /pet/{petId}`.

use serde_json::json;

use crate::{
    answers::{ids, is_empty, pet, pet_with},
    fixture::Open,
};

testkit::on_both_engines! {
    async fn name_or_status_changes_and_nothing_else(open: Open) {
        let mut rex = json!({
            "id": 5,
            "category": {"id": 1, "name": "Dogs"},
            "name": "Rex",
            "photoUrls": ["x"],
            "tags": [{"id": 2, "name": "brown"}],
        });
        open.add(&rex).await;
        for (query, member, value) in [
            ("name=Max", "name", "Max"),
            ("status=available", "status", "available"),
            ("status=sold", "status", "sold"),
            ("status=sold", "status", "sold"),
            ("name=Gr%C3%BC%C3%9Fe%20%26%20K%2Bsse+%F0%9F%90%95", "name", "Grüße & K+sse 🐕"),
        ] {
            rex[member] = value.into();
            open.pets.post(&format!("/v3/pet/5?{query}")).send().await.is(200, &rex);
            open.pet(5).await.is(200, &rex);
        }
        let both = open.pets.post("/v3/pet/5?name=Rex&status=pending").send().await;
        rex["name"] = "Rex".into();
        rex["status"] = "pending".into();
        both.is(200, &rex);
        open.pets.get("/v3/pet/findByTags?tags=brown").send().await.is(200, &json!([rex]));
        // A body is ignored.
        let with_body = open.pets.post("/v3/pet/5?name=Rex").body("text/plain", "name=Max");
        with_body.send().await.is(200, &rex);
    }

    /// A status may change to every other, and to itself.
    async fn pet_changes_from_any_status_to_any_other(open: Open) {
        let all = ["available", "pending", "sold"];
        for (by, from, to) in all.into_iter().flat_map(|from| {
            all.into_iter().flat_map(move |to| ["PUT", "POST"].map(|by| (by, from, to)))
        }) {
            open.add(&json!({"id": 5, "name": "Rex", "photoUrls": [], "status": from})).await;
            let moved = json!({"id": 5, "name": "Rex", "photoUrls": [], "status": to});
            let call = match by {
                "PUT" => open.pets.put("/v3/pet").json(&moved),
                _ => open.pets.post(&format!("/v3/pet/5?status={to}")),
            };
            call.send().await.is(200, &moved);
            open.pet(5).await.is(200, &moved);
            for status in all {
                let path = format!("/v3/pet/findByStatus?status={status}");
                let found = open.pets.get(&path).send().await;
                let expected: &[i64] = if status == to { &[5] } else { &[] };
                assert_eq!(ids(&found), expected, "{by} {from} to {to}: {status}");
                assert_eq!(open.inventory().await[status], expected.len(), "{by} {from} to {to}");
            }
        }
    }

    async fn invalid_input_gets_400_and_changes_nothing(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let before = open.dump().await;
        let nothing = "is required, or a status is: there is nothing to change";
        let status = "must be one of: available, pending, sold";
        let colour = "is not a parameter of this operation, which takes name or status";
        let long = format!("?name={}", "x".repeat(201));
        for (query, errors) in [
            ("", &[("?name", nothing)][..]),
            ("?", &[("?name", nothing)]),
            ("?colour=brown", &[("?name", nothing), ("?colour", colour)]),
            ("?name=Max&colour=brown", &[("?colour", colour)]),
            ("?name=", &[("?name", "must not be empty")]),
            ("?name=%20", &[("?name", "must not be empty")]),
            ("?name=&status=sold", &[("?name", "must not be empty")]),
            ("?status=", &[("?status", status)]),
            ("?status=lost", &[("?status", status)]),
            ("?status=Sold", &[("?status", status)]),
            ("?status=sold,pending", &[("?status", status)]),
            ("?name=Max&status=lost", &[("?status", status)]),
            ("?name=&status=lost", &[("?name", "must not be empty"), ("?status", status)]),
            ("?name=a&name=b", &[("?name", "is given more than once")]),
            ("?status=sold&status=sold", &[("?status", "is given more than once")]),
            ("?name=%00", &[("?name", "must not contain the control character U+0000")]),
            ("?name=%EF%BF%BE", &[("?name", "must not contain the character U+FFFE")]),
            ("?name=%ff", &[("?", "has percent codes that are not UTF-8")]),
            ("?name=%zz", &[("?", "has a % that is not followed by two hexadecimal digits")]),
            (&long, &[("?name", "must be at most 200 characters long, not 201")]),
        ] {
            open.pets.post(&format!("/v3/pet/5{query}")).send().await.is_invalid(errors);
            // It is looked at before the pet is.
            open.pets.post(&format!("/v3/pet/6{query}")).send().await.is_invalid(errors);
        }
        let unknown = open.pets.post("/v3/pet/6?name=Max").send().await;
        assert_eq!(unknown.is_problem(404, "not-found"), "There is no pet with this id.");
        assert_eq!(open.dump().await, before);
    }

    async fn deleted_pet_gets_404(open: Open) {
        for id in [5, -5, 0, i64::MAX] {
            let sent =
                json!({"id": id, "name": "Rex", "photoUrls": [], "tags": [{"name": "t"}], "status": "sold"});
            open.add(&sent).await;
            let path = format!("/v3/pet/{id}");
            is_empty(&open.pets.delete(&path).send().await);
            assert_eq!(open.pet(id).await.is_problem(404, "not-found"), "There is no pet with this id.");
            let again = open.pets.delete(&path).send().await;
            assert_eq!(again.is_problem(404, "not-found"), "There is no pet with this id.");
        }
        open.pets.get("/v3/pet/findByTags?tags=t").send().await.is(200, &json!([]));
        open.pets.get("/v3/pet/findByStatus?status=sold").send().await.is(200, &json!([]));
        // Its id may be used again; the new pet has no data of the old one.
        let again = open.add(&pet_with("Max", "id", 5)).await;
        assert_eq!(again, json!({"id": 5, "name": "Max", "photoUrls": []}));
    }

    async fn order_stays_when_its_pet_is_deleted(open: Open) {
        open.add(&pet_with("Rex", "id", 5)).await;
        let order = open.anyone.post("/v3/store/order").json(&json!({"petId": 5})).send().await;
        let order = order.has_status(200).json();
        open.pets.delete("/v3/pet/5").send().await.has_status(200);
        open.order(1).await.is(200, &order);
    }

    async fn id_of_a_deleted_pet_is_not_assigned_again(open: Open) {
        let first = open.add(&pet("Rex")).await;
        open.pets.delete("/v3/pet/1").send().await.has_status(200);
        let second = open.add(&pet("Max")).await;
        assert_eq!((&first["id"], &second["id"]), (&json!(1), &json!(2)));
    }
}
