//! Sessions and API keys: secrets that are shown once and stored as hashes.

use db::Db;
use identity::{
    ApiKeys, Sessions,
    session::Kind::{Api, Browser},
};
use jiff::SignedDuration;
use sha2::{Digest, Sha256};
use uuid::Uuid;
use web::Random;

use super::fixture::{Harness, NAME};

fn sessions(harness: &Harness) -> Sessions {
    Sessions::new(true, harness.db.clone(), harness.clock.clone(), Random::system())
}

fn api_keys(harness: &Harness, demo: bool) -> ApiKeys {
    ApiKeys::new(demo, harness.db.clone(), harness.clock.clone(), Random::system())
}

/// 256 bits as base64url.
#[track_caller]
fn is_secret(text: &str) {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    assert!(text.len() == 43 && text.bytes().all(allowed), "{text}");
}

async fn hashes(db: &Db, sql: &'static str) -> Vec<Vec<u8>> {
    let read = db.read(move |tx| tx.rows(sql, &[], |row| row.get(0)));
    read.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
}

fn hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret).to_vec()
}

const HOUR: SignedDuration = SignedDuration::from_hours(1);

testkit::on_both_engines! {
    async fn session_is_found_by_its_secret_and_kind_until_it_ends(harness: Harness) {
        let sessions = sessions(&harness);
        let browser = sessions.start(Browser, harness.account, HOUR).await.unwrap();
        let api = sessions.start(Api, harness.account, HOUR).await.unwrap();
        is_secret(&browser.secret);
        is_secret(&api.secret);
        assert_ne!(browser.secret, api.secret);
        assert_eq!(browser.expires_at, harness.clock.now() + HOUR);
        let mut kept = hashes(&harness.db, "SELECT hash FROM session").await;
        kept.sort();
        let mut expected = vec![hash(&browser.secret), hash(&api.secret)];
        expected.sort();
        assert_eq!(kept, expected);
        let owner = Some((harness.account, NAME.to_owned()));
        assert_eq!(sessions.find(Browser, &browser.secret).await.unwrap(), owner);
        assert_eq!(sessions.find(Api, &api.secret).await.unwrap(), owner);
        for (kind, secret) in [
            (Api, browser.secret.as_str()),
            (Browser, api.secret.as_str()),
            (Browser, ""),
            (Browser, "x"),
            (Browser, &browser.secret.to_ascii_uppercase()),
        ] {
            assert_eq!(sessions.find(kind, secret).await.unwrap(), None, "{kind:?} {secret}");
        }
        // One kind cannot end another either.
        sessions.end(Api, &browser.secret).await.unwrap();
        assert_eq!(sessions.find(Browser, &browser.secret).await.unwrap(), owner);
        sessions.end(Browser, &browser.secret).await.unwrap();
        assert_eq!(sessions.find(Browser, &browser.secret).await.unwrap(), None);
        sessions.end(Browser, &browser.secret).await.unwrap();
        assert_eq!(sessions.find(Api, &api.secret).await.unwrap(), owner);
    }

    async fn session_expires_exactly_and_its_row_is_deleted(harness: Harness) {
        let sessions = sessions(&harness);
        let started = sessions.start(Browser, harness.account, HOUR).await.unwrap();
        harness.clock.advance(HOUR - SignedDuration::from_micros(1));
        assert!(sessions.find(Browser, &started.secret).await.unwrap().is_some());
        harness.clock.advance(SignedDuration::from_micros(1));
        assert_eq!(sessions.find(Browser, &started.secret).await.unwrap(), None);
        for _ in 0..12 {
            sessions.start(Browser, harness.account, SignedDuration::from_secs(1)).await.unwrap();
        }
        harness.clock.advance(SignedDuration::from_secs(1));
        for _ in 0..2 {
            sessions.start(Api, harness.account, HOUR).await.unwrap();
        }
        assert_eq!(hashes(&harness.db, "SELECT hash FROM session").await.len(), 2);
    }

    async fn only_sessions_of_the_account_end(harness: Harness) {
        let sessions = sessions(&harness);
        let (db, clock) = (harness.db.clone(), harness.clock.clone());
        let accounts = identity::Accounts::new("Test", true, db, clock, Random::system()).unwrap();
        let other: Uuid = accounts.add("grace", "another horse".into()).await.unwrap();
        let mine = [
            (Browser, sessions.start(Browser, harness.account, HOUR).await.unwrap().secret),
            (Api, sessions.start(Api, harness.account, HOUR).await.unwrap().secret),
        ];
        let others = sessions.start(Browser, other, HOUR).await.unwrap();
        sessions.end_all(harness.account).await.unwrap();
        for (kind, secret) in &mine {
            assert_eq!(sessions.find(*kind, secret).await.unwrap(), None);
        }
        let found = sessions.find(Browser, &others.secret).await.unwrap();
        assert_eq!(found, Some((other, "grace".to_owned())));
        accounts.remove("grace").await.unwrap();
        assert_eq!(sessions.find(Browser, &others.secret).await.unwrap(), None);
        assert!(hashes(&harness.db, "SELECT hash FROM session").await.is_empty());
    }

    async fn api_key_is_accepted_until_it_is_removed(harness: Harness) {
        let keys = api_keys(&harness, false);
        let key = keys.add("robot").await.unwrap().unwrap();
        is_secret(&key);
        assert_eq!(hashes(&harness.db, "SELECT hash FROM api_key").await, [hash(&key)]);
        assert!(keys.is_valid(&key).await.unwrap());
        for wrong in ["", "robot", &key[..42], &format!("{key} "), &key.to_ascii_lowercase()] {
            assert!(!keys.is_valid(wrong).await.unwrap(), "{wrong}");
        }
        assert_eq!(keys.add("robot").await.unwrap(), None);
        let other = keys.add("Robot").await.unwrap().unwrap();
        assert!(keys.remove("robot").await.unwrap());
        assert!(!keys.remove("robot").await.unwrap());
        assert!(!keys.is_valid(&key).await.unwrap());
        assert!(keys.is_valid(&other).await.unwrap());
        assert_ne!(keys.add("robot").await.unwrap().unwrap(), key);
    }

    async fn demo_key_is_accepted_only_in_the_demo(harness: Harness) {
        let (demo, strict) = (api_keys(&harness, true), api_keys(&harness, false));
        for _ in 0..2 {
            demo.add_demo("demo", "special-key").await.unwrap();
        }
        assert_eq!(hashes(&harness.db, "SELECT hash FROM api_key").await, [hash("special-key")]);
        assert!(demo.is_valid("special-key").await.unwrap());
        assert!(!strict.is_valid("special-key").await.unwrap());
        let key = strict.add("robot").await.unwrap().unwrap();
        assert!(demo.is_valid(&key).await.unwrap());
        // A session is no key, and a key no session.
        let session = sessions(&harness).start(Api, harness.account, HOUR).await.unwrap();
        assert!(!demo.is_valid(&session.secret).await.unwrap());
        assert_eq!(sessions(&harness).find(Api, &key).await.unwrap(), None);
    }
}
