//! Token requests that are rejected, and whether a rejected request uses its code or refresh token.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use jiff::SignedDuration;
use testkit::Answer;

use super::fixture::{APP, CALLBACK, Harness, Pairs, Service, VERIFIER, encode, refused, text};

const FORM: &str = "application/x-www-form-urlencoded";

/// A valid token request with these changes; an empty value removes a parameter.
async fn redeem(service: &Service, code: &str, changes: &[(&str, &str)]) -> Answer {
    let good = [
        ("grant_type", "authorization_code"),
        ("client_id", "demo"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    let kept = good.into_iter().filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    let form: Vec<_> = kept.chain(changes.iter().copied().filter(|(_, value)| !value.is_empty())).collect();
    service.token(&form).await
}

async fn as_client(service: &Service, authorization: &[&str], form: &[(&str, &str)]) -> Answer {
    let call = service.client.post("/oauth/token").body(FORM, encode(form));
    authorization.iter().fold(call, |call, value| call.header("authorization", value)).send().await
}

fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{id}:{secret}")))
}

testkit::on_both_engines! {
    async fn invalid_token_request_does_not_use_the_code(harness: Harness) {
        let service = &harness.service;
        let code = service.code(&[]).await;
        let other = format!("{}/v1", service.issuer);
        let cases: &[(&str, u16, &str, Pairs<'_>)] = &[
            ("no grant type", 400, "invalid_request", &[("grant_type", "")]),
            ("an unknown grant type", 400, "unsupported_grant_type", &[("grant_type", "magic")]),
            ("the password grant", 400, "unsupported_grant_type", &[("grant_type", "password")]),
            ("the implicit grant", 400, "unsupported_grant_type", &[("grant_type", "implicit")]),
            (
                "a grant type in capitals", 400, "unsupported_grant_type",
                &[("grant_type", "Authorization_Code")],
            ),
            ("no code", 400, "invalid_request", &[("code", "")]),
            ("no address", 400, "invalid_request", &[("redirect_uri", "")]),
            ("no verifier", 400, "invalid_request", &[("code_verifier", "")]),
            ("no client", 401, "invalid_client", &[("client_id", "")]),
            ("an unknown client", 401, "invalid_client", &[("client_id", "unknown")]),
            ("a secret of a client without", 401, "invalid_client", &[("client_secret", "x")]),
            ("an unknown code", 400, "invalid_grant", &[("code", "x")]),
            (
                "two grant types", 400, "invalid_request",
                &[("grant_type", "password"), ("grant_type", "password")],
            ),
            ("two clients", 400, "invalid_request", &[("client_id", "demo"), ("client_id", "demo")]),
            ("two codes", 400, "invalid_request", &[("code", "a"), ("code", "b")]),
            (
                "two addresses", 400, "invalid_request",
                &[("redirect_uri", CALLBACK), ("redirect_uri", CALLBACK)],
            ),
            ("two verifiers", 400, "invalid_request", &[("code_verifier", VERIFIER), ("code_verifier", "x")]),
            ("two secrets", 400, "invalid_request", &[("client_secret", "a"), ("client_secret", "b")]),
            ("another resource", 400, "invalid_target", &[("resource", &other)]),
            ("a foreign resource", 400, "invalid_target", &[("resource", "https://other.example")]),
            ("a refresh without its token", 400, "invalid_request", &[("grant_type", "refresh_token")]),
            (
                "a public client for itself", 400, "unauthorized_client",
                &[("grant_type", "client_credentials")],
            ),
        ];
        for (what, status, error, changes) in cases {
            refused(what, &redeem(service, &code, changes).await, *status, error);
        }
        let json = service.client.post("/oauth/token").json(&serde_json::json!({"grant_type": "password"}));
        refused("JSON", &json.send().await, 400, "invalid_request");
        let nothing = service.client.post("/oauth/token").send().await;
        refused("nothing", &nothing, 400, "invalid_request");
        for broken in ["grant_type=%", "grant_type=%zz", "grant_type=%ff"] {
            let answer = service.client.post("/oauth/token").body(FORM, broken).send().await;
            refused(broken, &answer, 400, "invalid_request");
        }
        service.client.get("/oauth/token").send().await.is_problem(405, "method-not-allowed");
        let issuer = service.issuer.clone();
        let changes = [("resource", issuer.as_str()), ("audience", "x"), ("audience", "y")];
        redeem(service, &code, &changes).await.has_status(200);
    }

    async fn failed_redemption_uses_the_code_only_for_its_own_client(harness: Harness) {
        let service = &harness.service;
        let (app, _) = service.register("App", &["read"], false).await;
        let (short, long) = (VERIFIER[..42].to_owned(), VERIFIER.repeat(3));
        let cases: &[(&str, Pairs<'_>)] = &[
            ("a wrong verifier", &[("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl")]),
            ("a verifier that is too short", &[("code_verifier", &short)]),
            ("a verifier that is too long", &[("code_verifier", &long)]),
            ("the challenge for a verifier", &[("code_verifier", &crate::oauth::fixture::challenge(VERIFIER))]),
            ("another port", &[("redirect_uri", "http://127.0.0.1:6000/callback")]),
            ("another registered address", &[("redirect_uri", "http://localhost:5999/callback")]),
        ];
        for (what, changes) in cases {
            let code = service.code(&[]).await;
            refused(what, &redeem(service, &code, changes).await, 400, "invalid_grant");
            let again = redeem(service, &code, &[]).await;
            refused(what, &again, 400, "invalid_grant");
            assert_eq!(again.json()["error_description"], "the code was used before", "{what}");
        }
        let code = service.code(&[]).await;
        let others = redeem(service, &code, &[("client_id", &app)]).await;
        refused("another's code", &others, 400, "invalid_grant");
        let answer = redeem(service, &code, &[]).await;
        service.call("/v1/read", &text(&answer.has_status(200).json()["access_token"])).await.has_status(200);

        let late = service.code(&[]).await;
        harness.clock.advance(SignedDuration::from_secs(60));
        refused("a code after a minute", &redeem(service, &late, &[]).await, 400, "invalid_grant");
        let timely = service.code(&[]).await;
        harness.clock.advance(SignedDuration::from_secs(59));
        redeem(service, &timely, &[]).await.has_status(200);
    }

    async fn refresh_token_of_another_client_scope_or_time_is_rejected(harness: Harness) {
        let service = &harness.service;
        let (app, _) = service.register("App", &["read"], false).await;
        let (_, first) = service.tokens(&[("scope", "read write")]).await;
        let refresh = async |changes: &[(&str, &str)]| {
            let mut form = vec![("grant_type", "refresh_token")];
            form.extend_from_slice(changes);
            service.token(&form).await
        };
        let demo = ("client_id", "demo");
        let foreign = ("resource", "https://other.example");
        let cases: &[(&str, u16, &str, Pairs<'_>)] = &[
            ("an unknown one", 400, "invalid_grant", &[demo, ("refresh_token", "x")]),
            ("another's", 400, "invalid_grant", &[("client_id", &app), ("refresh_token", &first)]),
            ("an unknown scope", 400, "invalid_scope", &[demo, ("refresh_token", &first), ("scope", "fly")]),
            ("two", 400, "invalid_request", &[demo, ("refresh_token", &first), ("refresh_token", &first)]),
            ("two scopes", 400, "invalid_request",
                &[demo, ("refresh_token", &first), ("scope", "read"), ("scope", "read")]),
            ("a foreign resource", 400, "invalid_target", &[demo, ("refresh_token", &first), foreign]),
        ];
        for (what, status, error, form) in cases {
            refused(what, &refresh(form).await, *status, error);
        }
        let narrow = refresh(&[demo, ("refresh_token", &first), ("scope", "read")]).await;
        let narrow = narrow.has_status(200).json();
        assert_eq!(narrow["scope"], "read");
        service.call("/v1/both", &text(&narrow["access_token"])).await.is_problem(403, "forbidden");
        // The scope of the grant is unchanged.
        let wide = refresh(&[demo, ("refresh_token", &text(&narrow["refresh_token"]))]).await;
        assert_eq!(wide.has_status(200).json()["scope"], "read write");

        let (_, reader) = service.tokens(&[]).await;
        let wider = refresh(&[demo, ("refresh_token", &reader), ("scope", "read write")]).await;
        refused("more than was granted", &wider, 400, "invalid_scope");
        let next = text(&service.refresh(&reader).await.has_status(200).json()["refresh_token"]);
        refused("a used one", &service.refresh(&reader).await, 400, "invalid_grant");
        refused("the one after it", &service.refresh(&next).await, 400, "invalid_grant");

        let (_, timely) = service.tokens(&[]).await;
        let (_, late) = service.tokens(&[]).await;
        harness.clock.advance(SignedDuration::from_hours(24 * 30) - SignedDuration::from_secs(1));
        service.refresh(&timely).await.has_status(200);
        harness.clock.advance(SignedDuration::from_secs(1));
        refused("one of thirty days ago", &service.refresh(&late).await, 400, "invalid_grant");
    }

    async fn refreshed_grant_expires(harness: Harness) {
        let service = &harness.service;
        let (_, mut token) = service.tokens(&[]).await;
        for _ in 0..8 {
            harness.clock.advance(SignedDuration::from_hours(24 * 20));
            token = text(&service.refresh(&token).await.has_status(200).json()["refresh_token"]);
        }
        harness.clock.advance(SignedDuration::from_hours(24 * 20) - SignedDuration::from_secs(1));
        token = text(&service.refresh(&token).await.has_status(200).json()["refresh_token"]);
        harness.clock.advance(SignedDuration::from_secs(1));
        refused("after 180 days", &service.refresh(&token).await, 400, "invalid_grant");
    }

    async fn grant_of_an_unredeemed_code_expires_with_it(harness: Harness) {
        let service = &harness.service;
        let grants = async || {
            let count = harness.db.read(|tx| tx.row("SELECT count(*) FROM oauth_grant", &[], |row| row.get(0)));
            count.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap_or(0_i64)
        };
        let unused = service.code(&[]).await;
        let wrongly_used = service.code(&[]).await;
        let (_, refresh) = service.tokens(&[]).await;
        let verifier = "x".repeat(43);
        let wrong = [
            ("grant_type", "authorization_code"),
            ("client_id", "demo"),
            ("code", &wrongly_used),
            ("redirect_uri", CALLBACK),
            ("code_verifier", &verifier),
        ];
        refused("a wrong verifier", &service.token(&wrong).await, 400, "invalid_grant");
        assert_eq!(grants().await, 3);
        harness.clock.advance(SignedDuration::from_secs(59));
        let timely = service.code(&[]).await;
        assert_eq!(grants().await, 4);
        harness.clock.advance(SignedDuration::from_secs(1));
        // The next one clears them away.
        service.code(&[]).await;
        assert_eq!(grants().await, 3);
        refused("an old code", &service.redeem(&unused).await, 400, "invalid_grant");
        service.redeem(&timely).await.has_status(200);
        harness.clock.advance(SignedDuration::from_hours(24));
        service.refresh(&refresh).await.has_status(200);
    }
}

testkit::on_one_engine! {
    async fn client_must_authenticate_by_one_method(harness: Harness) {
        let service = &harness.service;
        let (id, secret) = service.register("Confidential", &["read"], true).await;
        let (right, wrong) = (basic(&id, &secret), basic(&id, "wrong"));
        let unknown = basic("unknown", &secret);
        let plain = ("grant_type", "client_credentials");
        let no_colon = format!("Basic {}", BASE64_STANDARD.encode("nocolon"));
        let not_utf8 = format!("Basic {}", BASE64_STANDARD.encode([0xff, b':', 0xfe]));
        let broken = basic("%zz", "x");
        let public = basic("demo", "");
        let cases: &[(&str, u16, &str, &[&str], Pairs<'_>)] = &[
            ("no secret", 401, "invalid_client", &[], &[plain, ("client_id", &id)]),
            (
                "an empty secret", 401, "invalid_client", &[],
                &[plain, ("client_id", &id), ("client_secret", "")],
            ),
            (
                "a wrong secret", 401, "invalid_client", &[],
                &[plain, ("client_id", &id), ("client_secret", "x")],
            ),
            ("a wrong secret by Basic", 401, "invalid_client", &[&wrong], &[plain]),
            ("an unknown client by Basic", 401, "invalid_client", &[&unknown], &[plain]),
            ("a public client by Basic", 400, "unauthorized_client", &[&public], &[plain]),
            ("two ways", 400, "invalid_request", &[&right], &[plain, ("client_secret", &secret)]),
            ("two clients", 400, "invalid_request", &[&right], &[plain, ("client_id", "demo")]),
            ("two headers", 401, "invalid_client", &[&right, &right], &[plain]),
            ("no Base64", 401, "invalid_client", &["Basic ***"], &[plain]),
            ("no colon", 401, "invalid_client", &[&no_colon], &[plain]),
            ("no UTF-8", 401, "invalid_client", &[&not_utf8], &[plain]),
            ("a broken percent code", 401, "invalid_client", &[&broken], &[plain]),
            ("no value", 401, "invalid_client", &["Basic"], &[plain]),
            ("another scheme", 401, "invalid_client", &["Bearer x"], &[plain, ("client_id", "demo")]),
            ("an unknown scope", 400, "invalid_scope", &[&right], &[plain, ("scope", "fly")]),
            ("a scope it may not have", 400, "invalid_scope", &[&right], &[plain, ("scope", "write")]),
            (
                "a foreign resource", 400, "invalid_target", &[&right],
                &[plain, ("resource", "https://x.example")],
            ),
        ];
        for (what, status, error, authorization, form) in cases {
            refused(what, &as_client(service, authorization, form).await, *status, error);
        }
        for (authorization, form) in [
            (vec![right.as_str()], vec![plain]),
            (vec![right.as_str()], vec![plain, ("client_id", id.as_str())]),
            (vec![], vec![plain, ("client_id", id.as_str()), ("client_secret", secret.as_str())]),
        ] {
            let answer = as_client(service, &authorization, &form).await;
            let token = answer.has_status(200).json();
            assert_eq!(token["scope"], "read");
            assert_eq!(token.get("refresh_token"), None, "{token}");
            let opened = service.call("/v1/read", &text(&token["access_token"])).await;
            assert_eq!(opened.has_status(200).text(), id);
        }
        let code = service.code(&[("client_id", &id), ("redirect_uri", APP)]).await;
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", &id),
            ("code", &code),
            ("redirect_uri", APP),
            ("code_verifier", VERIFIER),
        ];
        refused("a code without the secret", &service.token(&form).await, 401, "invalid_client");
        as_client(service, &[&right], &form).await.has_status(200);
    }
}
