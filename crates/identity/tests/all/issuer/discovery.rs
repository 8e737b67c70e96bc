//! Requests to an issuer for its metadata and keys, and which answers are rejected.

use identity::oauth::{ExternalIssuer, IssuerError, Verifier};
use serde_json::json;
use testkit::Address;
use web::Clock;

use super::{
    fixture::{Asked, Issuer, Mood, Service},
    signer::FIRST,
};

async fn has_no_keys(service: &Service) {
    service.call(&service.token(&FIRST, "RS256")).await.is_problem(503, "unavailable");
}

#[tokio::test]
async fn metadata_of_an_issuer_with_a_path_is_found_before_or_after_the_path() {
    let issuer = Issuer::start_at("/realms/rail").await;
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    assert_eq!(issuer.asked(), Asked { description: 1, keys: 1, elsewhere: 0 });

    let issuer = Issuer::start_at("/realms/rail").await;
    issuer.is_described_at("/realms/rail/.well-known/openid-configuration");
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    assert_eq!(issuer.asked(), Asked { description: 2, keys: 1, elsewhere: 0 });
}

#[tokio::test]
async fn keys_are_not_fetched_if_metadata_names_another_issuer() {
    for changes in [
        json!({"issuer": "https://other.example"}),
        json!({"issuer": null}),
        json!({"issuer": 1}),
        json!({"jwks_uri": null}),
        json!({"jwks_uri": "/keys"}),
    ] {
        let issuer = Issuer::start().await;
        issuer.says(&changes);
        let service = Service::start(issuer.settings()).await;
        has_no_keys(&service).await;
        assert_eq!(issuer.asked(), Asked { description: 1, keys: 0, elsewhere: 0 }, "{changes}");
    }
    // A slash makes another issuer, even where the addresses are the same.
    let issuer = Issuer::start().await;
    let settings = ExternalIssuer { url: format!("{}/", issuer.url), ..issuer.settings() };
    has_no_keys(&Service::start(settings).await).await;
    assert_eq!(issuer.asked(), Asked { description: 1, keys: 0, elsewhere: 0 });
}

#[tokio::test]
async fn keys_are_not_fetched_over_http_from_another_machine() {
    let issuer = Issuer::start().await;
    // This address leads back to the issuer, and does not say so: were it asked, it would answer.
    let address = issuer.url.replace("127.0.0.1", "0.0.0.0");
    issuer.says(&json!({"jwks_uri": format!("{address}/keys")}));
    let service = Service::start(issuer.settings()).await;
    has_no_keys(&service).await;
    assert_eq!(issuer.asked(), Asked { description: 1, keys: 0, elsewhere: 0 });
    issuer.says(&json!({"jwks_uri": format!("{}/keys", issuer.url)}));
    service.advance(5);
    service.accepts(service.token(&FIRST, "RS256")).await;
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let issuer = Issuer::start().await;
    issuer.is(Mood::Redirecting);
    let service = Service::start(issuer.settings()).await;
    has_no_keys(&service).await;
    assert_eq!(issuer.asked(), Asked { description: 2, keys: 0, elsewhere: 0 });

    let issuer = Issuer::start().await;
    issuer.is(Mood::Holding);
    let service = Service::start(issuer.settings()).await;
    issuer.was_asked_for_keys(1).await;
    issuer.is(Mood::Redirecting);
    has_no_keys(&service).await;
    assert_eq!(issuer.asked(), Asked { description: 1, keys: 1, elsewhere: 0 });
}

#[tokio::test]
async fn too_large_key_set_is_not_read() {
    let issuer = Issuer::start().await;
    let keys = json!({"keys": [FIRST.jwk()]}).to_string();
    let padded = |length: usize| format!("{keys}{}", " ".repeat(length - keys.len()));
    issuer.answers_with_keys(padded(256 * 1024 + 1));
    let service = Service::start(issuer.settings()).await;
    has_no_keys(&service).await;
    issuer.answers_with_keys(padded(256 * 1024));
    service.advance(5);
    service.accepts(service.token(&FIRST, "RS256")).await;
}

#[tokio::test]
async fn unreachable_issuer_gets_503() {
    let address = Address::free().await;
    let url = address.url();
    drop(address);
    let settings = ExternalIssuer { url, ..Issuer::start().await.settings() };
    has_no_keys(&Service::start(settings).await).await;
}

#[tokio::test]
async fn invalid_settings_are_rejected_at_the_start() {
    let good = Issuer::start().await.settings();
    let open = |change: fn(&mut ExternalIssuer)| {
        let mut settings = good.clone();
        change(&mut settings);
        Verifier::external(settings, Clock::system()).map(drop)
    };
    assert!(open(|_| {}).is_ok());
    assert!(open(|settings| settings.url = "https://id.example/tenant".into()).is_ok());
    for change in [
        (|settings| settings.url = "http://id.example".into()) as fn(&mut ExternalIssuer),
        |settings| settings.url = "id.example".into(),
        |settings| settings.url = "https://id.example/?tenant=1".into(),
        |settings| settings.url = "https://id.example/#tenant".into(),
        |settings| settings.url = "https://ada@id.example/".into(),
    ] {
        assert!(matches!(open(change), Err(IssuerError::Address(..))));
    }
    for change in [
        (|settings| settings.audience.clear()) as fn(&mut ExternalIssuer),
        |settings| settings.types.clear(),
        |settings| settings.types.push(String::new()),
        |settings| settings.scope_claim.clear(),
    ] {
        assert!(matches!(open(change), Err(IssuerError::Empty(_))));
    }
}
