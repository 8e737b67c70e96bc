//! `GET /user/login`: the session in three forms, the headers that go with it, and what wrong passwords cost.

use serde_json::json;
use testkit::{Answer, Engine, Fixture, Store};

use crate::{
    answers::is_empty,
    fixture::{As, Open, Setup},
};

/// The store with a user who has a password.
struct WithPassword(Open);

impl Fixture for WithPassword {
    async fn start(engine: Engine) -> Self {
        WithPassword::on(Store::new(engine), Setup::default()).await
    }
}

impl WithPassword {
    async fn on(store: Store, setup: Setup) -> Self {
        let open = Open::on(store, setup).await;
        let user = json!([{"username": "zoë", "password": "pass wörd&1"}]);
        open.ada.post("/v3/user/createWithList").json(&user).send().await.has_status(200);
        WithPassword(open)
    }

    async fn login(&self, query: &str, accept: &str) -> Answer {
        let path = format!("/v3/user/login?{query}");
        self.0.anyone.get(&path).header("accept", accept).send().await
    }
}

const RIGHT: &str = "username=zo%C3%AB&password=pass+w%C3%B6rd%261";

/// Whether a session is valid.
async fn works(caller: &As) -> bool {
    caller.delete("/v3/user/nobody").send().await.status == 404
}

testkit::on_both_engines! {
    async fn session_is_returned_in_the_response_format(users: WithPassword) {
        for (accept, media_type, before, after) in [
            ("*/*", "application/json", "\"", "\""),
            ("application/json", "application/json", "\"", "\""),
            (
                "application/xml",
                "application/xml",
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><string>",
                "</string>",
            ),
            ("text/plain", "text/plain", "", ""),
            ("text/*", "text/plain", "", ""),
            ("application/xml;q=0.5, text/plain", "text/plain", "", ""),
            (
                "application/xml;q=0.5, application/json;q=0.4",
                "application/xml",
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?><string>",
                "</string>",
            ),
        ] {
            let answer = users.login(RIGHT, accept).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, media_type), "{accept}");
            let text = answer.text();
            let secret = text.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).unwrap();
            assert!(
                secret.len() >= 32
                    && secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)),
                "{secret}"
            );
            assert_eq!(answer.header("x-rate-limit"), "100000");
            assert_eq!(answer.header("x-expires-after"), "2026-05-13T11:00:00Z");
            assert_eq!(answer.header("cache-control"), "no-store");
            assert_eq!(answer.header("vary").split(", ").next(), Some("accept"));
            let cookie = format!("petstore_session={secret}; Path=/v3; Max-Age=3600; HttpOnly; SameSite=Lax");
            assert_eq!(answer.header("set-cookie"), cookie);
            assert!(works(&users.0.anyone.bearer(secret)).await);
            assert!(works(&users.0.anyone.with("cookie", format!("petstore_session={secret}"))).await);
        }
        let detail = users.login(RIGHT, "image/png").await.is_problem(406, "not-acceptable");
        assert_eq!(detail, "This operation answers as application/json, application/xml or text/plain only.");
    }

    async fn cookie_is_secure_if_the_store_uses_https(store: Store) {
        let setup =
            Setup { address: Some("https://store.example".into()), calls_per_hour: 7, ..Setup::default() };
        let users = WithPassword::on(store, setup).await;
        let answer = users.login(RIGHT, "application/json").await;
        let secret = answer.has_status(200).json().as_str().unwrap().to_owned();
        let cookie =
            format!("petstore_session={secret}; Path=/v3; Max-Age=3600; HttpOnly; SameSite=Lax; Secure");
        assert_eq!(answer.header("set-cookie"), cookie);
        assert_eq!(answer.header("x-rate-limit"), "7");
    }

    async fn wrong_name_and_wrong_password_get_the_same_answer(users: WithPassword) {
        let open = &users.0;
        let mut checks = open.petstore.accounts().password_checks();
        for query in [
            "username=zo%C3%AB&password=wrong",
            "username=nobody&password=pass+w%C3%B6rd%261",
            // Ada has no password, so that no password is hers.
            "username=ada&password=x",
            "username=Zo%C3%AB&password=pass+w%C3%B6rd%261",
            "username=zo%C3%AB&password=pass+w%C3%B6rd%261+",
        ] {
            let answer = users.login(query, "*/*").await;
            assert_eq!(
                answer.is_problem(400, "invalid-request"),
                "The username or the password is wrong.",
                "{query}"
            );
            assert_eq!((answer.header("set-cookie"), answer.header("www-authenticate")), ("", ""), "{query}");
            checks += 1;
            assert_eq!(open.petstore.accounts().password_checks(), checks, "{query}");
        }
        // All Unicode forms are the same name and the same password.
        users.login("username=zoe%CC%88&password=pass+wo%CC%88rd%261", "*/*").await.has_status(200);
    }

    async fn login_needs_one_name_and_one_password(users: WithPassword) {
        let (long, required, empty) = ("x".repeat(1001), "is required", "must not be empty");
        let too_long = "must be at most 1000 characters long, not 1001";
        let checks = users.0.petstore.accounts().password_checks();
        for (query, errors) in [
            ("", &[("?username", required), ("?password", required)][..]),
            ("username=ada", &[("?password", required)]),
            ("password=x", &[("?username", required)]),
            ("username=&password=", &[("?username", empty), ("?password", empty)]),
            ("username=a&username=a&password=x", &[("?username", "is given more than once")]),
            ("username=a&password=x&password=x", &[("?password", "is given more than once")]),
            ("username=a%00&password=x", &[("?username", "must not contain the control character U+0000")]),
            (
                &format!("username={long}&password={long}"),
                &[("?username", too_long), ("?password", too_long)],
            ),
            ("username=%ff&password=x", &[("?", "has percent codes that are not UTF-8")]),
            ("username=%&password=x", &[("?", "has a % that is not followed by two hexadecimal digits")]),
        ] {
            users.login(query, "*/*").await.is_invalid(errors);
        }
        assert_eq!(users.0.petstore.accounts().password_checks(), checks);
    }

    async fn password_guessing_is_throttled(users: WithPassword) {
        let open = &users.0;
        for number in 0..10 {
            users
                .login(&format!("username=ada&password=guess{number}"), "*/*")
                .await
                .is_problem(400, "invalid-request");
        }
        let checks = open.petstore.accounts().password_checks();
        let answer = users.login("username=ada&password=guess10", "*/*").await;
        let said = "There were too many wrong passwords. Try again in 30 seconds.";
        assert_eq!(answer.is_problem(429, "too-many-requests"), said);
        assert_eq!(answer.header("retry-after"), "30");
        assert_eq!(open.petstore.accounts().password_checks(), checks);
        // Another user is not kept out.
        users.login(RIGHT, "*/*").await.has_status(200);
        open.advance(30);
        users.login("username=ada&password=guess11", "*/*").await.is_problem(400, "invalid-request");
        users.login("username=ada&password=guess12", "*/*").await.is_problem(429, "too-many-requests");
    }

    async fn password_is_kept_until_it_is_replaced(users: WithPassword) {
        let open = &users.0;
        let log_in = async |query: &str| {
            let answer = users.login(query, "application/json").await;
            open.anyone.bearer(answer.has_status(200).json().as_str().unwrap())
        };
        let zoe = log_in(RIGHT).await;
        is_empty(&zoe.put("/v3/user/zo%C3%AB").json(&json!({"firstName": "Z"})).send().await);
        is_empty(&zoe.put("/v3/user/zo%C3%AB").json(&json!({"username": "zoe"})).send().await);
        let zoe = log_in("username=zoe&password=pass+w%C3%B6rd%261").await;
        users.login(RIGHT, "*/*").await.is_problem(400, "invalid-request");
        is_empty(&zoe.put("/v3/user/zoe").json(&json!({"password": "2"})).send().await);
        assert!(works(&zoe).await);
        users
            .login("username=zoe&password=pass+w%C3%B6rd%261", "*/*")
            .await
            .is_problem(400, "invalid-request");
        let zoe = log_in("username=zoe&password=2").await;
        is_empty(&zoe.delete("/v3/user/zoe").send().await);
        users.login("username=zoe&password=2", "*/*").await.is_problem(400, "invalid-request");
        // A user without a password can get one.
        is_empty(&open.ada.put("/v3/user/ada").json(&json!({"password": "3"})).send().await);
        users.login("username=ada&password=3", "*/*").await.has_status(200);
    }

    async fn each_login_starts_a_new_session(users: WithPassword) {
        let first = users.login(RIGHT, "text/plain").await.text();
        let second = users.login(RIGHT, "text/plain").await.text();
        assert_ne!(first, second);
        users.0.anyone.bearer(&first).get("/v3/user/logout").send().await.has_status(200);
        assert!(!works(&users.0.anyone.bearer(&first)).await);
        assert!(works(&users.0.anyone.bearer(&second)).await);
        users.0.advance(3600);
        assert!(!works(&users.0.anyone.bearer(&second)).await);
    }
}
