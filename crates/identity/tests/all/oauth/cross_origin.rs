//! What programs in a browser may call from other origins, and the public metadata of the server.

use http::Method;
use serde_json::json;

use super::fixture::{Harness, Service};

const ORIGIN: &str = "https://app.example.com";

async fn preflight(service: &Service, path: &str, method: &str) -> testkit::Answer {
    let call = service.client.call(Method::OPTIONS, path).header("origin", ORIGIN);
    let call = call.header("access-control-request-method", method);
    call.header("access-control-request-headers", "authorization,content-type").send().await
}

testkit::on_one_engine! {
    async fn token_endpoints_allow_other_origins(harness: Harness) {
        let service = &harness.service;
        for (method, path) in [
            ("POST", "/oauth/token"),
            ("POST", "/oauth/revoke"),
            ("POST", "/oauth/register"),
            ("GET", "/oauth/jwks.json"),
            ("GET", "/.well-known/oauth-authorization-server"),
            ("GET", "/.well-known/oauth-protected-resource"),
            ("GET", "/.well-known/oauth-protected-resource/v1"),
        ] {
            let asked = preflight(service, path, method).await;
            assert_eq!(asked.has_status(200).header("access-control-allow-origin"), "*", "{path}");
            assert_eq!(asked.header("access-control-allow-methods"), "GET,POST", "{path}");
            assert_eq!(asked.header("access-control-allow-headers"), "authorization,content-type", "{path}");
            assert_eq!(asked.header("access-control-allow-credentials"), "", "{path}");
            // Other origins can also read errors.
            let call = service.client.call(method.parse().unwrap(), path).header("origin", ORIGIN);
            let answer = call.send().await;
            assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
            assert_eq!(answer.header("access-control-allow-credentials"), "", "{path}");
        }
    }

    async fn pages_and_introspection_allow_no_other_origin(harness: Harness) {
        let service = &harness.service;
        let authorize = format!("/oauth/authorize?{}", service.request(&[]));
        for (method, path) in [
            ("GET", authorize.as_str()),
            ("POST", authorize.as_str()),
            ("GET", "/oauth/authorize"),
            ("GET", "/oauth/sign-up"),
            ("POST", "/oauth/sign-up"),
            ("GET", "/oauth/sign-out"),
            ("POST", "/oauth/sign-out"),
            ("POST", "/oauth/introspect"),
        ] {
            let asked = preflight(service, path, method).await;
            asked.is_problem(405, "method-not-allowed");
            let call = service.client.call(method.parse().unwrap(), path).header("origin", ORIGIN);
            for answer in [asked, call.send().await] {
                let cors = answer.headers.keys().find(|name| name.as_str().starts_with("access-control-"));
                assert_eq!(cors, None, "{method} {path}");
            }
        }
    }

    async fn metadata_lists_all_endpoints(harness: Harness) {
        let service = &harness.service;
        let issuer = &service.issuer;
        let secret = ["client_secret_basic", "client_secret_post"];
        let any = ["none", secret[0], secret[1]];
        let expected = |registers: bool, issuer: &str| {
            let mut document = json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/oauth/authorize"),
                "token_endpoint": format!("{issuer}/oauth/token"),
                "jwks_uri": format!("{issuer}/oauth/jwks.json"),
                "revocation_endpoint": format!("{issuer}/oauth/revoke"),
                "introspection_endpoint": format!("{issuer}/oauth/introspect"),
                "scopes_supported": ["read", "write"],
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": any,
                "revocation_endpoint_auth_methods_supported": any,
                "introspection_endpoint_auth_methods_supported": secret,
                "authorization_response_iss_parameter_supported": true,
                "protected_resources": [issuer, format!("{issuer}/v1")],
            });
            if registers {
                document["registration_endpoint"] = format!("{issuer}/oauth/register").into();
            }
            document
        };
        let path = "/.well-known/oauth-authorization-server";
        let answer = service.client.get(path).send().await;
        answer.is(200, &expected(true, issuer));
        assert_eq!(answer.header("cache-control"), "public, max-age=3600");
        let strict = Service::start_with(&harness.db, &harness.clock, None, |settings| settings.demo = false);
        let strict = strict.await;
        strict.client.get(path).send().await.is(200, &expected(false, &strict.issuer));
        let asks = Service::start_with(&harness.db, &harness.clock, None, |settings| {
            settings.demo = false;
            settings.registration_token = Some("initial".into());
        });
        let asks = asks.await;
        asks.client.get(path).send().await.is(200, &expected(true, &asks.issuer));
    }

    async fn resource_metadata_names_the_authorization_server(harness: Harness) {
        let service = &harness.service;
        let issuer = &service.issuer;
        for path in ["", "/v1"] {
            let document = format!("/.well-known/oauth-protected-resource{path}");
            let answer = service.client.get(&document).send().await;
            let expected = json!({
                "resource": format!("{issuer}{path}"),
                "resource_name": "Test service",
                "authorization_servers": [issuer],
                "scopes_supported": ["read", "write"],
                "bearer_methods_supported": ["header"],
                "resource_documentation": format!("{issuer}/docs"),
            });
            answer.is(200, &expected);
            assert_eq!(answer.header("cache-control"), "public, max-age=3600");
        }
        let other = service.client.get("/.well-known/oauth-protected-resource/v2").send().await;
        other.is_problem(404, "not-found");
    }
}
