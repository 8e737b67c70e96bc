//! Signing keys: which are published, which one signs, and when a key is deleted.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use testkit::Store;
use web::Clock;

use super::fixture::{Harness, Service, open, text};

async fn published(service: &Service) -> Vec<String> {
    let answer = service.client.get("/oauth/jwks.json").send().await;
    let jwks = answer.has_status(200).json();
    jwks["keys"].as_array().unwrap().iter().map(|key| text(&key["kid"])).collect()
}

/// The key that a token says it was signed with.
fn signer(token: &str) -> String {
    let header = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    text(&serde_json::from_slice::<Value>(&header).unwrap()["kid"])
}

/// The keys in the database.
async fn stored(harness: &Harness) -> Vec<String> {
    let keys =
        harness.db.read(|tx| tx.rows("SELECT id FROM signing_key ORDER BY number", &[], |row| row.get(0)));
    keys.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
}

async fn own_token(service: &Service, client: &(String, String)) -> String {
    let (id, secret) = (client.0.as_str(), client.1.as_str());
    let form = [("grant_type", "client_credentials"), ("client_id", id), ("client_secret", secret)];
    text(&service.token(&form).await.has_status(200).json()["access_token"])
}

testkit::on_both_engines! {
    async fn key_is_published_with_its_thumbprint_and_no_private_part(harness: Harness) {
        let service = &harness.service;
        let answer = service.client.get("/oauth/jwks.json").send().await;
        let jwks = answer.json();
        let key = &jwks["keys"][0];
        let modulus = text(&key["n"]);
        let canonical = format!("{{\"e\":\"AQAB\",\"kty\":\"RSA\",\"n\":\"{modulus}\"}}");
        let thumbprint = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(canonical));
        let expected = json!({
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": thumbprint, "n": modulus, "e": "AQAB",
        });
        answer.is(200, &json!({"keys": [expected]}));
        assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(&modulus).unwrap().len(), 256);
        assert_eq!(answer.header("cache-control"), "public, max-age=300");
        let (token, _) = service.tokens(&[]).await;
        let header = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        assert_eq!(header, json!({"typ": "at+jwt", "alg": "RS256", "kid": thumbprint}));
    }

    async fn first_key_is_made_when_it_is_first_needed(harness: Harness) {
        let service = &harness.service;
        let other = Service::start(&open(&harness.store), &harness.clock, Some(&service.issuer)).await;
        let client = service.register("Own", &[], true).await;
        service.client.get("/v1/read").send().await.has_status(401);
        assert_eq!(stored(&harness).await, [""; 0]);
        // Two processes, and several requests at once in each.
        let tokens = (0..10).map(|at| own_token(if at % 2 == 0 { service } else { &other }, &client));
        let tokens = join_all(tokens).await;
        let stored = stored(&harness).await;
        assert_eq!(stored.len(), 1);
        for token in tokens {
            assert_eq!(signer(&token), stored[0]);
            service.call("/v1/read", &token).await.has_status(200);
        }
    }

    async fn key_is_published_before_and_after_it_signs(harness: Harness) {
        let service = &harness.service;
        let other = Service::start(&open(&harness.store), &harness.clock, Some(&service.issuer)).await;
        let client = service.register("Own", &[], true).await;
        let first = published(service).await;
        assert_eq!(first.len(), 1);
        harness.clock.advance(SignedDuration::from_hours(24 * 29) - SignedDuration::from_mins(1));
        assert_eq!(published(service).await, first);
        // A day before, the next one is known; the first still signs.
        harness.clock.advance(SignedDuration::from_mins(1));
        let both = published(service).await;
        assert_eq!((both.len(), &both[0]), (2, &first[0]));
        assert_eq!(published(&other).await, both);
        harness.clock.advance(SignedDuration::from_hours(24) - SignedDuration::from_secs(1));
        let old = own_token(service, &client).await;
        assert_eq!(signer(&old), first[0]);
        harness.clock.advance(SignedDuration::from_secs(1));
        let new = own_token(service, &client).await;
        assert_eq!(signer(&new), both[1]);
        for process in [service, &other] {
            process.call("/v1/read", &new).await.has_status(200);
            process.call("/v1/read", &old).await.has_status(200);
        }
        harness.clock.advance(SignedDuration::from_secs(598));
        service.call("/v1/read", &old).await.has_status(200);
        harness.clock.advance(SignedDuration::from_secs(1));
        let late = service.call("/v1/read", &old).await;
        assert_eq!(late.is_problem(401, "unauthorized"), "The access token has expired.");
        assert_eq!(published(service).await, both);
        harness.clock.advance(SignedDuration::from_mins(50));
        assert_eq!(published(service).await, both);
        harness.clock.advance(SignedDuration::from_mins(2));
        assert_eq!(stored(&harness).await, both);
        assert_eq!(published(service).await, both[1..]);
        // The private key is deleted: it could still sign.
        assert_eq!(stored(&harness).await, both[1..]);
        harness.clock.advance(SignedDuration::from_mins(1));
        assert_eq!(signer(&own_token(&other, &client).await), both[1]);
    }

    async fn new_key_of_another_process_is_used(harness: Harness) {
        let service = &harness.service;
        let other = Service::start(&open(&harness.store), &harness.clock, Some(&service.issuer)).await;
        let client = service.register("Own", &[], true).await;
        assert_eq!(published(service).await.len(), 1);
        harness.clock.advance(SignedDuration::from_hours(24 * 29));
        // This one makes the next key; the other has not looked since it was started.
        assert_eq!(published(service).await.len(), 2);
        harness.clock.advance(SignedDuration::from_hours(24));
        let token = own_token(service, &client).await;
        assert_eq!(signer(&token), published(service).await[1]);
        other.call("/v1/read", &token).await.has_status(200);
    }

    async fn restarted_service_publishes_its_next_key_before_it_signs(harness: Harness) {
        let service = &harness.service;
        let client = service.register("Own", &[], true).await;
        let first = published(service).await;
        harness.clock.advance(SignedDuration::from_hours(24 * 100));
        assert_eq!(signer(&own_token(service, &client).await), first[0]);
        let both = published(service).await;
        assert_eq!(both.len(), 2);
        harness.clock.advance(SignedDuration::from_hours(24));
        assert_eq!(signer(&own_token(service, &client).await), both[1]);
        // At any time there are at most two keys, and numbers are not reused.
        for month in 1..=6 {
            harness.clock.advance(SignedDuration::from_hours(24 * 30));
            own_token(service, &client).await;
            harness.clock.advance(SignedDuration::from_hours(26));
            let token = own_token(service, &client).await;
            let kept = stored(&harness).await;
            assert!(kept.len() <= 2 && kept.contains(&signer(&token)), "after {month} months: {kept:?}");
            service.call("/v1/read", &token).await.has_status(200);
        }
        let newest = harness.db.read(|tx| tx.row("SELECT max(number) FROM signing_key", &[], |row| row.get(0)));
        let newest: i64 = newest.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap();
        assert_eq!(newest, 8);
    }

    async fn concurrently_started_processes_share_one_key(store: Store) {
        let clock = Clock::manual("2026-05-13T10:00:00Z".parse::<Timestamp>().unwrap());
        let (one, two) = (open(&store), open(&store));
        let issuer = Some("http://127.0.0.1:1");
        let (one, two, three, four) = tokio::join!(
            Service::start(&one, &clock, issuer),
            Service::start(&two, &clock, issuer),
            Service::start(&one, &clock, issuer),
            Service::start(&two, &clock, issuer),
        );
        let keys = published(&one).await;
        assert_eq!(keys.len(), 1);
        let client = one.register("Own", &[], true).await;
        for service in [&one, &two, &three, &four] {
            assert_eq!(published(service).await, keys);
            let token = own_token(service, &client).await;
            assert_eq!(signer(&token), keys[0]);
            two.call("/v1/read", &token).await.has_status(200);
        }
    }
}
