//! From a page where a user of the store signs in to an access token that the store takes.

use serde_json::json;
use testkit::{Answer, Engine, Fixture, Store};

use crate::{
    answers::{number, pet, text},
    fixture::{Open, with_demo},
};

const FORM: &str = "application/x-www-form-urlencoded";
const CALLBACK: &str = "http%3A%2F%2F127.0.0.1%3A5999%2Fcallback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A browser on the pages of the store's demo.
struct Visitor {
    open: Open,
    cookies: Vec<(String, String)>,
}

impl Fixture for Visitor {
    async fn start(engine: Engine) -> Self {
        Visitor { open: Open::on(Store::new(engine), with_demo()).await, cookies: Vec::new() }
    }
}

impl Visitor {
    /// The address to which the demo client sends a user for these scopes.
    fn path(scope: &str) -> String {
        format!(
            "/oauth/authorize?response_type=code&client_id=demo&redirect_uri={CALLBACK}&scope={scope}&state=s\
             &code_challenge={CHALLENGE}&code_challenge_method=S256"
        )
    }

    fn cookie(&self) -> String {
        self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    fn keep_cookies(&mut self, answer: &Answer) {
        for set in answer.headers.get_all("set-cookie") {
            let (name, rest) = set.to_str().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            self.cookies.push((name.to_owned(), rest.split(';').next().unwrap().to_owned()));
        }
    }

    /// Opens a page, fills in its form with these fields and sends it.
    async fn send(&mut self, path: &str, fields: &str) -> Answer {
        let page = self.open.anyone.get(path).header("cookie", &self.cookie()).send().await;
        self.keep_cookies(&page);
        let html = page.has_status(200).text();
        let token = html.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let form = format!("{fields}&token={}", token.unwrap());
        let call = self.open.anyone.post(path).header("cookie", &self.cookie());
        let call = call.header("sec-fetch-site", "same-origin").header("origin", &self.open.address);
        let answer = call.body(FORM, form).send().await;
        self.keep_cookies(&answer);
        answer
    }

    async fn redeem(&self, form: &str) -> Answer {
        self.open.anyone.post("/oauth/token").body(FORM, form.to_owned()).send().await
    }
}

testkit::on_both_engines! {
    async fn user_can_authorize_a_client(visitor: Visitor) {
        let mut visitor = visitor;
        let path = Visitor::path("write:pets+read:pets");
        let wrong = visitor.send(&path, "intent=sign-in&name=user1&password=wrong").await;
        // Back to the page, which says so.
        assert_eq!(wrong.has_status(303).header("location"), path);
        visitor.send(&path, "intent=sign-in&name=user1&password=password").await.has_status(303);
        let allowed = visitor.send(&path, "intent=allow").await;
        let location = allowed.has_status(303).header("location");
        assert!(
            location.starts_with("http://127.0.0.1:5999/callback?") && location.contains("state=s"),
            "{location}"
        );
        let code = location.split(['?', '&']).find_map(|pair| pair.strip_prefix("code=")).unwrap();
        let form = format!(
            "grant_type=authorization_code&client_id=demo&code={code}&redirect_uri={CALLBACK}&code_verifier={VERIFIER}"
        );
        let tokens = visitor.redeem(&form).await.has_status(200).json();
        assert_eq!(tokens["scope"], "write:pets read:pets");
        let client = visitor.open.anyone.bearer(text(&tokens, "access_token"));
        let added = client.post("/v3/pet").json(&pet("Rex")).send().await.has_status(200).json();
        client.delete(&format!("/v3/pet/{}", number(&added, "id"))).send().await.has_status(200);
        // The token is for pets: it cannot change a user.
        for name in ["user1", "demo"] {
            let refused = client.put(&format!("/v3/user/{name}")).json(&json!({"firstName": "U."})).send().await;
            refused.is_problem(401, "unauthorized");
        }

        let form = format!(
            "grant_type=refresh_token&client_id=demo&refresh_token={}",
            text(&tokens, "refresh_token")
        );
        let renewed = visitor.redeem(&form).await.has_status(200).json();
        // A revoked token, or one of a deleted user, is rejected.
        let form = format!("client_id=demo&token={}", text(&renewed, "access_token"));
        visitor.open.anyone.post("/oauth/revoke").body(FORM, form).send().await.has_status(200);
        let ended = visitor.open.anyone.bearer(text(&renewed, "access_token"));
        ended.get("/v3/pet/findByStatus").send().await.is_problem(401, "unauthorized");
        let session = visitor.open.anyone.bearer(&visitor.open.session_of("user1").await);
        session.delete("/v3/user/user1").send().await.has_status(200);
        visitor.open.advance(5);
        client.get("/v3/pet/findByStatus").send().await.is_problem(401, "unauthorized");
        let form = format!(
            "grant_type=refresh_token&client_id=demo&refresh_token={}",
            text(&renewed, "refresh_token")
        );
        assert_eq!(visitor.redeem(&form).await.has_status(400).json()["error"], "invalid_grant");
    }

    async fn client_with_fewer_scopes_is_rejected_with_a_challenge(visitor: Visitor) {
        let mut visitor = visitor;
        let path = Visitor::path("read:pets");
        visitor.send(&path, "intent=sign-in&name=demo&password=demo").await.has_status(303);
        let allowed = visitor.send(&path, "intent=allow").await;
        let location = allowed.has_status(303).header("location").to_owned();
        let code = location.split(['?', '&']).find_map(|pair| pair.strip_prefix("code=")).unwrap();
        let form = format!(
            "grant_type=authorization_code&client_id=demo&code={code}&redirect_uri={CALLBACK}&code_verifier={VERIFIER}"
        );
        let tokens = visitor.redeem(&form).await.has_status(200).json();
        let client = visitor.open.anyone.bearer(text(&tokens, "access_token"));
        let answer = client.get("/v3/pet/findByStatus").send().await;
        let said = "The access token needs the scopes write:pets read:pets.";
        assert_eq!(answer.is_problem(403, "forbidden"), said);
        assert!(answer.header("www-authenticate").contains("error=\"insufficient_scope\""));
    }

    /// The pages' session is not valid for the API, and the API's session is not valid for the pages.
    async fn browser_session_is_not_a_login_session(visitor: Visitor) {
        let mut visitor = visitor;
        let path = Visitor::path("read:pets");
        visitor.send(&path, "intent=sign-in&name=demo&password=demo").await.has_status(303);
        let cookie = visitor.cookie();
        let answer = visitor.open.anyone.with("cookie", cookie).delete("/v3/user/demo").send().await;
        answer.is_problem(401, "unauthorized");
        for (_, value) in visitor.cookies.clone() {
            for caller in [
                visitor.open.anyone.with("cookie", format!("petstore_session={value}")),
                visitor.open.anyone.bearer(&value),
            ] {
                caller.delete("/v3/user/demo").send().await.is_problem(401, "unauthorized");
            }
        }
        visitor.open.user("demo").await.has_status(200);
    }
}
