//! What the security log says of users.

use serde_json::json;
use testkit::{Log, Store};

use crate::fixture::{Open, Setup};

testkit::on_both_engines! {
    async fn unknown_api_key_is_logged(store: Store) {
        Log::start();
        let open = Open::on(store, Setup::default()).await;
        let id = |what: &str| format!("{what}-{}", open.address);
        for (what, caller, status, lines) in [
            ("unknown-key", open.anyone.with("api_key", "unknown-key-text"), 401, 1),
            ("both-unknown", open.anyone.with("api_key", "unknown-key-text").with("x-api-key", "other"), 401, 1),
            ("beside-a-token", open.pets.with("api_key", "unknown-key-text"), 404, 1),
            ("one-is-valid", open.key.with("x-api-key", "unknown-key-text"), 404, 0),
            ("no-key", open.anyone.clone(), 401, 0),
        ] {
            let id = id(what).replace([':', '/'], "-");
            caller.get("/v3/pet/1").header("x-request-id", &id).send().await.has_status(status);
            let fields = json!({
                "message": "security", "event": "api_key", "outcome": "wrong", "service": "test",
                "address": "127.0.0.1", "id": id,
            });
            let line = json!({"level": "INFO", "target": "security", "fields": fields});
            assert_eq!(Log::start().security("id", &id), vec![line; lines], "{what}");
        }
        assert!(!Log::start().text().contains("unknown-key-text"));
    }

    async fn changes_of_a_user_are_logged(store: Store) {
        Log::start();
        let open = Open::on(store, Setup { demo: true, ..Setup::default() }).await;
        let user = json!([{"username": "grace", "password": "first-password"}]);
        open.anyone.post("/v3/user/createWithList").json(&user).send().await.has_status(200);
        let account = open.account("grace").await.unwrap().to_string();
        let login = async |password: &str| {
            let path = format!("/v3/user/login?username=grace&password={password}");
            open.anyone.get(&path).send().await
        };
        login("wrong-password").await.has_status(400);
        let session = login("first-password").await.has_status(200).json().as_str().unwrap().to_owned();
        let grace = open.anyone.bearer(&session);
        for change in [json!({"password": "first-password"}), json!({"password": "next-password"})] {
            grace.put("/v3/user/grace").json(&change).send().await.has_status(200);
        }
        grace.delete("/v3/user/grace").send().await.has_status(200);
        let lines = Log::start().security("account", &account);
        let expected: Vec<_> = [
            ("account_creation", "ok"),
            ("sign_in", "wrong"),
            ("sign_in", "ok"),
            ("password_change", "ok"),
            ("account_removal", "ok"),
        ]
        .iter()
        .zip(&lines)
        .map(|((event, outcome), line)| {
            let fields = json!({
                "message": "security", "event": event, "outcome": outcome, "service": "test", "account": account,
                "address": "127.0.0.1", "id": line["fields"]["id"],
            });
            json!({"level": "INFO", "target": "security", "fields": fields})
        })
        .collect();
        assert_eq!(lines, expected);
        let log = Log::start().text();
        for secret in ["first-password", "next-password", "wrong-password", session.as_str()] {
            assert!(!log.contains(secret), "{secret}");
        }
    }
}
