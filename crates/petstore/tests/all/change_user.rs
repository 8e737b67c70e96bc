//! `PUT /user/{username}` and `DELETE /user/{username}`.

use serde_json::{Value, json};
use service::{Instance, Service};
use testkit::Answer;

use crate::{
    answers::{is_broken, is_empty},
    fixture::Open,
};

impl Open {
    /// Has Ada change herself.
    async fn change_ada(&self, changes: &Value) -> Answer {
        self.ada.put("/v3/user/ada").json(changes).send().await
    }
}

testkit::on_both_engines! {
    async fn sent_members_of_a_user_are_replaced(open: Open) {
        let whole = json!({
            "firstName": "Ada", "lastName": "Lovelace", "email": "ada@example.com", "phone": "1", "userStatus": 2,
        });
        is_empty(&open.change_ada(&whole).await);
        let mut expected = whole.clone();
        expected["id"] = 2001.into();
        expected["username"] = "ada".into();
        open.user("ada").await.is(200, &expected);
        // Members that are not sent are removed, except name, id and password.
        is_empty(&open.change_ada(&json!({"firstName": "A."})).await);
        open.user("ada").await.is(200, &json!({"id": 2001, "username": "ada", "firstName": "A."}));
        is_empty(&open.change_ada(&json!({})).await);
        open.user("ada").await.is(200, &json!({"id": 2001, "username": "ada"}));
        // The same name and id change nothing.
        is_empty(&open.change_ada(&json!({"id": 2001, "username": "ada"})).await);
        open.user("ada").await.is(200, &json!({"id": 2001, "username": "ada"}));
    }

    async fn renamed_user_frees_the_old_name(open: Open) {
        is_empty(&open.change_ada(&json!({"username": "lovelace"})).await);
        open.user("lovelace").await.is(200, &json!({"id": 2001, "username": "lovelace"}));
        open.user("ada").await.is_problem(404, "not-found");
        // She is still logged in, under her new name only.
        let old = open.ada.put("/v3/user/ada").json(&json!({})).send().await;
        assert_eq!(old.is_problem(404, "not-found"), "There is no user with this name.");
        is_empty(&open.ada.put("/v3/user/lovelace").json(&json!({"phone": "2"})).send().await);
        open.ben.put("/v3/user/ben").json(&json!({"username": "ada"})).send().await.has_status(200);
        open.user("ada").await.is(200, &json!({"id": 2002, "username": "ada"}));
        let other = open.ada.put("/v3/user/ada").json(&json!({})).send().await;
        assert_eq!(
            other.is_problem(403, "forbidden"),
            "Only this user can do that, and another user is logged in."
        );
    }

    async fn taken_id_is_rejected(open: Open) {
        for id in [5, -1, i64::MAX, 0] {
            is_empty(&open.change_ada(&json!({"id": id})).await);
            open.user("ada").await.is(200, &json!({"id": id, "username": "ada"}));
        }
        let before = open.dump().await;
        let answer = open.change_ada(&json!({"id": 2002, "firstName": "lost"})).await;
        let taken = "There is a user with the id 2002 already; choose another, or leave it out.";
        assert_eq!(answer.is_problem(409, "conflict"), taken);
        let answer = open.change_ada(&json!({"username": "ben", "firstName": "lost", "id": 9})).await;
        let taken = "There is a user named ben already; choose another username.";
        assert_eq!(answer.is_problem(409, "conflict"), taken);
        // All or nothing.
        assert_eq!(open.dump().await, before);
    }

    async fn one_of_several_concurrent_changes_gets_a_name_or_id(open: Open) {
        let names: Vec<_> = (0..8).map(|number| format!("user {number}")).collect();
        let list: Value = names.iter().map(|name| json!({"username": name})).collect();
        open.ada.post("/v3/user/createWithList").json(&list).send().await.has_status(200);
        for round in 0..5 {
            for changes in [json!({"id": 500 + round}), json!({"username": format!("wanted {round}")})] {
                let mut calls = Vec::new();
                for name in &names {
                    let caller = open.anyone.bearer(&open.session_of(name).await);
                    calls.push(
                        caller.put(&format!("/v3/user/{}", name.replace(' ', "%20"))).json(&changes).send(),
                    );
                }
                let answers = futures_util::future::join_all(calls).await;
                let won: Vec<_> = (0..8).filter(|at| answers[*at].status == 200).collect();
                assert_eq!(won.len(), 1, "{changes}");
                for answer in answers.iter().filter(|answer| answer.status != 200) {
                    answer.is_problem(409, "conflict");
                }
                if let Some(name) = changes["username"].as_str() {
                    let winner = open.anyone.bearer(&open.session_of(name).await);
                    let back = json!({"username": names[won[0]]});
                    winner
                        .put(&format!("/v3/user/{}", name.replace(' ', "%20")))
                        .json(&back)
                        .send()
                        .await
                        .has_status(200);
                }
            }
        }
    }

    async fn invalid_change_changes_nothing(open: Open) {
        let before = open.dump().await;
        let long = "x".repeat(201);
        for (changes, errors) in [
            (json!({"username": ""}), &[("#/username", "must not be empty")][..]),
            (json!({"username": null}), &[("#/username", "must not be null")]),
            (json!({"password": null}), &[("#/password", "must not be null")]),
            (json!({"password": ""}), &[("#/password", "must not be empty")]),
            (json!({"password": 5}), &[("#/password", "must be text")]),
            (
                json!({"firstName": long, "phone": 5, "userStatus": 1.5}),
                &[
                    ("#/firstName", "must be at most 200 characters long, not 201"),
                    ("#/phone", "must be text"),
                    ("#/userStatus", "must be a whole number from -2147483648 to 2147483647"),
                ],
            ),
        ] {
            is_broken(&open.change_ada(&changes).await, errors);
        }
        let id = "must be a whole number from -9223372036854775808 to 9223372036854775807";
        open.change_ada(&json!({"id": "5"})).await.is_invalid(&[("#/id", id)]);
        assert_eq!(open.dump().await, before);
    }

    async fn change_or_deletion_of_another_user_gets_403(open: Open) {
        let before = open.dump().await;
        for answer in [
            open.ben.put("/v3/user/ada").json(&json!({"firstName": "x"})).send().await,
            open.ben.delete("/v3/user/ada").send().await,
        ] {
            let said = "Only this user can do that, and another user is logged in.";
            assert_eq!(answer.is_problem(403, "forbidden"), said);
        }
        for answer in [
            open.ben.put("/v3/user/nobody").json(&json!({})).send().await,
            open.ben.delete("/v3/user/nobody").send().await,
        ] {
            assert_eq!(answer.is_problem(404, "not-found"), "There is no user with this name.");
        }
        assert_eq!(open.dump().await, before);
    }

    async fn deleted_user_gets_404_and_its_sessions_end(open: Open) {
        let second = open.anyone.bearer(&open.session_of("ada").await);
        is_empty(&open.ada.delete("/v3/user/ada").send().await);
        open.user("ada").await.is_problem(404, "not-found");
        for caller in [&open.ada, &second] {
            caller
                .post("/v3/user")
                .json(&json!({"username": "x"}))
                .send()
                .await
                .is_problem(401, "unauthorized");
        }
        // The name and the id are free, for another user.
        let again = json!({"id": 2001, "username": "ada", "firstName": "Another"});
        open.ben.post("/v3/user").json(&again).send().await.is(200, &again);
        open.ada.delete("/v3/user/ada").send().await.is_problem(401, "unauthorized");
        open.user("ada").await.is(200, &again);
    }

    async fn no_row_names_a_removed_user(open: Open) {
        let everything = async || testkit::dump::all_rows(&open.db, open.store.engine()).await;
        let named = |rows: &[String]| rows.iter().filter(|row| row.contains("Zelda") || row.contains("zelda")).count();
        for by_operator in [false, true] {
            let zelda = json!({
                "username": "zelda", "firstName": "Zelda", "lastName": "of Zeldas", "email": "zelda@example.net",
                "phone": "zelda-1", "password": "zelda's own",
            });
            open.ben.post("/v3/user").json(&zelda).send().await.has_status(200);
            let session = open.anyone.bearer(&open.session_of("zelda").await);
            assert!(named(&everything().await) >= 2);
            if by_operator {
                let instance = Instance::new(open.db.clone(), open.clock.clone(), web::Random::system());
                petstore::Settings::default().remove_user(&instance, "zelda").await.unwrap();
            } else {
                is_empty(&session.delete("/v3/user/zelda").send().await);
            }
            let left = everything().await;
            assert_eq!(named(&left), 0, "{left:?}");
            session.put("/v3/user/zelda").json(&zelda).send().await.is_problem(401, "unauthorized");
        }
    }
}
