//! Sessions: how they are sent, what they allow, and when they end.

use http::Method;
use serde_json::json;
use testkit::Answer;

use crate::{
    answers::is_empty,
    fixture::{As, Open},
};

/// Calls an operation that needs a session, without changing anything: 404 says that the session is valid.
async fn reach(caller: &As) -> Answer {
    caller.delete("/v3/user/nobody").send().await
}

#[track_caller]
fn is_in(answer: &Answer) {
    assert_eq!(answer.is_problem(404, "not-found"), "There is no user with this name.");
}

#[track_caller]
fn has_ended(answer: &Answer) {
    let detail = answer.is_problem(401, "unauthorized");
    assert!(detail.starts_with("The session has ended. "), "{detail}");
    assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"Pet store\"");
}

impl Open {
    fn with_cookie(&self, secret: &str) -> As {
        self.anyone.with("cookie", format!("petstore_session={secret}"))
    }
}

testkit::on_both_engines! {
    async fn session_is_accepted_as_bearer_token_or_cookie(open: Open) {
        let secret = open.session_of("ada").await;
        is_in(&reach(&open.anyone.bearer(&secret)).await);
        is_in(&reach(&open.anyone.with("authorization", format!("bearer   {secret}"))).await);
        is_in(&reach(&open.with_cookie(&secret)).await);
        for cookies in
            [format!("a=b; petstore_session={secret}; c=d"), format!("a=b;petstore_session={secret}")]
        {
            is_in(&reach(&open.anyone.with("cookie", cookies)).await);
        }
        for other in
            [format!("petstore_sessions={secret}"), format!("Petstore_Session={secret}"), secret.clone()]
        {
            let answer = reach(&open.anyone.with("cookie", other)).await;
            assert!(
                answer.is_problem(401, "unauthorized").starts_with("This operation needs a user"),
                "{}",
                answer.text()
            );
        }
        // The bearer token is what counts where there are both.
        has_ended(&reach(&open.with_cookie(&secret).bearer("no-session")).await);
        is_in(&reach(&open.with_cookie("none").bearer(&secret)).await);
    }

    async fn cookie_is_accepted_only_from_the_own_origin(open: Open) {
        let secret = open.session_of("ada").await;
        for site in ["same-origin", "none"] {
            is_in(&reach(&open.with_cookie(&secret).with("sec-fetch-site", site)).await);
        }
        for site in ["cross-site", "same-site", "anything"] {
            let caller = open.with_cookie(&secret).with("sec-fetch-site", site);
            for answer in [
                reach(&caller).await,
                caller.post("/v3/user").json(&json!({"username": "x"})).send().await,
                caller.put("/v3/user/ada").json(&json!({"firstName": "x"})).send().await,
                caller.delete("/v3/user/ada").send().await,
            ] {
                let said = "A session's cookie counts only for the store's own pages; send the session as a bearer token.";
                assert_eq!(answer.is_problem(400, "invalid-request"), said);
            }
            // A caller that sets the header has the secret; a page of another site only has the cookie.
            is_in(&reach(&open.anyone.bearer(&secret).with("sec-fetch-site", site)).await);
        }
        open.user("ada").await.is(200, &json!({"id": 2001, "username": "ada"}));
    }

    async fn session_expires_after_an_hour(open: Open) {
        let secret = open.session_of("ada").await;
        open.advance(3599);
        is_in(&reach(&open.anyone.bearer(&secret)).await);
        open.advance(1);
        has_ended(&reach(&open.anyone.bearer(&secret)).await);
        has_ended(&reach(&open.with_cookie(&secret)).await);
    }

    async fn logout_ends_only_the_session_of_its_request(open: Open) {
        let secrets = [
            open.session_of("ada").await,
            open.session_of("ada").await,
            open.session_of("ada").await,
            open.session_of("ada").await,
        ];
        let other = open.session_of("ada").await;
        for (caller, ended) in [
            (open.anyone.bearer(&secrets[0]), &secrets[..1]),
            (open.with_cookie(&secrets[1]), &secrets[1..2]),
            // Both, where there are both.
            (open.with_cookie(&secrets[2]).bearer(&secrets[3]), &secrets[2..]),
        ] {
            let answer = caller.get("/v3/user/logout").send().await;
            is_empty(&answer);
            let gone = "petstore_session=; Path=/v3; Max-Age=0; HttpOnly; SameSite=Lax";
            assert_eq!(answer.header("set-cookie"), gone);
            for secret in ended {
                has_ended(&reach(&open.anyone.bearer(secret)).await);
                has_ended(&reach(&open.with_cookie(secret)).await);
            }
            // Once more is fine.
            is_empty(&caller.get("/v3/user/logout").send().await);
        }
        is_in(&reach(&open.anyone.bearer(&other)).await);
        is_in(&reach(&open.ben).await);
    }

    async fn logout_without_a_session_gets_200(open: Open) {
        let token = open.token_of("ada", None).await;
        for caller in [
            open.anyone.clone(),
            open.anyone.bearer("no-session"),
            open.anyone.bearer("no.such.token"),
            open.anyone.bearer(&token),
            open.anyone.with("cookie", "petstore_session="),
            open.anyone.with("authorization", "Basic ZGVtbzpkZW1v"),
        ] {
            is_empty(&caller.get("/v3/user/logout").send().await);
            is_empty(&caller.call(Method::HEAD, "/v3/user/logout").send().await);
        }
        open.anyone.bearer(&token).get("/v3/pet/findByStatus").send().await.has_status(200);
        is_in(&reach(&open.ada).await);
    }

    /// A client with a grant for pets must not be able to set the user's password.
    async fn access_token_cannot_change_a_user(open: Open) {
        let session = open.session_of("ada").await;
        let before = open.dump().await;
        for scope in [None, Some("read:pets"), Some("write:pets")] {
            let token = open.anyone.bearer(&open.token_of("ada", scope).await);
            for answer in [
                token.post("/v3/user").json(&json!({"username": "max"})).send().await,
                token.put("/v3/user/ada").json(&json!({"password": "stolen"})).send().await,
                token.delete("/v3/user/ada").send().await,
                // It is the bearer token that counts where there is a cookie, too.
                token.with("cookie", format!("petstore_session={session}")).delete("/v3/user/ada").send().await,
            ] {
                let detail = answer.is_problem(401, "unauthorized");
                assert!(detail.starts_with("An access token is not a session"), "{detail}");
                assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"Pet store\"");
            }
        }
        assert_eq!(open.dump().await, before);
    }

    async fn new_password_ends_all_other_sessions_and_all_grants(open: Open) {
        let second = open.anyone.bearer(&open.session_of("ada").await);
        let third = open.with_cookie(&open.session_of("ada").await);
        let token = open.anyone.bearer(&open.token_of("ada", None).await);
        token.get("/v3/pet/findByStatus").send().await.has_status(200);
        // Anything else leaves her logged in.
        is_empty(&open.ada.put("/v3/user/ada").json(&json!({"username": "ada2", "phone": "1"})).send().await);
        is_in(&reach(&second).await);
        is_empty(&open.ada.put("/v3/user/ada2").json(&json!({"password": "new"})).send().await);
        is_in(&reach(&open.ada).await);
        for caller in [&second, &third] {
            has_ended(&reach(caller).await);
        }
        open.advance(5);
        let refused = token.get("/v3/pet/findByStatus").send().await;
        assert_eq!(refused.is_problem(401, "unauthorized"), "The access token was revoked.");
        is_in(&reach(&open.ben).await);
        let answer = open.anyone.get("/v3/user/login?username=ada2&password=new").send().await;
        let secret = answer.has_status(200).json().as_str().unwrap().to_owned();
        is_in(&reach(&open.anyone.bearer(&secret)).await);
        // By its cookie it stays as well.
        let by_cookie = open.with_cookie(&secret);
        is_empty(&by_cookie.put("/v3/user/ada2").json(&json!({"password": "newer"})).send().await);
        is_in(&reach(&by_cookie).await);
        has_ended(&reach(&open.ada).await);
    }

    async fn unchanged_password_ends_no_session(open: Open) {
        is_empty(&open.ada.put("/v3/user/ada").json(&json!({"password": "wörd"})).send().await);
        let second = open.anyone.bearer(&open.session_of("ada").await);
        let token = open.anyone.bearer(&open.token_of("ada", None).await);
        // In both Unicode forms.
        for same in ["wörd", "wo\u{308}rd"] {
            let changes = json!({"password": same, "firstName": "Ada"});
            is_empty(&open.ada.put("/v3/user/ada").json(&changes).send().await);
        }
        open.user("ada").await.is(200, &json!({"id": 2001, "username": "ada", "firstName": "Ada"}));
        is_in(&reach(&second).await);
        open.advance(5);
        token.get("/v3/pet/findByStatus").send().await.has_status(200);
        open.anyone.get("/v3/user/login?username=ada&password=w%C3%B6rd").send().await.has_status(200);
    }

    async fn one_session_stays_after_concurrent_password_changes(open: Open) {
        let mut sessions = Vec::new();
        for _ in 0..6 {
            sessions.push(open.anyone.bearer(&open.session_of("ada").await));
        }
        let set = sessions.iter().enumerate().map(async |(at, session)| {
            session.put("/v3/user/ada").json(&json!({"password": format!("password {at}")})).send().await
        });
        let answers = futures_util::future::join_all(set).await;
        let won: Vec<_> = (0..6).filter(|at| answers[*at].status == 200).collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        for (at, session) in sessions.iter().enumerate() {
            if won.contains(&at) {
                is_in(&reach(session).await);
            } else {
                has_ended(&answers[at]);
                has_ended(&reach(session).await);
            }
        }
        let path = format!("/v3/user/login?username=ada&password=password+{}", won[0]);
        open.anyone.get(&path).send().await.has_status(200);
    }

    async fn browser_session_is_rejected(open: Open) {
        let sessions = identity::Sessions::new(true, open.db.clone(), open.clock.clone(), web::Random::system());
        let account = open.account("ada").await.unwrap();
        let length = jiff::SignedDuration::from_hours(1);
        let browser = sessions.start(identity::session::Kind::Browser, account, length).await.unwrap();
        has_ended(&reach(&open.anyone.bearer(&browser.secret)).await);
        has_ended(&reach(&open.with_cookie(&browser.secret)).await);
        open.anyone.bearer(&browser.secret).get("/v3/user/logout").send().await.has_status(200);
        assert!(sessions.find(identity::session::Kind::Browser, &browser.secret).await.unwrap().is_some());
    }
}
