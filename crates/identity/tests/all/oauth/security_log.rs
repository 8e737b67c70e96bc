//! The security log: one complete line for each event, without typed text or secrets.

use axum::{Router, extract::FromRef, routing::get};
use identity::{Accounts, Caller};
use serde_json::{Value, json};
use testkit::{Address, Client, Log};
use web::ConnectionLimits;

use super::fixture::{APP, Browser, Harness, NAME, PASSWORD, Service, VERIFIER, text};

/// A line as it is to be, but for its request's id, which is any; `null` leaves a field out.
#[track_caller]
fn is_line(line: &Value, mut fields: Value) {
    let id = text(&line["fields"]["id"]);
    assert!(!id.is_empty(), "{line}");
    let members = fields.as_object_mut().unwrap();
    members.retain(|_, value| !value.is_null());
    for (name, value) in
        [("message", "security"), ("service", "test"), ("address", "127.0.0.1"), ("id", id.as_str())]
    {
        members.insert(name.into(), value.into());
    }
    assert_eq!(*line, json!({"level": "INFO", "target": "security", "fields": fields}));
}

/// The lines in which a field has this value are of these events and outcomes, each with these other fields.
#[track_caller]
fn are_lines(by: (&str, &str), events: &[(&str, &str)], account: Option<&str>, client: Option<&str>) {
    let lines = Log::start().security(by.0, by.1);
    assert_eq!(lines.len(), events.len(), "{lines:#?}");
    for (line, (event, outcome)) in lines.iter().zip(events) {
        is_line(line, json!({"event": event, "outcome": outcome, "account": account, "client": client}));
    }
}

fn sign_in<'a>(name: &'a str, password: &'a str) -> [(&'a str, &'a str); 3] {
    [("intent", "sign-in"), ("name", name), ("password", password)]
}

async fn redeem(service: &Service, client: &str, code: &str) -> testkit::Answer {
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("redirect_uri", APP),
        ("code_verifier", VERIFIER),
    ];
    service.token(&form).await
}

testkit::on_both_engines! {
    async fn sign_in_on_a_page_is_logged(harness: Harness) {
        Log::start();
        let path = format!("/oauth/authorize?{}", harness.service.request(&[]));
        let mut browser = Browser::new(&harness.service);
        browser.post(&path, &sign_in(NAME, "a wrong password")).await.has_status(303);
        browser.post(&path, &sign_in(NAME, PASSWORD)).await.has_status(303);
        browser.post(&path, &[("intent", "switch")]).await.has_status(303);
        for _ in 0..11 {
            browser.post(&path, &sign_in(NAME, "a wrong password")).await.has_status(303);
        }
        let mut events = vec![("sign_in", "wrong"); 13];
        events[1].1 = "ok";
        events[12].1 = "throttled";
        let account = harness.account.to_string();
        are_lines(("account", &account), &events, Some(&account), None);
        let log = Log::start().text();
        assert!(!log.contains("a wrong password") && !log.contains(PASSWORD), "{log}");
    }

    async fn sign_in_by_basic_is_logged_when_the_password_is_checked(harness: Harness) {
        Log::start();
        let router = Router::new().route("/", get(async |_: Caller| "in"));
        let router = router.with_state(State(harness.service.accounts.clone()));
        let server = Address::free().await.serve(ConnectionLimits::default(), router);
        let client = Client::new(server.address());
        client.signed_in(NAME, "a wrong one").get("/").send().await.has_status(401);
        for _ in 0..3 {
            client.signed_in(NAME, PASSWORD).get("/").send().await.has_status(200);
        }
        let account = harness.account.to_string();
        are_lines(("account", &account), &[("sign_in", "wrong"), ("sign_in", "ok")], Some(&account), None);
        // An unknown name may be a password that was typed into the wrong field.
        for (id, name) in [("unknown-name", "hunter2-typed"), ("unfit-name", "hunter2\u{202e}typed")] {
            let id = format!("{id}-{}", harness.account);
            let call = client.signed_in(name, "hunter2-too").get("/").header("x-request-id", &id);
            call.send().await.has_status(401);
            are_lines(("id", &id), &[("sign_in", "wrong")], None, None);
        }
        let log = Log::start().text();
        assert!(!log.contains("hunter2"), "{log}");
    }

    async fn basic_credentials_name_their_user_in_the_access_log(harness: Harness) {
        let log = Log::start();
        let router = Router::new().route("/", get(async |_: Caller| "in"));
        let router = router.with_state(State(harness.service.accounts.clone()));
        let server = Address::free().await.serve(ConnectionLimits::default(), router);
        let client = Client::new(server.address());
        for (what, password, status, user) in
            [("right", PASSWORD, 200, Some(NAME)), ("wrong", "a wrong password", 401, None)]
        {
            let id = format!("basic-{what}-{}", harness.account);
            let call = client.signed_in(NAME, password).get("/").header("x-request-id", &id);
            call.send().await.has_status(status);
            let lines = log.about(&id);
            let requests: Vec<_> =
                lines.iter().map(|line| &line["fields"]).filter(|line| line["message"] == "request").collect();
            assert_eq!(requests.len(), 1, "{lines:?}");
            assert_eq!((requests[0]["user"].as_str(), requests[0].get("client_id")), (user, None), "{lines:?}");
        }
    }

    async fn consent_and_denial_are_logged(harness: Harness) {
        Log::start();
        let service = &harness.service;
        let (id, _) = service.register("App", &[], false).await;
        let path = format!("/oauth/authorize?{}", service.request(&[("client_id", &id), ("redirect_uri", APP)]));
        let mut browser = Browser::new(service);
        browser.allow(&path).await.has_status(303);
        browser.post(&path, &[("intent", "deny")]).await.has_status(303);
        let account = harness.account.to_string();
        are_lines(("client", &id), &[("consent", "ok"), ("consent", "denied")], Some(&account), Some(&id));
    }

    async fn reused_code_or_refresh_token_is_logged(harness: Harness) {
        Log::start();
        let service = &harness.service;
        let account = harness.account.to_string();
        let (id, _) = service.register("App", &[], false).await;
        let by = [("client_id", id.as_str()), ("redirect_uri", APP)];
        let code = service.code(&by).await;
        redeem(service, &id, &code).await.has_status(200);
        redeem(service, &id, &code).await.has_status(400);
        let code = service.code(&by).await;
        let refresh = text(&redeem(service, &id, &code).await.has_status(200).json()["refresh_token"]);
        let again = [("grant_type", "refresh_token"), by[0], ("refresh_token", &refresh)];
        service.token(&again).await.has_status(200);
        service.token(&again).await.has_status(400);
        let events = [
            ("consent", "ok"), ("code_reuse", "revoked"), ("consent", "ok"), ("refresh_token_reuse", "revoked"),
        ];
        are_lines(("client", &id), &events, Some(&account), Some(&id));
        let log = Log::start().text();
        assert!(!log.contains(&code) && !log.contains(&refresh), "{log}");
    }

    async fn revocation_is_logged(harness: Harness) {
        Log::start();
        let service = &harness.service;
        let account = harness.account.to_string();
        let (id, _) = service.register("App", &[], false).await;
        let (other, _) = service.register("Other", &[], false).await;
        let code = service.code(&[("client_id", &id), ("redirect_uri", APP)]).await;
        let tokens = redeem(service, &id, &code).await.has_status(200).json();
        for token in ["access_token", "refresh_token"] {
            let token = text(&tokens[token]);
            service.post("/oauth/revoke", &[("client_id", &other), ("token", &token)]).await.has_status(400);
            service.post("/oauth/revoke", &[("client_id", &id), ("token", &token)]).await.has_status(200);
            assert!(!Log::start().text().contains(&token));
        }
        service.post("/oauth/revoke", &[("client_id", &id), ("token", "unknown")]).await.has_status(200);
        let own = [("consent", "ok"), ("token_revocation", "ok"), ("token_revocation", "ok")];
        are_lines(("client", &id), &own, Some(&account), Some(&id));
        are_lines(("client", &other), &[("token_revocation", "refused"); 2], Some(&account), Some(&other));
    }

    async fn wrong_client_credentials_are_logged(harness: Harness) {
        Log::start();
        let service = &harness.service;
        let (id, secret) = service.register("App", &[], true).await;
        let request = |what: &str| format!("{what}-{}", harness.account);
        for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
            let send = async |what: &str, client: &str, secret: &str| {
                let form = format!("grant_type=client_credentials&token=x&client_id={client}&client_secret={secret}");
                let call = service.client.post(path).body("application/x-www-form-urlencoded", form);
                call.header("x-request-id", &request(what)).send().await
            };
            let at = path.trim_start_matches("/oauth/");
            let what = format!("wrong-secret-{at}");
            send(&what, &id, "wrong-client-secret").await.has_status(401);
            are_lines(("id", &request(&what)), &[("client_authentication", "wrong")], None, Some(&id));
            // An unknown id may be a secret that was sent in the wrong parameter.
            let what = format!("unknown-client-{at}");
            send(&what, "unknown-client-id", "wrong-client-secret").await.has_status(401);
            are_lines(("id", &request(&what)), &[("client_authentication", "wrong")], None, None);
            // Valid credentials are logged with their request, if that is a security event.
            let what = format!("right-secret-{at}");
            send(&what, &id, &secret).await.has_status(200);
            are_lines(("id", &request(&what)), &[], None, None);
        }
        let log = Log::start().text();
        assert!(!log.contains("wrong-client-secret") && !log.contains("unknown-client-id"), "{log}");
    }

    async fn client_registration_is_logged_and_removal_is_not(harness: Harness) {
        Log::start();
        let service = &harness.service;
        let register = async |service: &Service, id: &str| {
            let call = service.client.post("/oauth/register").header("x-request-id", id);
            call.json(&json!({"redirect_uris": [APP]})).send().await
        };
        let account = harness.account;
        let request = |what: &str| format!("{what}-{account}");
        let answer = register(service, &request("first")).await.has_status(201).json();
        let client = text(&answer["client_id"]);
        are_lines(("id", &request("first")), &[("client_registration", "ok")], None, Some(&client));
        assert!(!Log::start().text().contains(&text(&answer["client_secret"])));
        for _ in 0..59 {
            register(service, &request("more")).await.has_status(201);
        }
        register(service, &request("late")).await.has_status(429);
        are_lines(("id", &request("late")), &[("client_registration", "throttled")], None, None);
        let strict = Service::start_with(&harness.db, &harness.clock, None, |settings| settings.demo = false).await;
        register(&strict, &request("strict")).await.has_status(401);
        are_lines(("id", &request("strict")), &[("client_registration", "refused")], None, None);
        assert!(service.server.remove_client(&client).await.unwrap());
        assert!(!service.server.remove_client(&client).await.unwrap());
        // Only a command removes clients, and commands write no log.
        are_lines(("client", &client), &[("client_registration", "ok")], None, Some(&client));
    }

    async fn account_creation_is_logged(harness: Harness) {
        Log::start();
        let service = &harness.service;
        let mut browser = Browser::new(service);
        let sign_up = [("name", "grace"), ("password", "a long password")];
        browser.post("/oauth/sign-up", &sign_up).await.has_status(303);
        let account = service.accounts.find("grace").await.unwrap().unwrap().to_string();
        are_lines(("account", &account), &[("account_creation", "ok")], Some(&account), None);
    }
}

#[derive(Clone)]
struct State(Accounts);

impl FromRef<State> for Accounts {
    fn from_ref(state: &State) -> Self {
        state.0.clone()
    }
}
