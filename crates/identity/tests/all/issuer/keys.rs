//! When the keys of an issuer are fetched, and which are used while the issuer does not answer.

use futures_util::future::join_all;
use serde_json::json;

use super::{
    fixture::{Asked, Issuer, Mood, Service},
    signer::{CURVE, FIRST, SECOND},
};

const UNKNOWN: &str = "is signed by an unknown key";

#[tokio::test]
async fn unknown_key_is_fetched_at_most_once_a_minute() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    assert_eq!(issuer.asked(), Asked { description: 1, keys: 1, elsewhere: 0 });
    let many = || join_all((0..100).map(|_| service.refuses(service.token(&SECOND, "RS256"), UNKNOWN)));
    many().await;
    assert_eq!(issuer.asked().keys, 1);
    service.advance(59);
    many().await;
    assert_eq!(issuer.asked().keys, 1);
    service.advance(1);
    many().await;
    assert_eq!(issuer.asked().keys, 2);
    service.advance(60);
    many().await;
    assert_eq!(issuer.asked(), Asked { description: 1, keys: 3, elsewhere: 0 });
}

#[tokio::test]
async fn new_key_is_used_by_all_waiting_requests() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    service.advance(60);
    issuer.shows(&[FIRST.jwk(), SECOND.jwk()]);
    join_all((0..100).map(|_| service.accepts(service.token(&SECOND, "RS256")))).await;
    assert_eq!(issuer.asked().keys, 2);
}

#[tokio::test]
async fn disconnected_client_does_not_cancel_the_fetch() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    service.advance(60);
    issuer.shows(&[FIRST.jwk(), SECOND.jwk()]);
    issuer.is(Mood::Holding);
    let token = service.token(&SECOND, "RS256");
    tokio::select! {
        answer = service.verifier.check(&token) => panic!("{answer:?} before the issuer answered"),
        () = issuer.was_asked_for_keys(2) => {}
    }
    issuer.is(Mood::Well);
    service.accepts(token).await;
    assert_eq!(issuer.asked().keys, 2);
}

#[tokio::test]
async fn removed_key_is_rejected_after_the_next_fetch() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    let token = service.token(&FIRST, "RS256");
    service.accepts(token.clone()).await;
    issuer.shows(&[CURVE.jwk()]);
    service.advance(59);
    service.accepts(token.clone()).await;
    service.advance(1);
    // Something makes the service look.
    service.refuses(service.token(&SECOND, "RS256"), UNKNOWN).await;
    service.refuses(token, UNKNOWN).await;
    service.accepts(service.token(&CURVE, "ES256")).await;
    issuer.shows(&[]);
    service.advance(60);
    service.refuses(service.token(&SECOND, "RS256"), UNKNOWN).await;
    service.refuses(service.token(&CURVE, "ES256"), UNKNOWN).await;
}

#[tokio::test]
async fn keys_are_kept_while_the_issuer_is_unreachable() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    issuer.is(Mood::Failing);
    for asked in 2..5 {
        service.advance(3600);
        service.accepts(service.token(&FIRST, "RS256")).await;
        // Waits for the answer, so that each hour's question is counted in its hour.
        service.refuses(service.token(&SECOND, "RS256"), UNKNOWN).await;
        service.accepts(service.token(&CURVE, "ES256")).await;
        // After the first failure it is the description that is asked for.
        assert_eq!(issuer.asked().keys, 2, "in round {asked}");
    }
    // Both of its addresses, each time.
    assert_eq!(issuer.asked().description, 1 + 2 * 2);
    issuer.is(Mood::Well);
    issuer.shows(&[SECOND.jwk()]);
    service.advance(60);
    service.accepts(service.token(&SECOND, "RS256")).await;
    service.refuses(service.token(&FIRST, "RS256"), UNKNOWN).await;
}

#[tokio::test]
async fn unreadable_key_set_replaces_nothing() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    for body in ["", "<html>", "[]", "{}", r#"{"keys": {}}"#] {
        issuer.answers_with_keys(body.into());
        service.advance(60);
        let before = issuer.asked().keys;
        service.refuses(service.token(&SECOND, "RS256"), UNKNOWN).await;
        assert_eq!(issuer.asked().keys, before + 1, "{body}");
        service.accepts(service.token(&FIRST, "RS256")).await;
    }
}

#[tokio::test]
async fn keys_are_fetched_hourly_in_the_background() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    service.advance(3599);
    service.accepts(service.token(&FIRST, "RS256")).await;
    assert_eq!(issuer.asked().keys, 1);
    service.advance(1);
    issuer.is(Mood::Holding);
    issuer.shows(&[FIRST.jwk(), SECOND.jwk()]);
    // Each of these is another token, none of them remembered, and no answer is to be had.
    for id in ["2", "3", "4"] {
        let claims = service.claims(&json!({ "jti": id }));
        service.accepts(FIRST.sign(&service.header(&FIRST, "RS256"), &claims)).await;
    }
    issuer.was_asked_for_keys(2).await;
    issuer.is(Mood::Well);
    // This one waits for the answer under way, and does not ask again.
    service.accepts(service.token(&SECOND, "RS256")).await;
    assert_eq!(issuer.asked().keys, 2);
}

#[tokio::test]
async fn unreachable_issuer_is_retried_from_the_start() {
    let issuer = Issuer::start().await;
    issuer.is(Mood::Failing);
    let service = Service::start(issuer.settings()).await;
    let unavailable = async |seconds: &str| {
        let answer = service.call(&service.token(&FIRST, "RS256")).await;
        answer.is_problem(503, "unavailable");
        assert_eq!(answer.header("retry-after"), seconds);
    };
    unavailable("5").await;
    service.advance(3);
    unavailable("2").await;
    assert_eq!(issuer.asked(), Asked { description: 2, keys: 0, elsewhere: 0 });
    issuer.is(Mood::Well);
    unavailable("2").await;
    service.advance(2);
    join_all((0..100).map(|_| service.accepts(service.token(&FIRST, "RS256")))).await;
    assert_eq!(issuer.asked(), Asked { description: 3, keys: 1, elsewhere: 0 });
    // Without a token the answer never depended on the issuer.
    service.refuses("x".into(), "is malformed").await;
}
