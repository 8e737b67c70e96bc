//! Clients and grants of the demo are rejected without the demo.

use identity::{Sessions, session::Kind};
use jiff::SignedDuration;
use serde_json::json;
use web::Random;

use super::fixture::{APP, Browser, CALLBACK, Harness, Service, VERIFIER, refused, text};

/// The service of the same name without its demo.
async fn without_demo(harness: &Harness) -> Service {
    let issuer = harness.service.issuer.clone();
    Service::start_with(&harness.db, &harness.clock, Some(&issuer), |settings| settings.demo = false).await
}

async fn introspect(service: &Service, client: &(String, String), token: &str) -> serde_json::Value {
    let form = [("client_id", client.0.as_str()), ("client_secret", client.1.as_str()), ("token", token)];
    service.post("/oauth/introspect", &form).await.has_status(200).json()
}

testkit::on_both_engines! {
    async fn openly_registered_client_works_only_in_the_demo(harness: Harness) {
        let service = &harness.service;
        let body = json!({
            "redirect_uris": [APP], "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        });
        let answer = service.client.post("/oauth/register").json(&body).send().await;
        let registered = answer.has_status(201).json();
        let (id, secret) = (text(&registered["client_id"]), text(&registered["client_secret"]));
        let code = service.code(&[("client_id", &id), ("redirect_uri", APP)]).await;
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", &id),
            ("client_secret", &secret),
            ("code", &code),
            ("redirect_uri", APP),
            ("code_verifier", VERIFIER),
        ];
        let tokens = service.token(&form).await.has_status(200).json();
        let (access, refresh) = (text(&tokens["access_token"]), text(&tokens["refresh_token"]));
        service.call("/v1/read", &access).await.has_status(200);

        let strict = without_demo(&harness).await;
        let own = [("grant_type", "client_credentials"), form[1], form[2]];
        refused("the client", &strict.token(&own).await, 401, "invalid_client");
        let again = [("grant_type", "refresh_token"), form[1], form[2], ("refresh_token", &refresh)];
        refused("its refresh token", &strict.token(&again).await, 401, "invalid_client");
        let late = strict.call("/v1/read", &access).await;
        assert_eq!(late.is_problem(401, "unauthorized"), "The access token was revoked.");
        let path = format!("/oauth/authorize?{}", strict.request(&[("client_id", &id), ("redirect_uri", APP)]));
        let page = strict.client.get(&path).send().await;
        assert!(page.has_status(400).text().contains("No application is registered under this client_id."));

        // The demo continues unchanged.
        service.call("/v1/read", &access).await.has_status(200);
        service.token(&again).await.has_status(200);
    }

    async fn client_registered_with_the_token_works_after_the_demo(harness: Harness) {
        let demo = Service::start_with(&harness.db, &harness.clock, None, |settings| {
            settings.registration_token = Some("initial".into());
        });
        let demo = demo.await;
        let call = demo.client.post("/oauth/register").header("authorization", "Bearer initial");
        let body = json!({"redirect_uris": [APP], "grant_types": ["client_credentials"]});
        let registered = call.json(&body).send().await.has_status(201).json();
        let (id, secret) = (text(&registered["client_id"]), text(&registered["client_secret"]));
        let own = [("grant_type", "client_credentials"), ("client_id", &id), ("client_secret", &secret)];
        without_demo(&harness).await.token(&own).await.has_status(200);
    }

    async fn grant_of_a_demo_account_works_only_in_the_demo(harness: Harness) {
        let service = &harness.service;
        service.accounts.add_demo("demo", "demo").await.unwrap();
        let demo = service.accounts.find("demo").await.unwrap().unwrap();
        let client = service.register("App", &[], true).await;
        let (id, secret) = (client.0.as_str(), client.1.as_str());
        let path = format!("/oauth/authorize?{}", service.request(&[("client_id", id), ("redirect_uri", APP)]));
        let mut browser = Browser::new(service);
        let sign_in = [("intent", "sign-in"), ("name", "demo"), ("password", "demo")];
        browser.post(&path, &sign_in).await.has_status(303);
        let answer = browser.post(&path, &[("intent", "allow")]).await;
        let back = url::Url::parse(answer.has_status(303).header("location")).unwrap();
        let code = back.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
        let by = [("client_id", id), ("client_secret", secret)];
        let form = [
            ("grant_type", "authorization_code"), by[0], by[1], ("code", &code), ("redirect_uri", APP),
            ("code_verifier", VERIFIER),
        ];
        let tokens = service.token(&form).await.has_status(200).json();
        let (access, refresh) = (text(&tokens["access_token"]), text(&tokens["refresh_token"]));
        assert_eq!(introspect(service, &client, &access).await["active"], true);

        let strict = without_demo(&harness).await;
        let again = [("grant_type", "refresh_token"), by[0], by[1], ("refresh_token", &refresh)];
        refused("a refresh token", &strict.token(&again).await, 400, "invalid_grant");
        strict.call("/v1/read", &access).await.is_problem(401, "unauthorized");
        for token in [&access, &refresh] {
            assert_eq!(introspect(&strict, &client, token).await, json!({"active": false}));
        }
        let page = browser.at(&strict).get(&path).await.text();
        assert!(page.contains("<h1>Sign in</h1>"), "{page}");
        assert_eq!(strict.accounts.find("demo").await.unwrap(), None);

        let sessions = |demo| Sessions::new(demo, harness.db.clone(), harness.clock.clone(), Random::system());
        let hour = SignedDuration::from_hours(1);
        let api = sessions(true).start(Kind::Api, demo, hour).await.unwrap().secret;
        assert_eq!(sessions(true).find(Kind::Api, &api).await.unwrap(), Some((demo, "demo".to_owned())));
        assert_eq!(sessions(false).find(Kind::Api, &api).await.unwrap(), None);
        // The rejected requests have not used the tokens.
        service.token(&again).await.has_status(200);
    }

    async fn grant_to_the_demo_client_works_only_in_the_demo(harness: Harness) {
        let (access, refresh) = harness.service.tokens(&[]).await;
        let code = harness.service.code(&[]).await;
        let strict = without_demo(&harness).await;
        refused("the demo client", &strict.refresh(&refresh).await, 401, "invalid_client");
        refused("the demo client", &strict.redeem(&code).await, 401, "invalid_client");
        strict.call("/v1/read", &access).await.is_problem(401, "unauthorized");
        // The account is an ordinary one, with a password of its owner.
        let mut browser = Browser::new(&strict);
        let (id, _) = strict.register("App", &[], false).await;
        let path = format!("/oauth/authorize?{}", strict.request(&[("client_id", &id), ("redirect_uri", APP)]));
        assert!(browser.allow(&path).await.has_status(303).header("location").starts_with(APP));
        assert!(CALLBACK.starts_with("http://127.0.0.1"));
    }
}
