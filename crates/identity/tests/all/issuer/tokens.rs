//! Which tokens of an issuer are accepted, and why others are rejected.

use serde_json::json;
use testkit::Answer;

use super::{
    fixture::{Issuer, Service},
    signer::{CURVE, EDWARDS, FIRST, OTHER_CURVE, Pair, SECOND, encode, hashed, merge, unsigned},
};

#[tokio::test]
async fn all_configured_algorithms_are_accepted() {
    let issuer = Issuer::start().await;
    issuer.shows(&[
        FIRST.jwk(),
        SECOND.jwk_with(&json!({"use": "sig", "alg": "RS256", "key_ops": ["verify"]})),
        CURVE.jwk_with(&json!({"alg": "ES256"})),
        EDWARDS.jwk_with(&json!({"alg": "EdDSA"})),
    ]);
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    service.accepts(service.token(&FIRST, "PS256")).await;
    service.accepts(service.token(&SECOND, "RS256")).await;
    service.accepts(service.token(&CURVE, "ES256")).await;
    service.accepts(service.token(&EDWARDS, "EdDSA")).await;
    assert_eq!(issuer.asked().keys, 1);
}

#[tokio::test]
async fn keys_for_another_use_or_algorithm_are_rejected() {
    let issuer = Issuer::start().await;
    issuer.shows(&[
        FIRST.jwk_with(&json!({"alg": "RS256"})),
        SECOND.jwk_with(&json!({"kid": "for-secrets", "use": "enc"})),
        SECOND.jwk_with(&json!({"kid": "signs-only", "key_ops": ["sign"]})),
        SECOND.jwk_with(&json!({"kid": "long-hash", "alg": "RS512"})),
        SECOND.jwk_with(&json!({"kid": "no-kind-we-know", "kty": "AKP"})),
        SECOND.jwk_with(&json!({"kid": "short", "n": encode(&[0xff; 128])})),
        json!({"kty": "oct", "kid": "shared", "k": encode(b"everybody knows this")}),
        json!("not a key at all"),
        SECOND.jwk_with(&json!({"kid": "twice"})),
        FIRST.jwk_with(&json!({"kid": "twice"})),
        OTHER_CURVE.jwk(),
        CURVE.jwk(),
    ]);
    let service = Service::start(issuer.settings()).await;
    service.accepts(service.token(&FIRST, "RS256")).await;
    let claims = service.claims(&json!({}));
    for id in [
        "for-secrets",
        "signs-only",
        "long-hash",
        "no-kind-we-know",
        "short",
        "twice",
        "other-curve",
        "shared",
    ] {
        let header = json!({"typ": "at+jwt", "alg": "RS256", "kid": id});
        service.refuses(SECOND.sign(&header, &claims), "is signed by an unknown key").await;
    }
    let mismatched = "is signed by another algorithm than its key is for";
    service.refuses(service.token(&FIRST, "PS256"), mismatched).await;
    let header = json!({"typ": "at+jwt", "alg": "RS256", "kid": CURVE.id});
    service.refuses(FIRST.sign(&header, &claims), mismatched).await;
    let header = json!({"typ": "at+jwt", "alg": "ES256", "kid": FIRST.id});
    service.refuses(CURVE.sign(&header, &claims), mismatched).await;
}

#[tokio::test]
async fn public_key_as_hmac_secret_and_missing_signature_are_rejected() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    let claims = service.claims(&json!({}));
    let not_taken = "is not signed by RS256 or PS256 or ES256 or EdDSA";
    let Pair::Rsa(pair) = &FIRST.pair else { unreachable!() };
    let public = aws_lc_rs::signature::KeyPair::public_key(pair);
    let header = service.header(&FIRST, "HS256");
    for secret in [public.as_ref(), public.modulus().big_endian_without_leading_zero()] {
        service.refuses(hashed(secret, &header, &claims), not_taken).await;
    }
    service.refuses(unsigned(&service.header(&FIRST, "none"), &claims), "is malformed").await;
    service.refuses(unsigned(&service.header(&FIRST, "RS256"), &claims), "has a wrong signature").await;
    let forged = SECOND.sign(&service.header(&FIRST, "RS256"), &claims);
    service.refuses(forged, "has a wrong signature").await;
    service.refuses("x".repeat(8193), "is too long").await;
}

#[tokio::test]
async fn token_of_another_audience_issuer_or_time_is_rejected() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    let now = service.clock.now().as_second();
    let header = service.header(&FIRST, "RS256");
    let slash = format!("{}/", issuer.url);
    for (changes, why) in [
        (json!({"iss": "https://other.example"}), "is from another issuer"),
        (json!({"iss": slash}), "is from another issuer"),
        (json!({"aud": "https://other.example/"}), "is for another audience"),
        (json!({"aud": ["https://other.example/", "https://trains.example"]}), "is for another audience"),
        (json!({"exp": now}), "has expired"),
        (json!({"nbf": now + 61}), "is not valid yet"),
        (json!({"iat": now + 61}), "is not valid yet"),
        (json!({"sub": null}), "lacks the claim sub"),
        (json!({"exp": null}), "lacks the claim exp"),
        (json!({"exp": "tomorrow"}), "has a claim exp of a wrong type"),
        (json!({"exp": i64::MAX}), "has a claim exp of a wrong type"),
        (json!({"scope": {"read": true}}), "has a claim scope of a wrong type"),
    ] {
        service.refuses(FIRST.sign(&header, &service.claims(&changes)), why).await;
    }
    for changes in [
        json!({"aud": ["https://other.example/", "https://trains.example/"]}),
        json!({"nbf": now + 60, "iat": now + 60}),
        json!({"exp": now + 1}),
        json!({"iat": null, "jti": null, "client_id": null}),
    ] {
        service.accepts(FIRST.sign(&header, &service.claims(&changes))).await;
    }
    for (changes, why) in [
        (json!({"kid": null}), "names no key"),
        (json!({"typ": null}), "is of another type than at+jwt"),
        (json!({"typ": "JWT"}), "is of another type than at+jwt"),
        (json!({"crit": ["exp"], "exp": 1}), "has critical headers that are not understood"),
    ] {
        let mut header = header.clone();
        merge(&mut header, &changes);
        service.refuses(FIRST.sign(&header, &service.claims(&json!({}))), why).await;
    }
}

#[tokio::test]
async fn cached_token_expires_on_time() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    let claims = service.claims(&json!({"exp": service.clock.now().as_second() + 30}));
    let token = FIRST.sign(&service.header(&FIRST, "RS256"), &claims);
    service.accepts(token.clone()).await;
    service.advance(29);
    service.accepts(token.clone()).await;
    service.advance(1);
    service.refuses(token, "has expired").await;
}

#[tokio::test]
async fn configured_token_types_are_accepted() {
    let issuer = Issuer::start().await;
    let mut settings = issuer.settings();
    settings.types = vec!["JWT".into(), "application/at+jwt".into()];
    let service = Service::start(settings).await;
    let typed = |typ: &str| {
        let header = json!({"typ": typ, "alg": "RS256", "kid": FIRST.id});
        FIRST.sign(&header, &service.claims(&json!({})))
    };
    for typ in ["JWT", "jwt", "application/jwt", "at+jwt", "AT+JWT", "application/at+JWT"] {
        service.accepts(typed(typ)).await;
    }
    for typ in ["id+jwt", "", "application/", "application/application/jwt"] {
        service.refuses(typed(typ), "is of another type than jwt or at+jwt").await;
    }
}

#[tokio::test]
async fn scopes_are_text_or_list_in_the_configured_claim() {
    let issuer = Issuer::start().await;
    let lacks = |answer: Answer| {
        let detail = answer.is_problem(403, "forbidden");
        assert_eq!(detail, "The access token needs the scopes read.");
        assert_eq!(
            answer.header("www-authenticate"),
            "Bearer realm=\"Trains\", \
             resource_metadata=\"https://trains.example/.well-known/oauth-protected-resource\", \
             error=\"insufficient_scope\", scope=\"read\""
        );
    };
    let mut settings = issuer.settings();
    let usual = Service::start(settings.clone()).await;
    settings.scope_claim = "scp".into();
    let other = Service::start(settings).await;
    let header = usual.header(&FIRST, "RS256");
    let sign = |changes| FIRST.sign(&header, &usual.claims(&changes));
    usual.accepts(sign(json!({"scope": ["write", "read"]}))).await;
    lacks(usual.call(&sign(json!({"scope": null, "scp": "read"}))).await);
    lacks(usual.call(&sign(json!({"scope": ["write read"]}))).await);
    other.accepts(sign(json!({"scope": null, "scp": ["read"]}))).await;
    other.accepts(sign(json!({"scope": null, "scp": "write read"}))).await;
    lacks(other.call(&sign(json!({"scope": "read"}))).await);
    lacks(other.call(&sign(json!({"scp": ["readers"]}))).await);
}

#[tokio::test]
async fn subject_of_an_external_issuer_is_not_an_account() {
    let issuer = Issuer::start().await;
    let service = Service::start(issuer.settings()).await;
    let subject = "01900000-0000-7000-8000-000000000001";
    for (changes, client) in [
        (json!({"sub": subject}), "timetable"),
        (json!({"sub": subject, "client_id": null, "azp": "app"}), "app"),
        (json!({"sub": subject, "client_id": null, "cid": "app"}), "app"),
    ] {
        let token = FIRST.sign(&service.header(&FIRST, "RS256"), &service.claims(&changes));
        let claims = service.verifier.check(&token).await.unwrap();
        assert_eq!((claims.subject.as_str(), claims.client.as_str()), (subject, client));
        assert_eq!(claims.account(), None);
    }
}
