//! A code or refresh token is used only if its new token can be signed.

use db::Db;
use jiff::SignedDuration;

use super::fixture::{Harness, refused, text};

/// A signing key that cannot be read, as after a restore that went wrong.
async fn break_keys(harness: &Harness) {
    harness.service.client.get("/oauth/jwks.json").send().await.has_status(200);
    let broken = harness.db.write(|tx| {
        tx.execute(
            "INSERT INTO signing_key (number, id, private_key, signs_from)
             SELECT number + 1, 'broken', $1, signs_from FROM signing_key",
            &[b"no key".as_slice().into()],
        )
    });
    assert_eq!(broken.await.unwrap_or_else(|error: db::Error| panic!("{error}")), 1);
}

async fn mend_keys(db: &Db) {
    let mended = db.write(|tx| tx.execute("DELETE FROM signing_key WHERE id = 'broken'", &[]));
    assert_eq!(mended.await.unwrap_or_else(|error: db::Error| panic!("{error}")), 1);
}

testkit::on_both_engines! {
    async fn code_is_not_used_if_its_token_cannot_be_signed(harness: Harness) {
        let service = &harness.service;
        break_keys(&harness).await;
        harness.clock.advance(SignedDuration::from_secs(30));
        let code = service.code(&[]).await;
        // The keys are read again once a minute.
        harness.clock.advance(SignedDuration::from_secs(30));
        service.redeem(&code).await.is_problem(500, "internal");
        mend_keys(&harness.db).await;
        let tokens = service.redeem(&code).await.has_status(200).json();
        service.call("/v1/read", &text(&tokens["access_token"])).await.has_status(200);
        service.refresh(&text(&tokens["refresh_token"])).await.has_status(200);
    }

    async fn refresh_token_is_not_used_if_its_token_cannot_be_signed(harness: Harness) {
        let service = &harness.service;
        let (access, refresh) = service.tokens(&[]).await;
        break_keys(&harness).await;
        harness.clock.advance(SignedDuration::from_secs(60));
        service.refresh(&refresh).await.is_problem(500, "internal");
        mend_keys(&harness.db).await;
        let next = text(&service.refresh(&refresh).await.has_status(200).json()["refresh_token"]);
        service.call("/v1/read", &access).await.has_status(200);
        service.refresh(&next).await.has_status(200);
        // It is used up now.
        refused("a used one", &service.refresh(&refresh).await, 400, "invalid_grant");
    }

    async fn client_gets_no_grant_if_its_token_cannot_be_signed(harness: Harness) {
        let service = &harness.service;
        let (id, secret) = service.register("Program", &[], true).await;
        let form = [("grant_type", "client_credentials"), ("client_id", &id), ("client_secret", &secret)];
        break_keys(&harness).await;
        harness.clock.advance(SignedDuration::from_secs(60));
        service.token(&form).await.is_problem(500, "internal");
        let grants = harness.db.read(|tx| tx.row("SELECT count(*) FROM oauth_grant", &[], |row| row.get(0)));
        assert_eq!(grants.await.unwrap_or_else(|error: db::Error| panic!("{error}")), Some(0_i64));
        mend_keys(&harness.db).await;
        service.token(&form).await.has_status(200);
    }
}
