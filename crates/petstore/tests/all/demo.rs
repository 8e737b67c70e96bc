//! The demo's data: there at the first start, never in the way of what people do, and closed where it is no demo.

use serde_json::{Value, json};
use testkit::{Engine, Fixture, Store};

use crate::{
    answers::{ids, is_empty, number, pet},
    fixture::{As, Open, Setup, with_demo},
};

/// The store with demo data, and its public credentials.
struct Demo {
    open: Open,
    key: As,
}

impl Fixture for Demo {
    async fn start(engine: Engine) -> Self {
        Demo::of(Open::on(Store::new(engine), with_demo()).await)
    }
}

impl Demo {
    fn of(open: Open) -> Self {
        Demo { key: open.anyone.with("api_key", "special-key"), open }
    }

    /// Logs in; the caller with the session, or `None`.
    async fn log_in(&self, name: &str, password: &str) -> Option<As> {
        let path = format!("/v3/user/login?username={name}&password={password}");
        let answer = self.open.anyone.get(&path).header("accept", "text/plain").send().await;
        (answer.status == 200).then(|| self.open.anyone.bearer(&answer.text()))
    }

    /// The authorization server's response to a request of the demo client.
    async fn authorize(&self) -> (u16, String) {
        let path = "/oauth/authorize?response_type=code&client_id=demo&redirect_uri=http%3A%2F%2F127.0.0.1%3A5999%2Fcallback\
                    &scope=read%3Apets&state=s&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM\
                    &code_challenge_method=S256";
        let answer = self.open.anyone.get(path).send().await;
        (answer.status, answer.text())
    }
}

/// The users of the demo: name, password, stored members.
fn users() -> [(&'static str, &'static str, Value); 3] {
    [
        (
            "demo",
            "demo",
            json!({
                "id": 2, "username": "demo", "firstName": "Dana", "lastName": "Demo", "email": "demo@example.com",
                "phone": "555-0100", "userStatus": 1,
            }),
        ),
        (
            "theUser",
            "12345",
            json!({
                "id": 10, "username": "theUser", "firstName": "John", "lastName": "James", "email": "john@example.com",
                "phone": "12345", "userStatus": 1,
            }),
        ),
        (
            "user1",
            "password",
            json!({
                "id": 1, "username": "user1", "firstName": "Una", "lastName": "One", "email": "user1@example.com",
                "phone": "555-0101", "userStatus": 1,
            }),
        ),
    ]
}

testkit::on_both_engines! {
    async fn new_demo_has_the_pets_of_the_public_examples(demo: Demo) {
        let open = &demo.open;
        let all = open.pets.get("/v3/pet/findByStatus?status=available,pending,sold").send().await;
        assert_eq!(ids(&all), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 198_772]);
        assert_eq!(
            demo.key.get("/v3/store/inventory").send().await.json(),
            json!({"available": 7, "pending": 2, "sold": 2})
        );
        for (tag, expected) in [
            ("tag1", vec![1, 4, 7, 9, 198_772]),
            ("tag2", vec![1, 2, 4, 5, 8, 9]),
            ("tag3", vec![2, 3, 5, 6, 8, 9, 10]),
        ] {
            let found = open.pets.get(&format!("/v3/pet/findByTags?tags={tag}")).send().await;
            assert_eq!(ids(&found), expected, "{tag}");
        }
        demo.key.get("/v3/pet/198772").send().await.is(
            200,
            &json!({
                "id": 198_772,
                "category": {"id": 1, "name": "Dogs"},
                "name": "doggie",
                "photoUrls": ["https://example.com/pets/198772.jpg"],
                "tags": [{"id": 1, "name": "tag1"}],
                "status": "available",
            }),
        );
        open.order(10).await.is(
            200,
            &json!({
                "id": 10, "petId": 198_772, "quantity": 7, "shipDate": "2026-05-13T10:00:00Z", "status": "approved",
                "complete": true,
            }),
        );
    }

    async fn demo_users_can_log_in(demo: Demo) {
        assert_eq!(petstore::DEMO_API_KEY, "special-key");
        assert_eq!(petstore::DEMO_USERS, [("demo", "demo"), ("theUser", "12345"), ("user1", "password")]);
        for (name, password, user) in users() {
            demo.open.user(name).await.is(200, &user);
            let caller = demo.log_in(name, password).await.unwrap();
            caller.delete("/v3/user/nobody").send().await.is_problem(404, "not-found");
            assert!(demo.log_in(name, "wrong").await.is_none());
        }
        let (status, page) = demo.authorize().await;
        assert!(status == 200 && page.contains("<form"), "{page}");
    }

    async fn first_assigned_ids_follow_those_of_the_demo(demo: Demo) {
        assert_eq!(number(&demo.open.add(&pet("Rex")).await, "id"), 11);
        let order = demo.open.anyone.post("/v3/store/order").json(&json!({"petId": 1})).send().await;
        assert_eq!(number(&order.json(), "id"), 11);
        let user = demo.open.ada.post("/v3/user").json(&json!({"username": "max"})).send().await;
        assert_eq!(number(&user.json(), "id"), 11);
    }

    async fn second_start_adds_no_duplicates_and_restores_nothing(demo: Demo) {
        let open = &demo.open;
        open.pets.delete("/v3/pet/3").send().await.has_status(200);
        open.pets.post("/v3/pet/4?name=Renamed&status=sold").send().await.has_status(200);
        open.anyone.delete("/v3/store/order/10").send().await.has_status(200);
        is_empty(&demo.log_in("user1", "password").await.unwrap().delete("/v3/user/user1").send().await);
        let the_user = demo.log_in("theUser", "12345").await.unwrap();
        is_empty(&the_user.put("/v3/user/theUser").json(&json!({"username": "renamed"})).send().await);
        let before = open.dump().await;
        let demo = Demo::of(demo.open.reopen(with_demo()).await);
        assert_eq!(demo.open.dump().await, before);
        assert!(demo.log_in("user1", "password").await.is_none(), "that user was deleted");
        assert!(demo.log_in("theUser", "12345").await.is_none(), "that user was renamed");
        assert!(demo.log_in("renamed", "12345").await.is_some());
        demo.open.pet(3).await.is_problem(404, "not-found");
        demo.open.order(10).await.is_problem(404, "not-found");
        demo.key.get("/v3/store/inventory").send().await.has_status(200);
    }

    async fn store_that_becomes_a_demo_keeps_its_data(open: Open) {
        let rex = json!({"id": 1, "name": "Rex", "photoUrls": []});
        open.add(&rex).await;
        let order = json!({"id": 10, "petId": 1, "quantity": 3, "status": "placed", "complete": false});
        open.anyone.post("/v3/store/order").json(&order).send().await.is(200, &order);
        let list = json!([
            {"id": 1, "username": "first"}, {"id": 2, "username": "second"}, {"id": 77, "username": "theUser"},
        ]);
        open.ada.post("/v3/user/createWithList").json(&list).send().await.has_status(200);
        let demo = Demo::of(open.reopen(with_demo()).await);
        demo.open.pet(1).await.is(200, &rex);
        demo.open.order(10).await.is(200, &order);
        demo.open.user("first").await.is(200, &json!({"id": 1, "username": "first"}));
        demo.open.user("theUser").await.is(200, &json!({"id": 77, "username": "theUser"}));
        assert!(demo.log_in("theUser", "12345").await.is_none(), "that one has no password");
        // The demo's own users are there under other ids.
        for (name, password) in [("user1", "password"), ("demo", "demo")] {
            let user = demo.open.user(name).await.has_status(200).json();
            assert!(number(&user, "id") > 10, "{user}");
            assert!(demo.log_in(name, password).await.is_some());
        }
        demo.open.pet(198_772).await.has_status(200);
    }

    async fn store_without_demo_has_no_demo_data(open: Open) {
        let all = open.pets.get("/v3/pet/findByStatus?status=available,pending,sold").send().await;
        all.is(200, &json!([]));
        open.order(10).await.is_problem(404, "not-found");
        let none = Demo::of(open);
        none.key.get("/v3/store/inventory").send().await.is_problem(401, "unauthorized");
        for (name, password, _) in users() {
            none.open.user(name).await.is_problem(404, "not-found");
            assert!(none.log_in(name, password).await.is_none());
        }
        let (status, page) = none.authorize().await;
        assert!(status == 400 && !page.contains("<form"), "{page}");
    }

    async fn demo_credentials_are_rejected_after_the_demo_is_turned_off(demo: Demo) {
        let (name, password) = ("user1", "password");
        let user1 = demo.log_in(name, password).await.unwrap();
        // A new password, set by a user of the demo, is rejected as well.
        is_empty(&user1.put("/v3/user/user1").json(&json!({"password": "my own"})).send().await);
        assert!(demo.log_in(name, "my+own").await.is_some());
        let closed = Demo::of(demo.open.reopen(Setup::default()).await);
        for (name, password, _) in users() {
            assert!(closed.log_in(name, password).await.is_none(), "{name}");
        }
        assert!(closed.log_in(name, "my+own").await.is_none());
        for path in ["/v3/store/inventory", "/v3/pet/1"] {
            let answer = closed.key.get(path).send().await;
            assert_eq!(answer.is_problem(401, "unauthorized"), "The API key is not valid.");
        }
        let (status, page) = closed.authorize().await;
        assert!(status == 400 && !page.contains("<form"), "{page}");
        let form = "grant_type=authorization_code&client_id=demo&code=x&redirect_uri=x&code_verifier=x";
        let token = closed.open.anyone.post("/oauth/token").body("application/x-www-form-urlencoded", form);
        assert_eq!(token.send().await.has_status(401).json()["error"], "invalid_client");
        // The data stays, and a key of one's own opens the door.
        closed.open.key.get("/v3/pet/198772").send().await.has_status(200);
        let open_again = Demo::of(closed.open.reopen(with_demo()).await);
        open_again.key.get("/v3/pet/198772").send().await.has_status(200);
        assert!(open_again.log_in("demo", "demo").await.is_some());
        assert!(open_again.log_in("user1", "password").await.is_none());
        assert!(open_again.log_in("user1", "my+own").await.is_some());
    }
}
