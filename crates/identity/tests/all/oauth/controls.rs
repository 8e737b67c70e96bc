//! Controls over tokens: sign-in modes, lifetimes, tokens that expire at once, and keys that are rotated at once.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use identity::{Sessions, oauth::OldKeys, session::Kind};
use jiff::SignedDuration;
use serde_json::Value;
use web::{Clock, ControlState, Random, SignInMode};

use super::fixture::{Browser, Harness, Service, open, refused, text};

/// The time between two steps of a test: less than the seconds of a token's `iat`.
const MOMENT: SignedDuration = SignedDuration::from_millis(1);

fn mode(sign_in: SignInMode) -> ControlState {
    ControlState { sign_in, ..ControlState::default() }
}

async fn published(service: &Service) -> Vec<String> {
    let jwks = service.client.get("/oauth/jwks.json").send().await.has_status(200).json();
    jwks["keys"].as_array().unwrap().iter().map(|key| text(&key["kid"])).collect()
}

fn signer(token: &str) -> String {
    let header = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    text(&serde_json::from_slice::<Value>(&header).unwrap()["kid"])
}

async fn stored(harness: &Harness) -> Vec<i64> {
    let keys = harness
        .db
        .read(|tx| tx.rows("SELECT number FROM signing_key ORDER BY number", &[], |row| row.get(0)));
    keys.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
}

#[track_caller]
fn rejected(answer: &testkit::Answer, why: &str) {
    assert_eq!(answer.is_problem(401, "unauthorized"), format!("The access token {why}."));
}

testkit::on_both_engines! {
    async fn any_bearer_token_acts_as_the_demo_user_with_all_scopes(harness: Harness) {
        let service = &harness.service;
        service.accounts.add_demo("demo", "demo").await.unwrap();
        let demo = service.accounts.find("demo").await.unwrap().unwrap().to_string();
        let (own, _) = service.tokens(&[]).await;
        service.controls.set(mode(SignInMode::Any));
        for token in ["anything", "a.b.c", own.as_str()] {
            assert_eq!(service.call("/v1/both", token).await.has_status(200).text(), demo, "{token}");
        }
        service.client.get("/v1/read").send().await.has_status(401);
        service.client.get("/v1/read").header("authorization", "Basic eDp5").send().await.has_status(401);
        service.controls.set(ControlState::default());
        rejected(&service.call("/v1/read", "anything").await, "is malformed");
        assert_eq!(service.call("/v1/read", &own).await.has_status(200).text(), harness.account.to_string());
    }

    async fn operations_need_no_token_when_sign_in_is_off_and_the_authorization_server_still_works(harness: Harness) {
        let service = &harness.service;
        service.accounts.add_demo("demo", "demo").await.unwrap();
        let demo = service.accounts.find("demo").await.unwrap().unwrap().to_string();
        service.controls.set(mode(SignInMode::Off));
        assert_eq!(service.client.get("/v1/both").send().await.has_status(200).text(), demo);
        for sent in ["Bearer a.b.c", "Basic eDp5", "nothing"] {
            let answer = service.client.get("/v1/read").header("authorization", sent).send().await;
            assert_eq!(answer.has_status(200).text(), demo, "{sent}");
        }
        // Tokens are issued to the users who sign in, and to no others.
        let path = format!("/oauth/authorize?{}", service.request(&[]));
        let wrong = [("intent", "sign-in"), ("name", "ada"), ("password", "wrong")];
        Browser::new(service).refused(&path, &wrong).await.has_status(200);
        refused("unknown code", &service.redeem("unknown").await, 400, "invalid_grant");
        let (token, refresh) = service.tokens(&[]).await;
        service.refresh(&refresh).await.has_status(200);
        service.controls.set(ControlState::default());
        assert_eq!(service.call("/v1/read", &token).await.has_status(200).text(), harness.account.to_string());
    }

    async fn new_tokens_and_sessions_have_the_lifetimes_of_the_controls(harness: Harness) {
        let service = &harness.service;
        let (usual, _) = service.tokens(&[]).await;
        service.controls.set(ControlState {
            access_token_seconds: Some(30),
            refresh_token_seconds: Some(60),
            session_seconds: Some(20),
            ..ControlState::default()
        });
        let mut browser = Browser::new(service);
        let path = format!("/oauth/authorize?{}", service.request(&[]));
        browser.sign_in(&path).await.has_status(303);
        let answer = service.redeem(&service.code(&[]).await).await.has_status(200).json();
        assert_eq!(answer["expires_in"], 30);
        let (token, refresh) = (text(&answer["access_token"]), text(&answer["refresh_token"]));
        harness.clock.advance(SignedDuration::from_secs(19));
        assert!(browser.get(&path).await.text().contains("value=\"allow\""));
        harness.clock.advance(SignedDuration::from_secs(1));
        assert!(browser.get(&path).await.text().contains("value=\"sign-in\""));
        harness.clock.advance(SignedDuration::from_secs(9));
        service.call("/v1/read", &token).await.has_status(200);
        harness.clock.advance(SignedDuration::from_secs(1));
        rejected(&service.call("/v1/read", &token).await, "has expired");
        // Tokens that exist keep their lifetime.
        service.call("/v1/read", &usual).await.has_status(200);
        harness.clock.advance(SignedDuration::from_secs(29));
        let answer = service.refresh(&refresh).await.has_status(200).json();
        harness.clock.advance(SignedDuration::from_secs(60));
        refused("an expired refresh token", &service.refresh(&text(&answer["refresh_token"])).await, 400, "invalid_grant");
    }

    async fn long_lived_token_stays_valid_when_its_key_is_replaced(harness: Harness) {
        let service = &harness.service;
        service.controls.set(ControlState { access_token_seconds: Some(30 * 24 * 3600), ..ControlState::default() });
        let client = service.register("Own", &[], true).await;
        let form = [("grant_type", "client_credentials"), ("client_id", client.0.as_str()), ("client_secret", client.1.as_str())];
        harness.clock.advance(SignedDuration::from_hours(24 * 29));
        let answer = service.token(&form).await.has_status(200).json();
        assert_eq!(answer["expires_in"], 2_592_000);
        let token = text(&answer["access_token"]);
        harness.clock.advance(SignedDuration::from_hours(24 * 29));
        service.token(&form).await.has_status(200);
        harness.clock.advance(SignedDuration::from_hours(23));
        service.call("/v1/read", &token).await.has_status(200);
    }

    async fn short_lifetime_does_not_shorten_the_grant_of_older_tokens(harness: Harness) {
        let service = &harness.service;
        let client = service.register("Own", &[], true).await;
        let form = [("grant_type", "client_credentials"), ("client_id", client.0.as_str()), ("client_secret", client.1.as_str())];
        let token = text(&service.token(&form).await.has_status(200).json()["access_token"]);
        service.controls.set(ControlState { access_token_seconds: Some(1), ..ControlState::default() });
        service.token(&form).await.has_status(200);
        harness.clock.advance(SignedDuration::from_secs(10));
        // A new grant deletes expired ones.
        service.tokens(&[]).await;
        service.call("/v1/read", &token).await.has_status(200);
    }

    async fn token_is_signed_when_the_clock_is_before_all_keys(harness: Harness) {
        let service = &harness.service;
        let back = harness.clock.now() - SignedDuration::from_hours(24);
        let other = Service::start(&open(&harness.store), &Clock::manual(back), Some(&service.issuer)).await;
        let (token, _) = other.tokens(&[]).await;
        other.call("/v1/read", &token).await.has_status(200);
    }

    async fn tokens_issued_before_the_set_time_are_rejected(harness: Harness) {
        let service = &harness.service;
        let sessions = Sessions::new(true, harness.db.clone(), harness.clock.clone(), Random::system())
            .controlled_by(service.controls.clone());
        let hour = SignedDuration::from_hours(1);
        let session = sessions.start(Kind::Api, harness.account, hour).await.unwrap().secret;
        let (token, refresh) = service.tokens(&[]).await;
        let code = service.code(&[]).await;
        service.call("/v1/read", &token).await.has_status(200);
        harness.clock.advance(MOMENT);
        service.controls.set(ControlState { tokens_not_before: Some(harness.clock.now()), ..ControlState::default() });
        rejected(&service.call("/v1/read", &token).await, "has expired");
        refused("an old refresh token", &service.refresh(&refresh).await, 400, "invalid_grant");
        refused("an old code", &service.redeem(&code).await, 400, "invalid_grant");
        assert_eq!(sessions.find(Kind::Api, &session).await.unwrap(), None);
        // In the same second, new ones are valid.
        let new_session = sessions.start(Kind::Api, harness.account, hour).await.unwrap().secret;
        assert!(sessions.find(Kind::Api, &new_session).await.unwrap().is_some());
        let (new, new_refresh) = service.tokens(&[]).await;
        service.call("/v1/read", &new).await.has_status(200);
        service.refresh(&new_refresh).await.has_status(200);
        service.controls.set(ControlState::default());
        service.call("/v1/read", &token).await.has_status(200);
        assert!(sessions.find(Kind::Api, &session).await.unwrap().is_some());
    }

    async fn session_without_a_start_is_older_than_the_set_time(harness: Harness) {
        let sessions = Sessions::new(true, harness.db.clone(), harness.clock.clone(), Random::system())
            .controlled_by(harness.service.controls.clone());
        let session = sessions.start(Kind::Api, harness.account, SignedDuration::from_hours(1)).await.unwrap().secret;
        let write = harness.db.write(|tx| tx.execute("UPDATE session SET started_at = NULL", &[]));
        assert_eq!(write.await.unwrap_or_else(|error: db::Error| panic!("{error}")), 1);
        assert!(sessions.find(Kind::Api, &session).await.unwrap().is_some());
        let past = "2020-01-01T00:00:00Z".parse().unwrap();
        harness.service.controls.set(ControlState { tokens_not_before: Some(past), ..ControlState::default() });
        assert_eq!(sessions.find(Kind::Api, &session).await.unwrap(), None);
    }

    async fn rotated_key_signs_at_once_and_the_old_one_stays_published(harness: Harness) {
        let service = &harness.service;
        let other = Service::start(&open(&harness.store), &harness.clock, Some(&service.issuer)).await;
        let (old, _) = service.tokens(&[]).await;
        let first = published(service).await;
        assert_eq!(published(&other).await, first);
        service.server.rotate_keys(OldKeys::Keep).await.unwrap();
        let both = published(service).await;
        assert_eq!((both.len(), &both[0]), (2, &first[0]));
        let (new, _) = service.tokens(&[]).await;
        assert_eq!(signer(&new), both[1]);
        // Another process uses the new key once its controls are touched.
        assert_eq!(signer(&other.tokens(&[]).await.0), first[0]);
        other.controls.touch();
        assert_eq!(signer(&other.tokens(&[]).await.0), both[1]);
        for process in [service, &other] {
            process.call("/v1/read", &old).await.has_status(200);
            process.call("/v1/read", &new).await.has_status(200);
        }
        harness.clock.advance(SignedDuration::from_mins(62));
        assert_eq!(published(service).await, both[1..]);
        assert_eq!(stored(&harness).await, [2]);
    }

    async fn dropped_keys_reject_all_their_tokens(harness: Harness) {
        let service = &harness.service;
        let other = Service::start(&open(&harness.store), &harness.clock, Some(&service.issuer)).await;
        let (old, refresh) = service.tokens(&[]).await;
        for process in [service, &other] {
            process.call("/v1/read", &old).await.has_status(200);
        }
        service.server.rotate_keys(OldKeys::Drop).await.unwrap();
        other.controls.set(ControlState::default());
        assert_eq!(stored(&harness).await, [2]);
        for process in [service, &other] {
            assert_eq!(published(process).await.len(), 1);
            rejected(&process.call("/v1/read", &old).await, "is signed by an unknown key");
        }
        // Refresh tokens are not signed: clients get new access tokens with them.
        let new = service.refresh(&refresh).await.has_status(200).json();
        for process in [service, &other] {
            process.call("/v1/read", &text(&new["access_token"])).await.has_status(200);
        }
    }

    async fn rotated_key_signs_also_after_the_next_key_is_due(harness: Harness) {
        let service = &harness.service;
        assert_eq!(published(service).await.len(), 1);
        harness.clock.advance(SignedDuration::from_hours(24 * 29));
        assert_eq!(published(service).await.len(), 2);
        service.server.rotate_keys(OldKeys::Keep).await.unwrap();
        assert_eq!(stored(&harness).await, [1, 2, 3]);
        let newest = published(service).await[2].clone();
        assert_eq!(signer(&service.tokens(&[]).await.0), newest);
        harness.clock.advance(SignedDuration::from_hours(48));
        assert_eq!(signer(&service.tokens(&[]).await.0), newest);
        assert_eq!(stored(&harness).await, [3]);
    }

    async fn number_of_rotated_keys_is_bounded(harness: Harness) {
        let service = &harness.service;
        assert_eq!(published(service).await.len(), 1);
        let copies = harness.db.write(|tx| {
            for number in 2..=20_i64 {
                tx.execute(
                    "INSERT INTO signing_key (number, id, private_key, signs_from)
                     SELECT $1, id || $2, private_key, signs_from FROM signing_key WHERE number = 1",
                    &[number.into(), format!("-{number}").as_str().into()],
                )?;
            }
            Ok::<_, db::Error>(())
        });
        copies.await.unwrap();
        service.server.rotate_keys(OldKeys::Keep).await.unwrap();
        assert_eq!(stored(&harness).await, (6..=21).collect::<Vec<_>>());
        assert_eq!(published(service).await.len(), 16);
        let (token, _) = service.tokens(&[]).await;
        assert_eq!(signer(&token), published(service).await[15]);
    }
}
