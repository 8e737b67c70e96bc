//! Limits on the rows that callers can create.

use identity::{
    Sessions,
    session::{Kind, MAX_SESSIONS},
};
use jiff::SignedDuration;
use sha2::{Digest, Sha256};
use web::Random;

use super::fixture::{Harness, refused, text};

async fn count(harness: &Harness, sql: &'static str) -> i64 {
    let count = harness.db.read(move |tx| tx.row(sql, &[], |row| row.get(0)));
    count.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap_or_default()
}

const TOKENS: &str = "SELECT count(*) FROM oauth_refresh_token";

const HOUR: SignedDuration = SignedDuration::from_hours(1);

testkit::on_both_engines! {
    async fn refresh_token_family_has_one_row(harness: Harness) {
        let service = &harness.service;
        let (_, mut token) = service.tokens(&[]).await;
        for _ in 0..20 {
            token = text(&service.refresh(&token).await.has_status(200).json()["refresh_token"]);
            assert_eq!(count(&harness, TOKENS).await, 1);
        }
        assert_eq!(count(&harness, "SELECT count(*) FROM oauth_grant").await, 1);
        service.tokens(&[]).await;
        assert_eq!(count(&harness, TOKENS).await, 2);
    }

    async fn reused_token_of_a_family_revokes_its_grant(harness: Harness) {
        let service = &harness.service;
        for older in 0..3 {
            let (_, first) = service.tokens(&[]).await;
            let mut all = vec![first];
            for _ in 0..3 {
                let last = all.last().unwrap();
                all.push(text(&service.refresh(last).await.has_status(200).json()["refresh_token"]));
            }
            let answer = service.refresh(&all[older]).await;
            refused("an older one", &answer, 400, "invalid_grant");
            assert_eq!(answer.json()["error_description"], "the refresh token was used before");
            refused("the newest", &service.refresh(&all[3]).await, 400, "invalid_grant");
        }
    }

    async fn forged_refresh_token_revokes_nothing(harness: Harness) {
        let service = &harness.service;
        let (_, token) = service.tokens(&[]).await;
        let (family, current) = token.split_at(43);
        for made_up in [
            family.to_owned(),
            current.to_owned(),
            format!("{current}{family}"),
            format!("{}{current}", "A".repeat(43)),
            format!("{token}A"),
            format!("{}\u{e9}{}", &token[..42], &token[44..]),
        ] {
            let answer = service.refresh(&made_up).await;
            refused(&made_up, &answer, 400, "invalid_grant");
            let why = "the refresh token is unknown, expired or revoked";
            assert_eq!(answer.json()["error_description"], why, "{made_up}");
        }
        service.refresh(&token).await.has_status(200);
    }

    async fn refresh_token_of_the_old_format_works_once(harness: Harness) {
        let service = &harness.service;
        for reused in [0, 1] {
            service.tokens(&[]).await;
            let old = format!("old-token-{reused}");
            let hash = Sha256::digest(&old).to_vec();
            let changed = harness.db.write(move |tx| {
                tx.execute(
                    "UPDATE oauth_refresh_token SET hash = $1, current_hash = NULL
                     WHERE grant_id IN (SELECT id FROM oauth_grant WHERE revoked_at IS NULL)",
                    &[hash.as_slice().into()],
                )
            });
            assert_eq!(changed.await.unwrap_or_else(|error: db::Error| panic!("{error}")), 1);
            let next = text(&service.refresh(&old).await.has_status(200).json()["refresh_token"]);
            let after = text(&service.refresh(&next).await.has_status(200).json()["refresh_token"]);
            let again = service.refresh(&[old, next][reused]).await;
            refused("a used one", &again, 400, "invalid_grant");
            assert_eq!(again.json()["error_description"], "the refresh token was used before");
            refused("the newest", &service.refresh(&after).await, 400, "invalid_grant");
        }
    }

    async fn sessions_of_an_account_are_limited_and_the_oldest_ends(harness: Harness) {
        let sessions = Sessions::new(true, harness.db.clone(), harness.clock.clone(), Random::system());
        let start = async |kind| {
            harness.clock.advance(SignedDuration::from_secs(1));
            sessions.start(kind, harness.account, HOUR).await.unwrap().secret
        };
        let browser = start(Kind::Browser).await;
        let mut api = Vec::new();
        for _ in 0..MAX_SESSIONS + 5 {
            api.push(start(Kind::Api).await);
        }
        assert_eq!(MAX_SESSIONS, 100);
        assert_eq!(count(&harness, "SELECT count(*) FROM session").await, 101);
        for (at, secret) in api.iter().enumerate() {
            let found = sessions.find(Kind::Api, secret).await.unwrap();
            assert_eq!(found.is_some(), at >= 5, "{at}");
        }
        // Each kind is counted by itself, and each account.
        assert!(sessions.find(Kind::Browser, &browser).await.unwrap().is_some());
        let other = harness.service.accounts.add("grace", "another horse".into()).await.unwrap();
        sessions.start(Kind::Api, other, HOUR).await.unwrap();
        assert_eq!(count(&harness, "SELECT count(*) FROM session").await, 102);
        harness.clock.advance(HOUR);
        for _ in 0..11 {
            sessions.start(Kind::Api, other, HOUR).await.unwrap();
        }
        assert_eq!(count(&harness, "SELECT count(*) FROM session").await, 11);
    }

    async fn client_credentials_use_one_grant(harness: Harness) {
        let service = &harness.service;
        let (id, secret) = service.register("Program", &[], true).await;
        let by = [("grant_type", "client_credentials"), ("client_id", &id), ("client_secret", &secret)];
        let mut tokens = Vec::new();
        for _ in 0..5 {
            tokens.push(text(&service.token(&by).await.has_status(200).json()["access_token"]));
            harness.clock.advance(SignedDuration::from_mins(5));
        }
        assert_eq!(count(&harness, "SELECT count(*) FROM oauth_grant").await, 1);
        let narrow = [&by[..], &[("scope", "read")]].concat();
        let narrow = text(&service.token(&narrow).await.has_status(200).json()["access_token"]);
        assert_eq!(count(&harness, "SELECT count(*) FROM oauth_grant").await, 2);
        // Each is a token of its own.
        let last = tokens.pop().unwrap();
        let revoke = [by[1], by[2], ("token", last.as_str())];
        service.post("/oauth/revoke", &revoke).await.has_status(200);
        service.call("/v1/both", &last).await.is_problem(401, "unauthorized");
        let next = text(&service.token(&by).await.has_status(200).json()["access_token"]);
        service.call("/v1/both", &next).await.has_status(200);
        service.call("/v1/both", &narrow).await.is_problem(403, "forbidden");
    }

    async fn grants_of_an_account_to_a_client_are_limited_and_the_oldest_ends(harness: Harness) {
        let service = &harness.service;
        let (_, oldest) = service.tokens(&[]).await;
        harness.clock.advance(SignedDuration::from_secs(1));
        let (_, second) = service.tokens(&[]).await;
        // As many more as there can be, of the same time as the second.
        let filled = harness.db.write(|tx| {
            let mut filled = 0;
            for number in 1..=98 {
                filled += tx.execute(
                    "INSERT INTO oauth_grant (id, client_id, account_id, scopes, audience, created_at, ends_at)
                     SELECT $1, client_id, account_id, scopes, audience, created_at, ends_at FROM oauth_grant
                     WHERE created_at = (SELECT max(created_at) FROM oauth_grant) LIMIT 1",
                    &[uuid::Uuid::from_u128(number).into()],
                )?;
            }
            Ok::<_, db::Error>(filled)
        });
        assert_eq!(filled.await.unwrap(), 98);
        harness.clock.advance(SignedDuration::from_secs(1));
        let (_, newest) = service.tokens(&[]).await;
        assert_eq!(count(&harness, "SELECT count(*) FROM oauth_grant").await, 100);
        refused("the oldest", &service.refresh(&oldest).await, 400, "invalid_grant");
        for token in [&second, &newest] {
            service.refresh(token).await.has_status(200);
        }
        // Each client is counted by itself.
        let (id, _) = service.register("App", &[], false).await;
        service.code(&[("client_id", &id), ("redirect_uri", crate::oauth::fixture::APP)]).await;
        assert_eq!(count(&harness, "SELECT count(*) FROM oauth_grant").await, 101);
    }
}
