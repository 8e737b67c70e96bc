//! Requests by pages of other sites: they neither log a browser in nor out by its cookie.

use testkit::{Answer, Engine, Fixture, Store};

use crate::{
    answers::is_empty,
    fixture::{As, Open, Setup},
};

const LOGIN: &str = "/v3/user/login?username=ada&password=secret";
const LOGOUT: &str = "/v3/user/logout";

/// The store with a user who has a password.
struct Users(Open);

impl Fixture for Users {
    async fn start(engine: Engine) -> Self {
        Users::on(Store::new(engine), Setup::default()).await
    }
}

impl Users {
    async fn on(store: Store, setup: Setup) -> Self {
        let open = Open::on(store, setup).await;
        let password = serde_json::json!({"password": "secret"});
        open.ada.put("/v3/user/ada").json(&password).send().await.has_status(200);
        Users(open)
    }

    /// What browsers say of a request that a page of another site caused.
    fn elsewhere(&self) -> Vec<As> {
        let anyone = &self.0.anyone;
        vec![
            anyone.with("sec-fetch-site", "cross-site"),
            anyone.with("sec-fetch-site", "same-site"),
            anyone.with("sec-fetch-site", "cross-site").with("origin", "https://evil.example"),
            anyone.with("origin", "https://evil.example"),
            anyone.with("origin", "null"),
            anyone.with("origin", format!("{}.evil.example", self.0.address)),
        ]
    }

    /// Callers with the headers of a request by the store's own page or by the user, and a program without these headers.
    fn own(&self) -> Vec<As> {
        let anyone = &self.0.anyone;
        vec![
            anyone.clone(),
            anyone.with("sec-fetch-site", "same-origin"),
            anyone.with("sec-fetch-site", "none"),
            anyone.with("origin", format!("http://{}", anyone.client.address())),
            anyone.with("origin", self.0.address.clone()),
        ]
    }

    async fn is_logged_in(&self, secret: &str) -> bool {
        self.0.anyone.bearer(secret).delete("/v3/user/nobody").send().await.status == 404
    }
}

#[track_caller]
fn sets_cookie(answer: &Answer) -> bool {
    answer.headers.contains_key("set-cookie")
}

testkit::on_one_engine! {
    async fn cross_site_login_sets_no_cookie(users: Users) {
        for caller in users.elsewhere() {
            let answer = caller.get(LOGIN).send().await;
            let secret = answer.has_status(200).json().as_str().unwrap().to_owned();
            assert!(!sets_cookie(&answer), "{:?}", caller.headers);
            // The sender of the password still gets the session.
            assert!(users.is_logged_in(&secret).await);
        }
        for caller in users.own() {
            let answer = caller.get(LOGIN).send().await;
            assert!(sets_cookie(answer.has_status(200)), "{:?}", caller.headers);
        }
    }

    async fn cross_site_logout_does_not_end_a_cookie_session(users: Users) {
        for caller in users.elsewhere() {
            let secret = users.0.session_of("ada").await;
            let answer = caller.with("cookie", format!("petstore_session={secret}")).get(LOGOUT).send().await;
            let said = "A session's cookie counts only for the store's own pages; send the session as a bearer token.";
            assert_eq!(answer.is_problem(400, "invalid-request"), said);
            assert!(!sets_cookie(&answer), "{:?}", caller.headers);
            assert!(users.is_logged_in(&secret).await);
        }
        for caller in users.own() {
            let secret = users.0.session_of("ada").await;
            let answer = caller.with("cookie", format!("petstore_session={secret}")).get(LOGOUT).send().await;
            is_empty(&answer);
            assert!(sets_cookie(&answer) && !users.is_logged_in(&secret).await, "{:?}", caller.headers);
        }
    }

    async fn cross_site_logout_ends_a_bearer_session(users: Users) {
        for caller in users.elsewhere() {
            let (sent, kept) = (users.0.session_of("ada").await, users.0.session_of("ada").await);
            let with_both = caller.bearer(&sent).with("cookie", format!("petstore_session={kept}"));
            let answer = with_both.get(LOGOUT).send().await;
            is_empty(&answer);
            assert!(!sets_cookie(&answer), "{:?}", caller.headers);
            assert!(!users.is_logged_in(&sent).await);
            assert!(users.is_logged_in(&kept).await);
            // A request without a session is not rejected.
            is_empty(&caller.get(LOGOUT).send().await);
        }
    }

    async fn cross_site_request_with_a_cookie_changes_no_user(users: Users) {
        let cookie = format!("petstore_session={}", users.0.session_of("ada").await);
        for caller in users.elsewhere() {
            let answer = caller.with("cookie", cookie.clone()).delete("/v3/user/ada").send().await;
            answer.is_problem(400, "invalid-request");
        }
        for caller in users.own() {
            let answer = caller.with("cookie", cookie.clone()).delete("/v3/user/nobody").send().await;
            answer.is_problem(404, "not-found");
        }
    }

    /// Behind a proxy the host that the store sees may be another than the one in the browser.
    async fn request_from_the_own_origin_sets_a_cookie(store: Store) {
        let setup = Setup { address: Some("https://pets.example".into()), ..Setup::default() };
        let users = Users::on(store, setup).await;
        let own = users.0.anyone.with("origin", "https://pets.example").get(LOGIN).send().await;
        assert!(sets_cookie(own.has_status(200)));
        let other = users.0.anyone.with("origin", "https://trains.example").get(LOGIN).send().await;
        assert!(!sets_cookie(other.has_status(200)));
    }

    /// Over plain HTTP beyond loopback browsers do not say which site caused a request.
    async fn login_over_http_without_fetch_metadata_sets_no_cookie(store: Store) {
        let setup = Setup { address: Some("http://pets.example".into()), ..Setup::default() };
        let users = Users::on(store, setup).await;
        let beyond = users.0.anyone.with("host", "pets.example");
        for caller in [&users.0.anyone, &beyond, &beyond.with("origin", "http://pets.example")] {
            let answer = caller.get(LOGIN).send().await;
            let secret = answer.has_status(200).json().as_str().unwrap().to_owned();
            assert!(!sets_cookie(&answer), "{:?}", caller.headers);
            assert!(users.is_logged_in(&secret).await);
        }
        // A browser that does say it reached the store over HTTPS, through a proxy that `address` does not know of.
        let answer = beyond.with("sec-fetch-site", "same-origin").get(LOGIN).send().await;
        assert!(sets_cookie(answer.has_status(200)));
    }
}
