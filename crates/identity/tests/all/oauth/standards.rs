//! Requirements of the standards that strict clients depend on.

use serde_json::{Value, json};
use testkit::Answer;
use url::Url;

use super::fixture::{APP, Browser, CALLBACK, Harness, Service, VERIFIER, encode, refused, text};

const FORM: &str = "application/x-www-form-urlencoded";

async fn register(service: &Service, body: &Value) -> Answer {
    service.client.post("/oauth/register").json(body).send().await
}

async fn introspect(service: &Service, client: &(String, String), token: &str) -> Value {
    let form = [("client_id", client.0.as_str()), ("client_secret", client.1.as_str()), ("token", token)];
    service.post("/oauth/introspect", &form).await.has_status(200).json()
}

/// A token request without an address.
fn by_code<'a>(client: &'a str, code: &'a str) -> [(&'a str, &'a str); 4] {
    [("grant_type", "authorization_code"), ("client_id", client), ("code", code), ("code_verifier", VERIFIER)]
}

/// The code that an answer leads back with.
fn code_in(answer: &Answer) -> String {
    let back = Url::parse(answer.has_status(303).header("location")).unwrap();
    back.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
}

testkit::on_both_engines! {
    async fn registration_grants_only_the_requested_grant_types(harness: Harness) {
        let service = &harness.service;
        for (asked, given) in [
            (None, json!(["authorization_code"])),
            (Some(json!(["authorization_code"])), json!(["authorization_code"])),
            (
                Some(json!(["authorization_code", "refresh_token"])),
                json!(["authorization_code", "refresh_token"]),
            ),
            (Some(json!(["client_credentials"])), json!(["client_credentials"])),
        ] {
            let mut body = json!({"redirect_uris": [APP]});
            if let Some(asked) = &asked {
                body["grant_types"] = asked.clone();
            }
            let client = register(service, &body).await.has_status(201).json();
            assert_eq!(client["grant_types"], given, "{asked:?}");
            let types = if given == json!(["client_credentials"]) { json!([]) } else { json!(["code"]) };
            assert_eq!(client["response_types"], types, "{asked:?}");
            let (id, secret) = (text(&client["client_id"]), text(&client["client_secret"]));
            let by = [("client_id", id.as_str()), ("client_secret", secret.as_str())];
            for grant_type in ["authorization_code", "refresh_token", "client_credentials"] {
                let form = [("grant_type", grant_type), by[0], by[1]];
                let answer = service.token(&form).await;
                if !given.as_array().unwrap().contains(&json!(grant_type)) {
                    refused(grant_type, &answer, 400, "unauthorized_client");
                } else if grant_type == "client_credentials" {
                    answer.has_status(200);
                } else {
                    refused(grant_type, &answer, 400, "invalid_request");
                }
            }
            if given == json!(["authorization_code"]) {
                let code = service.code(&[("client_id", &id), ("redirect_uri", APP)]).await;
                let form = [
                    ("grant_type", "authorization_code"), by[0], by[1], ("code", &code), ("redirect_uri", APP),
                    ("code_verifier", VERIFIER),
                ];
                let tokens = service.token(&form).await.has_status(200).json();
                assert_eq!(tokens.get("refresh_token"), None, "{tokens}");
                service.call("/v1/read", &text(&tokens["access_token"])).await.has_status(200);
            }
        }
    }

    async fn rejected_registration_has_the_error_of_rfc_7591(harness: Harness) {
        let service = &harness.service;
        for (error, body) in [
            ("invalid_redirect_uri", json!({})),
            ("invalid_redirect_uri", json!({"redirect_uris": []})),
            ("invalid_redirect_uri", json!({"redirect_uris": APP})),
            ("invalid_redirect_uri", json!({"redirect_uris": [7]})),
            ("invalid_redirect_uri", json!({"redirect_uris": ["http://app.example.com/cb"]})),
            ("invalid_client_metadata", json!([])),
            ("invalid_client_metadata", json!({"redirect_uris": 7, "client_name": 7})),
            ("invalid_client_metadata", json!({"redirect_uris": [APP], "client_name": 7})),
            ("invalid_client_metadata", json!({"redirect_uris": [APP], "scope": "fly"})),
            ("invalid_client_metadata", json!({"redirect_uris": [APP], "grant_types": ["implicit"]})),
            ("invalid_client_metadata", json!({"redirect_uris": [APP], "grant_types": ["refresh_token"]})),
            ("invalid_client_metadata", json!({"redirect_uris": [APP], "grant_types": []})),
            ("invalid_client_metadata", json!({"redirect_uris": [APP], "response_types": ["token"]})),
            ("invalid_client_metadata", json!({"redirect_uris": [APP], "response_types": []})),
            (
                "invalid_client_metadata",
                json!({"redirect_uris": [APP], "token_endpoint_auth_method": "private_key_jwt"}),
            ),
            (
                "invalid_client_metadata",
                json!({
                    "grant_types": ["client_credentials"], "token_endpoint_auth_method": "none",
                }),
            ),
        ] {
            refused(&body.to_string(), &register(service, &body).await, 400, error);
        }
        for (kind, body) in [(FORM, "client_name=x"), ("application/json", "{"), ("text/plain", "{}")] {
            let answer = service.client.post("/oauth/register").body(kind, body).send().await;
            refused(kind, &answer, 400, "invalid_client_metadata");
        }
        let accepts = service.client.post("/oauth/register").header("accept", "application/xml");
        refused("in XML", &accepts.json(&json!({})).send().await, 400, "invalid_redirect_uri");
    }

    async fn revocation_of_a_token_of_another_client_is_rejected(harness: Harness) {
        let service = &harness.service;
        let (access, refresh) = service.tokens(&[]).await;
        let (id, secret) = service.register("Other", &[], true).await;
        for token in [&access, &refresh] {
            let form = [("client_id", id.as_str()), ("client_secret", secret.as_str()), ("token", token)];
            let answer = service.post("/oauth/revoke", &form).await;
            refused("another's", &answer, 400, "invalid_grant");
            assert_eq!(answer.json()["error_description"], "the token was given to another client");
        }
        service.call("/v1/read", &access).await.has_status(200);
        service.refresh(&refresh).await.has_status(200);
    }

    async fn redirect_uri_is_optional_for_a_client_with_one_address(harness: Harness) {
        let service = &harness.service;
        let (id, _) = service.register("App", &[], false).await;
        let path = format!("/oauth/authorize?{}", service.request(&[("client_id", &id), ("redirect_uri", "")]));
        for redirect in [&[][..], &[("redirect_uri", APP)]] {
            let answer = Browser::new(service).allow(&path).await;
            assert!(answer.has_status(303).header("location").starts_with(APP), "{}", answer.header("location"));
            let code = code_in(&answer);
            service.token(&[&by_code(&id, &code)[..], redirect].concat()).await.has_status(200);
        }
        let code = code_in(&Browser::new(service).allow(&path).await);
        let wrong = [&by_code(&id, &code)[..], &[("redirect_uri", CALLBACK)]].concat();
        refused("another address", &service.token(&wrong).await, 400, "invalid_grant");
        // A client that sent the address in the authorization request must repeat it.
        let code = service.code(&[("client_id", &id), ("redirect_uri", APP)]).await;
        refused("no address", &service.token(&by_code(&id, &code)).await, 400, "invalid_request");
    }

    async fn client_introspects_only_its_own_tokens_and_those_for_its_resource(harness: Harness) {
        let service = &harness.service;
        let api = format!("{}/v1", service.issuer);
        let (access, _) = service.tokens(&[("resource", &api)]).await;
        let (elsewhere, _) = service.tokens(&[]).await;
        let other = service.register("Other", &[], true).await;
        assert_eq!(introspect(service, &other, &access).await, json!({"active": false}));
        let (client, secret) = service.server.add_resource_server("Gateway", &api).await.unwrap();
        let gateway = (client.id, secret.unwrap());
        let about = introspect(service, &gateway, &access).await;
        let now = harness.clock.now().as_second();
        let expected = json!({
            "active": true, "token_type": "Bearer", "iss": service.issuer, "aud": api,
            "sub": harness.account.to_string(), "client_id": "demo", "scope": "read",
            "iat": now, "exp": now + 600, "jti": about["jti"],
        });
        assert_eq!(about, expected);
        assert_eq!(introspect(service, &gateway, &elsewhere).await, json!({"active": false}));
        let own = [("grant_type", "client_credentials"), ("client_id", &gateway.0), ("client_secret", &gateway.1)];
        refused("for itself", &service.token(&own).await, 400, "unauthorized_client");
        let unknown = service.server.add_resource_server("Gateway", "https://other.example").await;
        assert_eq!(
            unknown.unwrap_err().to_string(),
            "there is no resource \"https://other.example\" here"
        );
    }

    async fn openly_registered_client_gets_no_redirect_without_a_click(harness: Harness) {
        let service = &harness.service;
        let body = json!({"redirect_uris": [APP], "client_name": "Bargains <b>"});
        let client = register(service, &body).await.has_status(201).json();
        let id = text(&client["client_id"]);
        let by = [("client_id", id.as_str()), ("redirect_uri", APP)];
        for (what, change) in
            [("a scope", ("scope", "fly")), ("a type", ("response_type", "token")), ("a prompt", ("request", "x"))]
        {
            let path = format!("/oauth/authorize?{}", service.request(&[by[0], by[1], change]));
            for call in [service.client.get(&path), service.client.post(&path).body(FORM, "intent=deny")] {
                let answer = call.send().await;
                let page = answer.has_status(400).text();
                assert!(!answer.headers.contains_key("location") && !answer.headers.contains_key("refresh"));
                assert!(page.contains("<h1>This request cannot be answered</h1>"), "{what}: {page}");
                assert!(page.contains("<strong>Bargains &#60;b&#62;</strong>"), "{what}: {page}");
                assert!(page.contains(&format!("Go to {APP}</a>")), "{what}: {page}");
                assert!(page.contains(&format!("<a href=\"{APP}?error=")), "{what}: {page}");
            }
        }
        // After a click on a page of ours, it does.
        let path = format!("/oauth/authorize?{}", service.request(&by));
        let mut browser = Browser::new(service);
        browser.sign_in(&path).await.has_status(303);
        let denied = browser.post(&path, &[("intent", "deny")]).await;
        assert!(denied.has_status(303).header("location").starts_with(&format!("{APP}?error=access_denied")));
    }
}

testkit::on_one_engine! {
    async fn two_resources_get_invalid_target(harness: Harness) {
        let service = &harness.service;
        let code = service.code(&[]).await;
        let (one, two) = (("resource", service.issuer.as_str()), ("resource", "https://other.example"));
        let form = [
            ("grant_type", "authorization_code"), ("client_id", "demo"), ("code", &code),
            ("redirect_uri", CALLBACK), ("code_verifier", VERIFIER), one, two,
        ];
        refused("two resources", &service.token(&form).await, 400, "invalid_target");
        let path = format!("/oauth/authorize?{}", service.request(&[one, two]));
        let answer = service.client.get(&path).send().await;
        assert!(answer.has_status(303).header("location").contains("error=invalid_target"));
        service.token(&form[..6]).await.has_status(200);
    }

    async fn responses_with_tokens_are_not_cached(harness: Harness) {
        let service = &harness.service;
        let code = service.code(&[]).await;
        let tokens = service.redeem(&code).await;
        let refresh = text(&tokens.has_status(200).json()["refresh_token"]);
        let next = service.refresh(&refresh).await;
        let refusal = service.refresh("x").await;
        for answer in [&tokens, next.has_status(200), refusal.has_status(400)] {
            assert_eq!(answer.header("cache-control"), "no-store");
            assert_eq!(answer.header("pragma"), "no-cache");
        }
    }

    async fn authorization_request_in_a_body_equals_one_in_the_query(harness: Harness) {
        let service = &harness.service;
        let request = service.request(&[]);
        let answer = service.client.post("/oauth/authorize").body(FORM, request.clone()).send().await;
        assert_eq!(answer.has_status(303).header("location"), format!("/oauth/authorize?{request}"));
        let path = answer.header("location").to_owned();
        assert!(!code_in(&Browser::new(service).allow(&path).await).is_empty());
        // A parameter in both query and body is repeated.
        let both = service.client.post(&path).body(FORM, "client_id=demo").send().await;
        let shown = service.client.get(both.has_status(303).header("location")).send().await;
        assert!(shown.has_status(400).text().contains("client_id is given more than once"));
        let long = encode(&[("client_id", "demo"), ("state", &"x".repeat(9000))]);
        let answer = service.client.post("/oauth/authorize").body(FORM, long).send().await;
        assert!(answer.has_status(400).text().contains("The request is too long."));
    }

    async fn each_resource_is_listed_once(harness: Harness) {
        let at_the_root =
            Service::start_with(&harness.db, &harness.clock, None, |settings| settings.prefix = "").await;
        let document = at_the_root.client.get("/.well-known/oauth-authorization-server").send().await;
        assert_eq!(document.has_status(200).json()["protected_resources"], json!([at_the_root.issuer]));
    }

    async fn body_of_another_media_type_gets_invalid_request(harness: Harness) {
        let service = &harness.service;
        for path in ["/oauth/token", "/oauth/revoke", "/oauth/introspect"] {
            let json = service.client.post(path).json(&json!({"grant_type": "client_credentials"}));
            let answer = json.send().await;
            refused(path, &answer, 400, "invalid_request");
            refused(path, &service.client.post(path).send().await, 400, "invalid_request");
            let broken = service.client.post(path).body(FORM, "token=%zz").send().await;
            refused(path, &broken, 400, "invalid_request");
        }
    }
}
