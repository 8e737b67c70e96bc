//! `POST /user` and `GET /user/{username}`.

use serde_json::{Value, json};
use testkit::Answer;

use crate::{
    answers::{is_broken, is_xml, number},
    fixture::Open,
};

const XML: &str = "application/xml";

fn sample_user() -> Value {
    json!({
        "id": 10,
        "username": "theUser",
        "firstName": "John",
        "lastName": "James",
        "email": "john@email.com",
        "phone": "12345",
        "userStatus": 1,
    })
}

impl Open {
    async fn create(&self, user: &Value) -> Answer {
        self.ada.post("/v3/user").json(user).send().await
    }
}

testkit::on_both_engines! {
    async fn user_is_stored_and_returned_without_the_password(open: Open) {
        let mut sent = sample_user();
        sent["password"] = "12345".into();
        let answer = open.create(&sent).await;
        answer.is(200, &sample_user());
        assert_eq!(
            answer.text(),
            "{\"id\":10,\"username\":\"theUser\",\"firstName\":\"John\",\"lastName\":\"James\",\
             \"email\":\"john@email.com\",\"phone\":\"12345\",\"userStatus\":1}"
        );
        open.user("theUser").await.is(200, &sample_user());
        is_xml(
            &open.anyone.get("/v3/user/theUser").header("accept", XML).send().await,
            "<user><id>10</id><username>theUser</username><firstName>John</firstName><lastName>James</lastName>\
             <email>john@email.com</email><phone>12345</phone><userStatus>1</userStatus></user>",
        );
    }

    async fn username_is_enough_for_a_user(open: Open) {
        open.create(&json!({"username": "max"})).await.is(200, &json!({"id": 1, "username": "max"}));
        open.user("max").await.is(200, &json!({"id": 1, "username": "max"}));
        let call = open.ada.post("/v3/user").json(&json!({"username": "mia"})).header("accept", XML);
        is_xml(&call.send().await, "<user><id>2</id><username>mia</username></user>");
        // Empty members stay empty; unknown members are not stored.
        let sent = json!({
            "username": "moe", "firstName": "", "email": "no address", "userStatus": -1, "role": "admin",
        });
        let expected =
            json!({"id": 3, "username": "moe", "firstName": "", "email": "no address", "userStatus": -1});
        open.create(&sent).await.is(200, &expected);
        open.user("moe").await.is(200, &expected);
        for (name, status) in [("least", i32::MIN), ("most", i32::MAX)] {
            let answer = open.create(&json!({"username": name, "userStatus": status})).await;
            assert_eq!(answer.has_status(200).json()["userStatus"], status);
            assert_eq!(open.user(name).await.json()["userStatus"], status);
        }
    }

    async fn taken_username_or_id_is_rejected(open: Open) {
        open.create(&sample_user()).await.has_status(200);
        let before = open.dump().await;
        let taken = "There is a user named theUser already; choose another username.";
        for sent in [json!({"username": "theUser"}), sample_user(), json!({"id": 11, "username": "theUser"})] {
            assert_eq!(open.create(&sent).await.is_problem(409, "conflict"), taken);
        }
        let sent = json!({"id": 10, "username": "another"});
        let detail = open.create(&sent).await.is_problem(409, "conflict");
        assert_eq!(detail, "There is a user with the id 10 already; choose another, or leave it out.");
        assert_eq!(open.dump().await, before);
        // Case makes another name.
        open.create(&json!({"username": "theuser"})).await.has_status(200);
        open.user("theUser").await.is(200, &sample_user());
    }

    async fn names_are_compared_in_unicode_normal_form(open: Open) {
        let (composed, decomposed) = ("Zo\u{eb}", "Zoe\u{308}");
        let created = open.create(&json!({"username": decomposed})).await;
        created.is(200, &json!({"id": 1, "username": composed}));
        for path in ["Zo%C3%AB", "Zoe%CC%88", composed] {
            open.user(path).await.is(200, &json!({"id": 1, "username": composed}));
        }
        let detail = open.create(&json!({"username": composed})).await.is_problem(409, "conflict");
        assert_eq!(detail, "There is a user named Zo\u{eb} already; choose another username.");
        let both = json!([{"username": "\u{e9}"}, {"username": "e\u{301}"}]);
        let answer = open.ada.post("/v3/user/createWithList").json(&both).send().await;
        is_broken(&answer, &[("#/1/username", "is the username of another user in the list")]);
    }

    async fn names_with_escaped_characters_are_found_by_path(open: Open) {
        for (name, path) in [
            ("a b", "a%20b"),
            ("a/b", "a%2Fb"),
            ("a?b#c", "a%3Fb%23c"),
            ("100%", "100%25"),
            ("a+b", "a+b"),
            ("🦑", "%F0%9F%A6%91"),
            ("' OR 1=1 --", "'%20OR%201=1%20--"),
            ("<user>&", "%3Cuser%3E&"),
            (&"n".repeat(100), &"n".repeat(100)),
        ] {
            let created = open.create(&json!({"username": name})).await.has_status(200).json();
            assert_eq!(created["username"], name);
            open.user(path).await.is(200, &created);
        }
    }

    /// Their addresses are those of other operations, or what clients make other addresses of, so that no client could read,
    /// change or delete such a user.
    async fn names_that_no_path_can_reach_are_rejected(open: Open) {
        let before = open.dump().await;
        let said = "cannot be used: no address could lead to a user of this name";
        for name in ["login", "logout", "createWithList", ".", ".."] {
            is_broken(&open.create(&json!({"username": name})).await, &[("#/username", said)]);
            let list = open.ada.post("/v3/user/createWithList").json(&json!([{"username": name}]));
            is_broken(&list.send().await, &[("#/0/username", said)]);
            let changed = open.ada.put("/v3/user/ada").json(&json!({"username": name})).send().await;
            is_broken(&changed, &[("#/username", said)]);
        }
        assert_eq!(open.dump().await, before);
        for fine in ["Login", "logout2", "createwithlist", "..."] {
            let created = open.create(&json!({"username": fine})).await.has_status(200).json();
            open.user(fine).await.is(200, &created);
        }
    }

    async fn unknown_user_gets_404_and_invalid_name_400(open: Open) {
        for name in ["nobody", "ADA", "ada%20", "%EF%BF%BE"] {
            let detail = open.user(name).await.is_problem(404, "not-found");
            assert_eq!(detail, "There is no user with this name.");
        }
        let said = "must be a username: 1 to 100 characters, no control characters, no colon";
        for name in ["a:b", "%00", "a%0Ab", &"n".repeat(101)] {
            open.user(name).await.is_invalid(&[("{username}", said)]);
        }
        let problem = open.user("").await.is_problem(404, "not-found");
        assert_eq!(problem, "There is nothing at this address. The API begins at /v3; its operations are listed at /docs.");
    }

    async fn concurrent_creations_make_each_name_once(open: Open) {
        let calls = (0..40).map(|at| {
            let (ada, ben) = (open.ada.clone(), open.ben.clone());
            async move {
                let caller = if at % 2 == 0 { ada } else { ben };
                let user = json!({"username": format!("user {}", at % 8)});
                caller.post("/v3/user").json(&user).send().await
            }
        });
        let answers = futures_util::future::join_all(calls).await;
        let created: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert_eq!(created.len(), 8);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            answer.is_problem(409, "conflict");
        }
        let mut ids: Vec<_> = created.iter().map(|answer| number(&answer.json(), "id")).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 8);
    }
}
