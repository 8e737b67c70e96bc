//! `POST /user/createWithList`: all of them or none.

use serde_json::{Value, json};
use testkit::Answer;

use crate::{
    answers::{is_broken, is_xml},
    fixture::Open,
};

impl Open {
    async fn create_list(&self, users: &Value) -> Answer {
        self.ada.post("/v3/user/createWithList").json(users).send().await
    }
}

/// This number of users with different names, without passwords.
fn users(count: usize) -> Value {
    (0..count).map(|number| json!({"username": format!("user {number}")})).collect()
}

testkit::on_both_engines! {
    async fn last_user_is_returned_and_all_are_created(open: Open) {
        let sent = json!([
            {"username": "a", "firstName": "A"},
            {"id": 77, "username": "b"},
            {"username": "c", "email": "c@example.com", "userStatus": 3},
        ]);
        let last = json!({"id": 2, "username": "c", "email": "c@example.com", "userStatus": 3});
        open.create_list(&sent).await.is(200, &last);
        open.user("a").await.is(200, &json!({"id": 1, "username": "a", "firstName": "A"}));
        open.user("b").await.is(200, &json!({"id": 77, "username": "b"}));
        open.user("c").await.is(200, &last);
        let call = open.ada.post("/v3/user/createWithList").json(&json!([{"username": "d"}]));
        let answer = call.header("accept", "application/xml").send().await;
        is_xml(&answer, "<user><id>3</id><username>d</username></user>");
    }

    async fn list_may_have_fifty_users(open: Open) {
        let before = open.dump().await;
        is_broken(&open.create_list(&json!([])).await, &[("#", "must have at least one item")]);
        for count in [51, 101, 1000] {
            let said = format!("must have at most 50 items, not {count}");
            is_broken(&open.create_list(&users(count)).await, &[("#", &said)]);
        }
        assert_eq!(open.dump().await, before);
        open.create_list(&users(50)).await.is(200, &json!({"id": 50, "username": "user 49"}));
    }

    async fn one_taken_name_rejects_the_whole_list(open: Open) {
        let before = open.dump().await;
        let taken = "There is a user named ada already; choose another username.";
        for list in [
            json!([{"username": "ada"}]),
            json!([{"username": "a"}, {"username": "b"}, {"username": "ada"}]),
            json!([{"username": "ada"}, {"username": "a"}]),
            json!([{"id": 5, "username": "a"}, {"id": 6, "username": "ada"}]),
        ] {
            assert_eq!(open.create_list(&list).await.is_problem(409, "conflict"), taken, "{list}");
        }
        let taken = "There is a user with the id 2002 already; choose another, or leave it out.";
        for list in [
            json!([{"username": "a"}, {"id": 2002, "username": "b"}]),
            json!([{"id": 2002, "username": "a"}, {"username": "b"}]),
        ] {
            assert_eq!(open.create_list(&list).await.is_problem(409, "conflict"), taken, "{list}");
        }
        assert_eq!(open.dump().await, before);
        open.user("a").await.is_problem(404, "not-found");
    }

    async fn repeated_name_or_id_in_a_list_is_rejected(open: Open) {
        let before = open.dump().await;
        let list = json!([
            {"id": 5, "username": "a"},
            {"id": 5, "username": "b"},
            {"username": "a"},
            {"id": 6, "username": "c"},
            {"id": 6, "username": "c"},
        ]);
        is_broken(
            &open.create_list(&list).await,
            &[
                ("#/1/id", "is the id of another user in the list"),
                ("#/2/username", "is the username of another user in the list"),
                ("#/4/username", "is the username of another user in the list"),
                ("#/4/id", "is the id of another user in the list"),
            ],
        );
        assert_eq!(open.dump().await, before);
    }

    /// The next id to be given out is 1: what the list itself asks for must not be in its own way.
    async fn id_chosen_in_a_list_is_not_assigned_in_it(open: Open) {
        let list = json!([
            {"username": "a"}, {"id": 1, "username": "b"}, {"id": 2, "username": "c"}, {"username": "d"},
        ]);
        let last = open.create_list(&list).await.has_status(200).json();
        assert_eq!(last["username"], "d");
        open.user("b").await.is(200, &json!({"id": 1, "username": "b"}));
        open.user("c").await.is(200, &json!({"id": 2, "username": "c"}));
        let given: Vec<_> =
            [open.user("a").await.json(), last].iter().map(|user| user["id"].as_i64().unwrap()).collect();
        assert!(given[0] > 2 && given[1] > 2 && given[0] != given[1], "{given:?}");
    }

    async fn all_validation_errors_of_all_users_are_listed(open: Open) {
        let before = open.dump().await;
        let list = json!([
            {"username": "fine"},
            {},
            {"username": 5, "userStatus": "x"},
            "no user",
            {"username": "a:b", "password": ""},
        ]);
        is_broken(
            &open.create_list(&list).await,
            &[
                ("#/1/username", "is required"),
                ("#/2/username", "must be text"),
                ("#/2/userStatus", "must be a whole number from -2147483648 to 2147483647"),
                ("#/3", "must be a JSON object"),
                (
                    "#/4/username",
                    "cannot be used: a name must not contain control characters, or a colon, which HTTP Basic cannot carry",
                ),
                ("#/4/password", "must not be empty"),
            ],
        );
        // A password that is too long in bytes, not in characters.
        let long = json!([{"username": "a"}, {"username": "b", "password": "🔑".repeat(257)}]);
        is_broken(
            &open.create_list(&long).await,
            &[("#/1/password", "cannot be used: a password must have 1 to 1024 bytes")],
        );
        for no_list in [json!({}), json!({"username": "a"}), json!(null), json!("a")] {
            is_broken(&open.create_list(&no_list).await, &[("#", "must be a list")]);
        }
        assert_eq!(open.dump().await, before);
    }

    async fn concurrent_lists_are_created_completely_or_not_at_all(open: Open) {
        let lists = (0..24).map(|number| {
            let ada = open.ada.clone();
            async move {
                // Each shares a name with the next one, in another place.
                let list = json!([
                    {"username": format!("own {number}")},
                    {"username": format!("shared {number}")},
                    {"username": format!("shared {}", (number + 1) % 24)},
                ]);
                (number, ada.post("/v3/user/createWithList").json(&list).send().await)
            }
        });
        let answers = futures_util::future::join_all(lists).await;
        let mut made = 0;
        for (number, answer) in &answers {
            let own = open.user(&format!("own%20{number}")).await.status;
            if answer.status == 200 {
                made += 1;
                assert_eq!(own, 200);
            } else {
                answer.is_problem(409, "conflict");
                assert_eq!(own, 404);
            }
        }
        assert!((8..=12).contains(&made), "{made} of 24 lists, each in the way of two others");
        let shared = futures_util::future::join_all(
            (0..24).map(async |number| open.user(&format!("shared%20{number}")).await.status),
        );
        assert_eq!(shared.await.iter().filter(|status| **status == 200).count(), made * 2);
    }
}
