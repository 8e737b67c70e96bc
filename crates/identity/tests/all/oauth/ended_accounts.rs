//! A new password and a removed account end sessions and grants.

use identity::session::{Kind, Sessions};
use jiff::SignedDuration;
use web::Random;

use super::fixture::{Browser, Harness, NAME, Service};

const NEW: &str = "another horse";

/// A browser that has signed in, a session of an API client, a code, tokens, and whether any of it still works.
struct Access<'a> {
    harness: &'a Harness,
    browser: Browser<'a>,
    sessions: Sessions,
    api: String,
    code: String,
    access: String,
    refresh: String,
}

impl<'a> Access<'a> {
    async fn of(harness: &'a Harness) -> Self {
        let service = &harness.service;
        let mut browser = Browser::new(service);
        browser.sign_in(&Access::page(harness)).await.has_status(303);
        let sessions = Sessions::new(true, harness.db.clone(), harness.clock.clone(), Random::system());
        let started =
            sessions.start(Kind::Api, harness.account, SignedDuration::from_hours(1)).await.unwrap();
        let code = service.code(&[]).await;
        let (access, refresh) = service.tokens(&[]).await;
        service.call("/v1/read", &access).await.has_status(200);
        Access { harness, browser, sessions, api: started.secret, code, access, refresh }
    }

    fn page(harness: &Harness) -> String {
        format!("/oauth/authorize?{}", harness.service.request(&[]))
    }

    async fn has_all_ended(mut self) {
        let service = &self.harness.service;
        let page = self.browser.get(&Access::page(self.harness)).await.text();
        assert!(page.contains("<h1>Sign in</h1>"), "{page}");
        assert_eq!(self.sessions.find(Kind::Api, &self.api).await.unwrap(), None);
        service.redeem(&self.code).await.has_status(400);
        service.refresh(&self.refresh).await.has_status(400);
        // The cache of a token ends after five seconds.
        self.harness.clock.advance(SignedDuration::from_secs(5));
        let late = service.call("/v1/read", &self.access).await;
        assert_eq!(late.is_problem(401, "unauthorized"), "The access token was revoked.");
    }
}

testkit::on_both_engines! {
    async fn new_password_ends_sessions_and_grants(harness: Harness) {
        let service = &harness.service;
        let grace = service.accounts.add("grace", "correct horse".into()).await.unwrap();
        let others = service.server.token_for(grace, Some("read")).await.unwrap();
        let access = Access::of(&harness).await;
        service.accounts.set_password(NAME, NEW.into()).await.unwrap();
        access.has_all_ended().await;
        service.call("/v1/read", &others).await.has_status(200);
        // What the new one opens, stays open.
        let path = Access::page(&harness);
        let mut browser = Browser::new(service);
        let fields = [("intent", "sign-in"), ("name", NAME), ("password", NEW)];
        browser.post(&path, &fields).await.has_status(303);
        browser.post(&path, &[("intent", "allow")]).await.has_status(303);
        let token = service.server.token_for(harness.account, Some("read")).await.unwrap();
        harness.clock.advance(SignedDuration::from_secs(5));
        service.call("/v1/read", &token).await.has_status(200);
    }

    async fn removed_account_ends_sessions_and_grants(harness: Harness) {
        let access = Access::of(&harness).await;
        harness.service.accounts.remove(NAME).await.unwrap();
        access.has_all_ended().await;
    }

    async fn consent_page_of_an_ended_session_asks_for_sign_in(harness: Harness) {
        let service = &harness.service;
        let path = Access::page(&harness);
        let (mut browser, mut same) = (Browser::new(service), Browser::new(service));
        browser.sign_in(&path).await.has_status(303);
        let page = browser.get(&path).await.text();
        assert!(page.contains("<h1>Allow Demo?</h1>"), "{page}");
        service.accounts.set_password(NAME, NEW.into()).await.unwrap();
        let answer = browser.send(&path, &[("intent", "allow")], &page).await;
        assert_eq!(answer.has_status(303).header("location"), path);
        let page = browser.get(&path).await.text();
        assert!(page.contains("<h1>Sign in</h1>"), "{page}");
        same.sign_in(&path).await;
        let page = same.get(&path).await.text();
        assert!(page.contains("<h1>Sign in</h1>"), "{page}");
    }

    async fn new_password_in_another_process_ends_sessions_and_grants(harness: Harness) {
        let access = Access::of(&harness).await;
        let other = Service::start(&harness.db, &harness.clock, Some(&harness.service.issuer)).await;
        let before = other.call("/v1/read", &access.access).await.has_status(200).text();
        assert_eq!(before, harness.account.to_string());
        other.accounts.set_password(NAME, NEW.into()).await.unwrap();
        access.has_all_ended().await;
    }
}
