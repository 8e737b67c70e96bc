//! How many rows callers can leave behind.

use identity::{
    Sessions,
    session::{Kind, MOST_SESSIONS},
};
use jiff::SignedDuration;
use sha2::{Digest, Sha256};
use web::Chance;

use crate::fixture::{House, refused, text};

async fn count(house: &House, sql: &'static str) -> i64 {
    let count = house.db.read(move |tx| tx.row(sql, &[], |row| row.get(0)));
    count.await.unwrap_or_else(|error: db::Error| panic!("{error}")).unwrap_or_default()
}

const TOKENS: &str = "SELECT count(*) FROM oauth_refresh_token";

const HOUR: SignedDuration = SignedDuration::from_hours(1);

testkit::on_both_engines! {
    async fn a_family_of_refresh_tokens_keeps_one_row(house: House) {
        let service = &house.service;
        let (_, mut token) = service.tokens(&[]).await;
        for _ in 0..20 {
            token = text(&service.refresh(&token).await.has_status(200).json()["refresh_token"]);
            assert_eq!(count(&house, TOKENS).await, 1);
        }
        assert_eq!(count(&house, "SELECT count(*) FROM oauth_grant").await, 1);
        service.tokens(&[]).await;
        assert_eq!(count(&house, TOKENS).await, 2);
    }

    async fn any_older_token_of_a_family_revokes_its_grant(house: House) {
        let service = &house.service;
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

    async fn what_is_made_up_revokes_nothing(house: House) {
        let service = &house.service;
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

    async fn a_refresh_token_from_before_families_works_once(house: House) {
        let service = &house.service;
        for reused in [0, 1] {
            service.tokens(&[]).await;
            let old = format!("old-token-{reused}");
            let hash = Sha256::digest(&old).to_vec();
            let changed = house.db.write(move |tx| {
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

    async fn an_account_has_so_many_sessions_and_the_oldest_end(house: House) {
        let sessions = Sessions::new(true, house.db.clone(), house.clock.clone(), Chance::system());
        let start = async |kind| {
            house.clock.advance(SignedDuration::from_secs(1));
            sessions.start(kind, house.account, HOUR).await.unwrap().secret
        };
        let browser = start(Kind::Browser).await;
        let mut api = Vec::new();
        for _ in 0..MOST_SESSIONS + 5 {
            api.push(start(Kind::Api).await);
        }
        assert_eq!(MOST_SESSIONS, 100);
        assert_eq!(count(&house, "SELECT count(*) FROM session").await, 101);
        for (at, secret) in api.iter().enumerate() {
            let found = sessions.find(Kind::Api, secret).await.unwrap();
            assert_eq!(found.is_some(), at >= 5, "{at}");
        }
        // Each kind is counted by itself, and each account.
        assert!(sessions.find(Kind::Browser, &browser).await.unwrap().is_some());
        let other = house.service.accounts.add("grace", "another horse".into()).await.unwrap();
        sessions.start(Kind::Api, other, HOUR).await.unwrap();
        assert_eq!(count(&house, "SELECT count(*) FROM session").await, 102);
        house.clock.advance(HOUR);
        for _ in 0..11 {
            sessions.start(Kind::Api, other, HOUR).await.unwrap();
        }
        assert_eq!(count(&house, "SELECT count(*) FROM session").await, 11);
    }
}
