//! Controls: sign-in modes, lifetimes, tokens and sessions that expire at once, and the rate limit, in demo mode only.

use http::Method;
use jiff::SignedDuration;
use serde_json::json;
use testkit::Store;
use web::{ControlState, Controls, SignInMode};

use crate::{
    answers::{pet, text},
    fixture::{As, Open, Setup},
    openapi::{Operation, operations},
};

pub(crate) async fn controlled(store: Store, demo: bool, state: ControlState) -> (Open, Controls) {
    let controls = Controls::new(state);
    (Open::on(store, Setup { demo, controls: controls.clone(), ..Setup::default() }).await, controls)
}

fn mode(sign_in: SignInMode) -> ControlState {
    ControlState { sign_in, ..ControlState::default() }
}

async fn log_in(open: &Open, name: &str, password: &str) -> testkit::Answer {
    open.anyone.get(&format!("/v3/user/login?username={name}&password={password}")).send().await
}

testkit::on_both_engines! {
    async fn any_credentials_of_the_right_form_act_as_the_demo_user(store: Store) {
        let (open, controls) = controlled(store, true, mode(SignInMode::Any)).await;
        let token = open.anyone.bearer("any-text");
        let key = open.anyone.with("api_key", "any key");
        let cookie = open.anyone.with("cookie", "petstore_session=any");
        token.post("/v3/pet").json(&pet("Rex")).send().await.has_status(200);
        for caller in [&token, &key] {
            caller.get("/v3/pet/1").send().await.has_status(200);
        }
        key.get("/v3/store/inventory").send().await.has_status(200);
        for caller in [&token, &cookie, &open.anyone.bearer("a.b.c"), &open.ada] {
            let call = caller.put("/v3/user/demo").json(&json!({"firstName": "Any"}));
            call.send().await.has_status(200);
            caller.put("/v3/user/ada").json(&json!({"firstName": "Any"})).send().await.has_status(403);
        }
        let session = log_in(&open, "unknown", "wrong").await;
        let session = open.anyone.bearer(session.has_status(200).json().as_str().unwrap());
        session.post("/v3/user").json(&json!({"username": "eve"})).send().await.has_status(200);
        for (method, path) in [(Method::GET, "/v3/pet/1"), (Method::GET, "/v3/store/inventory"), (Method::PUT, "/v3/user/demo")] {
            open.anyone.call(method, path).send().await.has_status(401);
        }
        open.anyone.with("authorization", "Basic eDp5").get("/v3/pet/1").send().await.has_status(401);
        let twice = key.with("api_key", "another");
        twice.get("/v3/store/inventory").send().await.is_problem(400, "invalid-request");
        controls.set(ControlState::default());
        for caller in [&token, &key, &session] {
            caller.get("/v3/pet/1").send().await.has_status(401);
        }
        session.put("/v3/user/demo").json(&json!({})).send().await.has_status(401);
        open.ada.put("/v3/user/ada").json(&json!({})).send().await.has_status(200);
    }

    async fn no_operation_needs_credentials_when_sign_in_is_off(store: Store) {
        let (open, controls) = controlled(store, true, mode(SignInMode::Off)).await;
        let odd = open.anyone.with("authorization", "Bearer a.b.c").with("api_key", "x").with("cookie", "petstore_session=x");
        for Operation { method, path, .. } in operations() {
            let path = path.replace("/user/ada", "/user/nemo");
            for caller in [&open.anyone, &odd] {
                let answer = caller.call(method.clone(), &path).send().await;
                assert!(![401, 403, 500].contains(&answer.status), "{method} {path}: {}", answer.text());
            }
        }
        open.anyone.put("/v3/user/demo").json(&json!({"password": "other"})).send().await.has_status(200);
        open.anyone.put("/v3/user/ada").json(&json!({})).send().await.has_status(403);
        controls.set(ControlState { calls_per_hour: Some(2), ..mode(SignInMode::Off) });
        open.anyone.get("/v3/pet/2").send().await.has_status(200);
        odd.get("/v3/store/inventory").send().await.has_status(200);
        open.anyone.get("/v3/pet/2").send().await.is_problem(429, "too-many-requests");
        assert_eq!(log_in(&open, "a", "b").await.has_status(200).header("x-rate-limit"), "2");
        // Without the demo user, calls act as an account that does not exist.
        controls.set(mode(SignInMode::Off));
        open.anyone.delete("/v3/user/demo").send().await.has_status(200);
        open.anyone.get("/v3/pet/2").send().await.has_status(200);
        open.anyone.delete("/v3/user/ada").send().await.has_status(403);
        open.anyone.post("/v3/user").json(&json!({"username": "new"})).send().await.has_status(200);
        log_in(&open, "demo", "demo").await.has_status(200);
    }

    async fn user_made_while_sign_in_is_off_works_only_in_the_demo(store: Store) {
        let (open, _) = controlled(store, true, mode(SignInMode::Off)).await;
        open.anyone.post("/v3/user").json(&json!({"username": "new", "password": "x"})).send().await.has_status(200);
        open.anyone.delete("/v3/user/demo").send().await.has_status(200);
        open.anyone.post("/v3/user").json(&json!({"username": "newer", "password": "x"})).send().await.has_status(200);
        let open = open.reopen(Setup::default()).await;
        for name in ["new", "newer"] {
            log_in(&open, name, "x").await.has_status(400);
        }
    }

    async fn sessions_and_tokens_follow_the_controls(store: Store) {
        let state = ControlState { session_seconds: Some(60), ..ControlState::default() };
        let (open, controls) = controlled(store, true, state).await;
        let answer = log_in(&open, "user1", "password").await;
        assert_eq!(answer.has_status(200).header("x-expires-after"), "2026-05-13T10:01:00Z");
        assert!(answer.header("set-cookie").contains("Max-Age=60;"), "{}", answer.header("set-cookie"));
        let user = open.anyone.bearer(answer.json().as_str().unwrap());
        let change = |user: &As| user.put("/v3/user/user1").json(&json!({}));
        open.advance(59);
        change(&user).send().await.has_status(200);
        open.advance(1);
        change(&user).send().await.has_status(401);
        let answer = log_in(&open, "user1", "password").await.json();
        let user = open.anyone.bearer(answer.as_str().unwrap());
        open.clock.advance(SignedDuration::from_micros(1));
        controls.set(ControlState { tokens_not_before: Some(open.clock.now()), ..ControlState::default() });
        change(&user).send().await.has_status(401);
        assert_eq!(open.pets.get("/v3/pet/1").send().await.is_problem(401, "unauthorized"), "The access token has expired.");
        // API keys do not expire.
        open.key.get("/v3/pet/1").send().await.has_status(200);
        let answer = log_in(&open, "user1", "password").await.json();
        change(&open.anyone.bearer(answer.as_str().unwrap())).send().await.has_status(200);
        let token = open.token_of("ada", None).await;
        open.anyone.bearer(&token).get("/v3/pet/1").send().await.has_status(200);
    }

    async fn controls_change_nothing_outside_of_a_demo(store: Store) {
        let state = ControlState {
            session_seconds: Some(1),
            tokens_not_before: Some("2030-01-01T00:00:00Z".parse().unwrap()),
            calls_per_hour: Some(1),
            compat: web::Compat::PublicPetstore,
            ..mode(SignInMode::Off)
        };
        let (open, _) = controlled(store, false, state).await;
        for caller in [&open.anyone, &open.anyone.bearer("any"), &open.anyone.with("api_key", "any")] {
            caller.get("/v3/pet/1").send().await.has_status(401);
        }
        open.anyone.get("/api/v3/pet/1").send().await.is_problem(404, "not-found");
        log_in(&open, "ada", "any").await.has_status(400);
        open.advance(10);
        let added = open.add(&pet("Rex")).await;
        assert_eq!(text(&added, "name"), "Rex");
        for _ in 0..2 {
            open.ada.put("/v3/user/ada").json(&json!({})).send().await.has_status(200);
        }
    }
}
