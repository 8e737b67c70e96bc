//! Concurrent requests that redeem one code or one refresh token.

use jiff::SignedDuration;
use testkit::Answer;
use tokio::task::JoinSet;

use super::fixture::{CALLBACK, Harness, Service, VERIFIER, encode, open, text};

/// Sends one token request a hundred times at once, spread over these processes.
async fn hundredfold(services: &[&Service], form: &[(&str, &str)]) -> Vec<Answer> {
    let body = encode(form);
    let mut running = JoinSet::new();
    for number in 0..100 {
        let client = services[number % services.len()].client.clone();
        let call = client.post("/oauth/token").body("application/x-www-form-urlencoded", body.clone());
        running.spawn(call.send());
    }
    running.join_all().await
}

/// Exactly one request got tokens, and these are revoked by now.
async fn one_won_and_all_lost(harness: &Harness, services: &[&Service], answers: &[Answer]) {
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!((won.len(), lost.len()), (1, 99));
    for answer in lost {
        assert_eq!(answer.has_status(400).json()["error"], "invalid_grant", "{}", answer.text());
    }
    let tokens = won[0].json();
    harness.clock.advance(SignedDuration::from_secs(5));
    for service in services {
        let call = service.call("/v1/read", &text(&tokens["access_token"])).await;
        assert_eq!(call.is_problem(401, "unauthorized"), "The access token was revoked.");
        let refreshed = service.refresh(&text(&tokens["refresh_token"])).await;
        assert_eq!(refreshed.has_status(400).json()["error"], "invalid_grant");
    }
    let tokens = harness
        .db
        .read(|tx| tx.rows("SELECT used_at IS NULL FROM oauth_refresh_token", &[], |row| row.get::<bool>(0)));
    let unused = tokens.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
    assert_eq!(unused.iter().filter(|unused| **unused).count(), 1, "one was made, and none since");
}

async fn redeem_code(harness: &Harness, services: &[&Service]) {
    let code = services[0].code(&[]).await;
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", "demo"),
        ("code", code.as_str()),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    let answers = hundredfold(services, &form).await;
    one_won_and_all_lost(harness, services, &answers).await;
}

async fn redeem_refresh_token(harness: &Harness, services: &[&Service]) {
    let (_, token) = services[0].tokens(&[]).await;
    let form = [("grant_type", "refresh_token"), ("client_id", "demo"), ("refresh_token", token.as_str())];
    let answers = hundredfold(services, &form).await;
    one_won_and_all_lost(harness, services, &answers).await;
}

/// Another process: its own connections, its own memory.
async fn another(harness: &Harness) -> Service {
    Service::start(&open(&harness.store), &harness.clock, Some(&harness.service.issuer)).await
}

testkit::on_both_engines! {
    async fn one_of_a_hundred_concurrent_requests_redeems_a_code(harness: Harness) {
        redeem_code(&harness, &[&harness.service]).await;
    }

    async fn one_of_a_hundred_requests_to_two_processes_redeems_a_code(harness: Harness) {
        redeem_code(&harness, &[&harness.service, &another(&harness).await]).await;
    }

    async fn one_of_a_hundred_concurrent_requests_redeems_a_refresh_token(harness: Harness) {
        redeem_refresh_token(&harness, &[&harness.service]).await;
    }

    async fn one_of_a_hundred_requests_to_two_processes_redeems_a_refresh_token(harness: Harness) {
        redeem_refresh_token(&harness, &[&harness.service, &another(&harness).await]).await;
    }
}
