//! Tokens and keys with a clock that is set back.

use identity::oauth::{OldKeys, rotate_keys};
use jiff::SignedDuration;
use web::{Clock, ClockState, Controls};

use super::fixture::{Browser, Harness, Service, open, refused};

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A process whose clock can be moved, and only that.
async fn movable(harness: &Harness) -> (Clock, Service) {
    let clock = Clock::adjustable(ClockState::default());
    let service = Service::start(&harness.db, &clock, None).await;
    (clock, service)
}

fn advance(clock: &Clock, by: SignedDuration) {
    clock.set_state(clock.state().advance(Clock::machine_time(), by).unwrap()).unwrap();
}

#[track_caller]
fn says(answer: &testkit::Answer, words: &str) {
    let challenge = answer.has_status(401).header("www-authenticate");
    assert!(challenge.contains(&format!("error_description=\"the access token {words}\"")), "{challenge}");
}

testkit::on_both_engines! {
    async fn token_that_was_issued_later_is_not_valid_yet(harness: Harness) {
        let (clock, service) = movable(&harness).await;
        let (token, refresh) = service.tokens(&[]).await;
        let (unused, _) = service.tokens(&[]).await;
        service.call("/v1/read", &token).await.has_status(200);
        advance(&clock, -DAY);
        // Whether or not the service has seen it before.
        says(&service.call("/v1/read", &token).await, "is not valid yet");
        says(&service.call("/v1/read", &unused).await, "is not valid yet");
        // New ones are valid, also by a refresh token, which says no time.
        let (new, _) = service.tokens(&[]).await;
        service.call("/v1/read", &new).await.has_status(200);
        let renewed = service.refresh(&refresh).await.has_status(200).json();
        service.call("/v1/read", renewed["access_token"].as_str().unwrap()).await.has_status(200);
        advance(&clock, DAY);
        service.call("/v1/read", &unused).await.has_status(200);
        says(&service.call("/v1/read", &new).await, "has expired");
    }

    async fn revocation_by_another_process_is_seen_after_the_clock_was_set_back(harness: Harness) {
        let service = &harness.service;
        let another = Service::start(&open(&harness.store), &harness.clock, Some(&service.issuer)).await;
        let (token, _) = service.tokens(&[]).await;
        service.call("/v1/read", &token).await.has_status(200);
        another.post("/oauth/revoke", &[("client_id", "demo"), ("token", &token)]).await.has_status(200);
        service.call("/v1/read", &token).await.has_status(200);
        harness.clock.advance(SignedDuration::from_secs(-30));
        says(&service.call("/v1/read", &token).await, "was revoked");
    }

    async fn key_of_another_process_is_found_after_the_clock_was_set_back(harness: Harness) {
        let (clock, service) = movable(&harness).await;
        let (token, _) = service.tokens(&[]).await;
        service.call("/v1/read", &token).await.has_status(200);
        advance(&clock, -DAY);
        // The process has no controls that would say it.
        let (db, controls) = (open(&harness.store), Controls::default());
        rotate_keys(db, clock.clone(), controls, OldKeys::Keep).await.unwrap();
        let another = Service::start(&open(&harness.store), &clock, Some(&service.issuer)).await;
        let (token, _) = another.tokens(&[]).await;
        service.call("/v1/read", &token).await.has_status(200);
    }

    async fn password_is_accepted_after_the_clock_was_set_back(harness: Harness) {
        let (clock, service) = movable(&harness).await;
        let path = format!("/oauth/authorize?{}", service.request(&[]));
        for back in [SignedDuration::ZERO, SignedDuration::from_mins(10), DAY] {
            advance(&clock, -back);
            let mut browser = Browser::new(&service);
            browser.refused(&path, &[("intent", "sign-in"), ("name", "ada"), ("password", "wrong")]).await;
            let answer = browser.allow(&path).await;
            assert!(answer.has_status(303).header("location").contains("code="), "{back}");
        }
    }

    async fn code_that_was_issued_later_is_redeemed_once(harness: Harness) {
        let (clock, service) = movable(&harness).await;
        let code = service.code(&[]).await;
        advance(&clock, -DAY);
        service.redeem(&code).await.has_status(200);
        refused("again", &service.redeem(&code).await, 400, "invalid_grant");
    }
}
