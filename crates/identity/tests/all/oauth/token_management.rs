//! Revocation, introspection, client registration, and how soon a revoked token is rejected.

use identity::{Accounts, oauth::NewClient};
use jiff::SignedDuration;
use serde_json::{Value, json};
use testkit::Answer;
use web::Random;

use super::fixture::{APP, Harness, NAME, Pairs, Service, open, refused, text};

async fn introspect(service: &Service, client: &(String, String), token: &str) -> Value {
    let form = [("client_id", client.0.as_str()), ("client_secret", client.1.as_str()), ("token", token)];
    let answer = service.post("/oauth/introspect", &form).await;
    assert_eq!(answer.has_status(200).header("cache-control"), "no-store");
    answer.json()
}

/// A client that may look at the tokens for the service.
async fn gateway(service: &Service) -> (String, String) {
    let (client, secret) = service.server.add_resource_server("Gateway", &service.issuer).await.unwrap();
    (client.id, secret.unwrap())
}

async fn another(harness: &Harness) -> Service {
    Service::start(&open(&harness.store), &harness.clock, Some(&harness.service.issuer)).await
}

async fn register(service: &Service, body: &Value, token: Option<&str>) -> Answer {
    let call = service.client.post("/oauth/register").json(body);
    let call = token.into_iter().fold(call, |call, token| call.header("authorization", token));
    call.send().await
}

/// The error for a missing initial access token.
#[track_caller]
fn is_unauthorized(answer: &Answer) {
    let why = "registering a client needs this server's initial access token, as a bearer token";
    assert_eq!(answer.has_status(401).json(), json!({"error": "invalid_token", "error_description": why}));
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("cache-control"), "no-store");
}

testkit::on_both_engines! {
    async fn revocation_and_introspection_need_an_authorized_client(harness: Harness) {
        let service = &harness.service;
        let owner = service.register("Owner", &[], true).await;
        let gateway = gateway(service).await;
        let (access, refresh) = service.tokens(&[]).await;
        let (id, secret) = (owner.0.as_str(), owner.1.as_str());
        let token = ("token", access.as_str());
        let me = [("client_id", id), ("client_secret", secret)];
        for path in ["/oauth/revoke", "/oauth/introspect"] {
            let cases: &[(&str, u16, &str, Pairs<'_>)] = &[
                ("no client", 401, "invalid_client", &[token]),
                ("an unknown client", 401, "invalid_client", &[token, ("client_id", "nobody")]),
                ("no secret", 401, "invalid_client", &[token, me[0]]),
                ("a wrong secret", 401, "invalid_client", &[token, me[0], ("client_secret", "x")]),
                ("no token", 400, "invalid_request", &me),
                ("an empty token", 400, "invalid_request", &[me[0], me[1], ("token", "")]),
                ("two tokens", 400, "invalid_request", &[me[0], me[1], token, token]),
            ];
            for (what, status, error, form) in cases {
                refused(&format!("{path}: {what}"), &service.post(path, form).await, *status, error);
            }
            refused(path, &service.client.post(path).json(&json!({})).send().await, 400, "invalid_request");
        }
        let public = service.post("/oauth/introspect", &[("client_id", "demo"), token]).await;
        refused("a public client asks", &public, 401, "invalid_client");
        // Tokens of another client are not revoked; an unknown token counts as revoked.
        for other in [access.as_str(), refresh.as_str()] {
            let answer = service.post("/oauth/revoke", &[me[0], me[1], ("token", other)]).await;
            refused("another's", &answer, 400, "invalid_grant");
        }
        let none = service.post("/oauth/revoke", &[me[0], me[1], ("token", "x")]).await;
        assert_eq!(none.has_status(200).text(), "");
        harness.clock.advance(SignedDuration::from_secs(5));
        service.call("/v1/read", &access).await.has_status(200);
        for inactive in [refresh.as_str(), "x", "a.b.c"] {
            assert_eq!(introspect(service, &gateway, inactive).await, json!({"active": false}));
        }
        let iat = harness.clock.now().as_second() - 5;
        let about = introspect(service, &gateway, &access).await;
        let expected = json!({
            "active": true, "token_type": "Bearer", "iss": service.issuer, "sub": harness.account.to_string(),
            "client_id": "demo", "scope": "read", "aud": service.issuer, "iat": iat, "exp": iat + 600,
            "jti": about["jti"],
        });
        assert_eq!(about, expected);
        let hint = [("client_id", "demo"), ("token", refresh.as_str()), ("token_type_hint", "access_token")];
        service.post("/oauth/revoke", &hint).await.has_status(200);
        assert_eq!(introspect(service, &gateway, &access).await, json!({"active": false}));
        refused("a revoked one", &service.refresh(&refresh).await, 400, "invalid_grant");
    }

    async fn introspection_of_a_refresh_token_has_the_time_of_its_grant(harness: Harness) {
        let service = &harness.service;
        let owner = service.register("Owner", &[], true).await;
        let code = service.code(&[("client_id", &owner.0), ("redirect_uri", APP)]).await;
        let me = [("client_id", owner.0.as_str()), ("client_secret", owner.1.as_str())];
        let form = [
            ("grant_type", "authorization_code"),
            me[0],
            me[1],
            ("code", &code),
            ("redirect_uri", APP),
            ("code_verifier", crate::oauth::fixture::VERIFIER),
        ];
        let granted_at = harness.clock.now().as_second();
        let first = text(&service.token(&form).await.has_status(200).json()["refresh_token"]);
        harness.clock.advance(SignedDuration::from_secs(700));
        let form = [("grant_type", "refresh_token"), me[0], me[1], ("refresh_token", &first)];
        let next = text(&service.token(&form).await.has_status(200).json()["refresh_token"]);
        let about = introspect(service, &owner, &next).await;
        let expected = json!({
            "active": true, "iss": service.issuer, "sub": harness.account.to_string(), "client_id": owner.0,
            "scope": "read", "aud": service.issuer, "iat": granted_at, "exp": about["exp"],
        });
        assert_eq!(about, expected);
    }

    async fn token_revoked_by_another_process_is_rejected_within_five_seconds(harness: Harness) {
        let (service, other) = (&harness.service, another(&harness).await);
        let asking = gateway(service).await;
        let (access, refresh) = service.tokens(&[]).await;
        service.call("/v1/read", &access).await.has_status(200);
        other.call("/v1/read", &access).await.has_status(200);
        let form = [("client_id", "demo"), ("token", access.as_str())];
        other.post("/oauth/revoke", &form).await.has_status(200);
        // The process that revoked it rejects it at once; this process has cached it as valid.
        other.call("/v1/read", &access).await.is_problem(401, "unauthorized");
        assert_eq!(introspect(service, &asking, &access).await, json!({"active": false}));
        harness.clock.advance(SignedDuration::from_millis(4999));
        service.call("/v1/read", &access).await.has_status(200);
        harness.clock.advance(SignedDuration::from_millis(1));
        let late = service.call("/v1/read", &access).await;
        assert_eq!(late.is_problem(401, "unauthorized"), "The access token was revoked.");
        // One token is not the grant.
        let next = service.refresh(&refresh).await;
        let next = text(&next.has_status(200).json()["access_token"]);
        service.call("/v1/read", &next).await.has_status(200);
    }

    async fn removed_account_or_client_loses_its_grants(harness: Harness) {
        let (service, other) = (&harness.service, another(&harness).await);
        let asking = gateway(service).await;
        let (app, _) = service.register("App", &[], false).await;
        let code = service.code(&[("client_id", &app), ("redirect_uri", APP)]).await;
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", &app),
            ("code", &code),
            ("redirect_uri", APP),
            ("code_verifier", crate::oauth::fixture::VERIFIER),
        ];
        let access = text(&service.token(&form).await.has_status(200).json()["access_token"]);
        service.call("/v1/read", &access).await.has_status(200);
        assert!(other.server.remove_client(&app).await.unwrap());
        assert!(!other.server.remove_client(&app).await.unwrap());
        assert_eq!(introspect(service, &asking, &access).await, json!({"active": false}));
        harness.clock.advance(SignedDuration::from_secs(5));
        service.call("/v1/read", &access).await.is_problem(401, "unauthorized");

        let (access, refresh) = service.tokens(&[]).await;
        let code = service.code(&[]).await;
        service.call("/v1/read", &access).await.has_status(200);
        let accounts = Accounts::new("Test", true, harness.db.clone(), harness.clock.clone(), Random::system());
        accounts.unwrap().remove(NAME).await.unwrap();
        assert_eq!(introspect(service, &asking, &access).await, json!({"active": false}));
        harness.clock.advance(SignedDuration::from_secs(5));
        service.call("/v1/read", &access).await.is_problem(401, "unauthorized");
        refused("the account is gone", &service.refresh(&refresh).await, 400, "invalid_grant");
        refused("the account is gone", &service.redeem(&code).await, 400, "invalid_grant");
    }

    async fn client_registration_is_open_in_the_demo(harness: Harness) {
        let service = &harness.service;
        let uri = |uri: &str| json!({"redirect_uris": [uri], "token_endpoint_auth_method": "none"});
        let eleven: Vec<_> = (0..11).map(|number| format!("https://app.example.com/{number}")).collect();
        for (what, body) in [
            ("no address", json!({"token_endpoint_auth_method": "none"})),
            ("without TLS", uri("http://app.example.com/cb")),
            ("a fragment", uri("https://app.example.com/cb#x")),
            ("a user", uri("https://me@app.example.com/cb")),
            ("a script", uri("javascript:alert(1)")),
            ("data", uri("data:text/html,x")),
            ("a relative address", uri("/cb")),
            ("capitals", uri("https://App.example.com/cb")),
            ("a star", uri("https://*.example.com/../cb")),
        ] {
            refused(what, &register(service, &body, None).await, 400, "invalid_redirect_uri");
        }
        for (what, body) in [
            ("an unknown scope", json!({"redirect_uris": [APP], "scope": "read fly"})),
            ("a name on two lines", json!({"redirect_uris": [APP], "client_name": "a\nb"})),
            ("a name back to front", json!({"redirect_uris": [APP], "client_name": "\u{202e}knaB"})),
            ("a name with a gap", json!({"redirect_uris": [APP], "client_name": "Ba\u{200b}nk"})),
        ] {
            refused(what, &register(service, &body, None).await, 400, "invalid_client_metadata");
        }
        let many = register(service, &json!({"redirect_uris": eleven}), None).await;
        refused("eleven addresses", &many, 400, "invalid_redirect_uri");
        let answer = register(service, &json!({"redirect_uris": [APP], "scope": "read"}), None).await;
        assert_eq!(answer.has_status(201).header("cache-control"), "no-store");
        let client = answer.json();
        assert_eq!(
            client,
            json!({
                "client_id": client["client_id"],
                "client_id_issued_at": harness.clock.now().as_second(),
                "client_name": "An application",
                "redirect_uris": [APP],
                "scope": "read",
                "token_endpoint_auth_method": "client_secret_basic",
                "grant_types": ["authorization_code"],
                "response_types": ["code"],
                "client_secret": client["client_secret"],
                "client_secret_expires_at": 0,
            })
        );
        assert_eq!(text(&client["client_secret"]).len(), 43);
        let public = register(service, &uri(APP), None).await.has_status(201).json();
        assert_eq!(public.get("client_secret"), None);
        assert_eq!(public["grant_types"], json!(["authorization_code"]));
    }

    async fn registration_without_the_demo_needs_the_initial_access_token(harness: Harness) {
        let strict = Service::start_with(&harness.db, &harness.clock, None, |settings| {
            settings.demo = false;
            settings.registration_token = Some("initial".into());
        });
        let strict = strict.await;
        let body = json!({"redirect_uris": [APP]});
        for (sent, challenge) in [
            (None, "Bearer"),
            (Some("Bearer wrong"), "Bearer error=\"invalid_token\""),
            (Some("Bearer initial2"), "Bearer error=\"invalid_token\""),
            (Some("Basic initial"), "Bearer"),
            (Some("initial"), "Bearer"),
        ] {
            let answer = register(&strict, &body, sent).await;
            is_unauthorized(&answer);
            assert_eq!(answer.header("www-authenticate"), challenge, "{sent:?}");
        }
        for sent in ["Bearer initial", "bearer initial"] {
            register(&strict, &body, Some(sent)).await.has_status(201);
        }
        let closed = Service::start_with(&harness.db, &harness.clock, None, |settings| settings.demo = false);
        let closed = closed.await;
        for sent in [None, Some("Bearer "), Some("Bearer initial")] {
            is_unauthorized(&register(&closed, &body, sent).await);
        }
        // The demo client exists, but has no rights.
        let answer = closed.token(&[("grant_type", "client_credentials"), ("client_id", "demo")]).await;
        refused("the demo client", &answer, 401, "invalid_client");
        let (name, redirect_uris, scopes) = (String::new(), Vec::new(), Vec::new());
        let new = NewClient { name, redirect_uris, scopes, confidential: true };
        assert!(closed.server.add_client(new).await.is_err());
    }
}
