//! The flows that give a token.

use jiff::SignedDuration;
use serde_json::json;

use super::fixture::{Browser, Harness, Service, text};

testkit::on_both_engines! {
    async fn code_gives_a_token_for_its_scopes(harness: Harness) {
        let service = &harness.service;
        let mut browser = Browser::new(service);
        let path = format!("/oauth/authorize?{}", service.request(&[]));
        let page = browser.get(&path).await;
        assert!(page.has_status(200).text().contains("<h1>Sign in</h1>"), "{}", page.text());
        let signed_in = browser.sign_in(&path).await;
        assert_eq!(signed_in.has_status(303).header("location"), path);
        let consent = browser.get(&path).await;
        assert!(consent.has_status(200).text().contains("<li>see your bookings</li>"), "{}", consent.text());
        assert!(!consent.text().contains("book for you"), "{}", consent.text());
        let allowed = browser.post(&path, &[("intent", "allow")]).await;
        let back = allowed.has_status(303).header("location").to_owned();
        let (start, rest) = back.split_once("?code=").unwrap();
        assert_eq!(start, "http://127.0.0.1:5999/callback");
        let (code, rest) = rest.split_once('&').unwrap();
        let issuer = service.issuer.replace(':', "%3A").replace('/', "%2F");
        assert_eq!(rest, format!("state=st%2Fate&iss={issuer}"));

        let answer = service.redeem(code).await;
        assert_eq!(answer.has_status(200).header("cache-control"), "no-store");
        let tokens = answer.json();
        assert_eq!(tokens["token_type"], "Bearer");
        assert_eq!(tokens["expires_in"], 600);
        assert_eq!(tokens["scope"], "read");
        let access = text(&tokens["access_token"]);
        let opened = service.call("/v1/read", &access).await;
        assert_eq!(opened.has_status(200).text(), harness.account.to_string());
        let refused = service.call("/v1/both", &access).await;
        refused.is_problem(403, "forbidden");
        let metadata = format!("{}/.well-known/oauth-protected-resource", service.issuer);
        assert_eq!(
            refused.header("www-authenticate"),
            format!(
                "Bearer realm=\"Test service\", resource_metadata=\"{metadata}\", error=\"insufficient_scope\", \
                 scope=\"read write\""
            )
        );
        harness.clock.advance(SignedDuration::from_mins(10));
        let late = service.call("/v1/read", &access).await;
        assert_eq!(late.is_problem(401, "unauthorized"), "The access token has expired.");
    }

    async fn reused_refresh_token_revokes_the_grant(harness: Harness) {
        let service = &harness.service;
        let (access, first) = service.tokens(&[]).await;
        let answer = service.refresh(&first).await;
        let second = text(&answer.has_status(200).json()["refresh_token"]);
        assert_ne!(first, second);
        service.call("/v1/read", &text(&answer.json()["access_token"])).await.has_status(200);
        let reused = service.refresh(&first).await;
        assert_eq!(
            reused.has_status(400).json(),
            json!({"error": "invalid_grant", "error_description": "the refresh token was used before"})
        );
        service.refresh(&second).await.has_status(400);
        harness.clock.advance(SignedDuration::from_secs(5));
        service.call("/v1/read", &access).await.is_problem(401, "unauthorized");
    }

    async fn reused_code_revokes_its_tokens(harness: Harness) {
        let service = &harness.service;
        let code = service.code(&[]).await;
        let first = service.redeem(&code).await;
        let access = text(&first.has_status(200).json()["access_token"]);
        let second = service.redeem(&code).await;
        assert_eq!(second.has_status(400).json()["error_description"], "the code was used before");
        harness.clock.advance(SignedDuration::from_secs(5));
        service.call("/v1/read", &access).await.is_problem(401, "unauthorized");
        service.refresh(&text(&first.json()["refresh_token"])).await.has_status(400);
    }

    async fn processes_on_one_database_share_codes_and_tokens(harness: Harness) {
        let service = &harness.service;
        let other = Service::start(&harness.db, &harness.clock, Some(&service.issuer)).await;
        let code = service.code(&[]).await;
        let tokens = other.redeem(&code).await;
        let access = text(&tokens.has_status(200).json()["access_token"]);
        service.call("/v1/read", &access).await.has_status(200);
        let revoked = other.post("/oauth/revoke", &[("client_id", "demo"), ("token", &access)]).await;
        revoked.has_status(200);
        harness.clock.advance(SignedDuration::from_secs(5));
        service.call("/v1/read", &access).await.is_problem(401, "unauthorized");
        other.call("/v1/read", &access).await.is_problem(401, "unauthorized");
    }
}
