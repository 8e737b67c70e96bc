//! What follows from a password ends with it, and what follows from an account too.

use identity::session::{Kind, Sessions};
use jiff::SignedDuration;
use web::Chance;

use crate::fixture::{Browser, House, NAME, Service};

const NEW: &str = "another horse";

/// A browser that has signed in, a session of an API client, a code, tokens, and whether any of it still works.
struct Access<'a> {
    house: &'a House,
    browser: Browser<'a>,
    sessions: Sessions,
    api: String,
    code: String,
    access: String,
    refresh: String,
}

impl<'a> Access<'a> {
    async fn of(house: &'a House) -> Self {
        let service = &house.service;
        let mut browser = Browser::new(service);
        browser.sign_in(&Access::page(house)).await.has_status(303);
        let sessions = Sessions::new(true, house.db.clone(), house.clock.clone(), Chance::system());
        let started = sessions.start(Kind::Api, house.account, SignedDuration::from_hours(1)).await.unwrap();
        let code = service.code(&[]).await;
        let (access, refresh) = service.tokens(&[]).await;
        service.call("/v1/read", &access).await.has_status(200);
        Access { house, browser, sessions, api: started.secret, code, access, refresh }
    }

    fn page(house: &House) -> String {
        format!("/oauth/authorize?{}", house.service.request(&[]))
    }

    async fn has_all_ended(mut self) {
        let service = &self.house.service;
        let page = self.browser.get(&Access::page(self.house)).await.text();
        assert!(page.contains("<h1>Sign in</h1>"), "{page}");
        assert_eq!(self.sessions.find(Kind::Api, &self.api).await.unwrap(), None);
        service.redeem(&self.code).await.has_status(400);
        service.refresh(&self.refresh).await.has_status(400);
        // What was remembered of it counts for no more than five seconds.
        self.house.clock.advance(SignedDuration::from_secs(5));
        let late = service.call("/v1/read", &self.access).await;
        assert_eq!(late.is_problem(401, "unauthorized"), "The access token was revoked.");
    }
}

testkit::on_both_engines! {
    async fn a_new_password_ends_what_the_old_one_opened(house: House) {
        let service = &house.service;
        let grace = service.accounts.add("grace", "correct horse".into()).await.unwrap();
        let others = service.server.token_for(grace, Some("read")).await.unwrap();
        let access = Access::of(&house).await;
        service.accounts.set_password(NAME, NEW.into()).await.unwrap();
        access.has_all_ended().await;
        service.call("/v1/read", &others).await.has_status(200);
        // What the new one opens, stays open.
        let path = Access::page(&house);
        let mut browser = Browser::new(service);
        let fields = [("intent", "sign-in"), ("name", NAME), ("password", NEW)];
        browser.post(&path, &fields).await.has_status(303);
        browser.post(&path, &[("intent", "allow")]).await.has_status(303);
        let token = service.server.token_for(house.account, Some("read")).await.unwrap();
        house.clock.advance(SignedDuration::from_secs(5));
        service.call("/v1/read", &token).await.has_status(200);
    }

    async fn a_removed_account_takes_all_with_it(house: House) {
        let access = Access::of(&house).await;
        house.service.accounts.remove(NAME).await.unwrap();
        access.has_all_ended().await;
    }

    async fn a_page_of_a_session_that_ended_meanwhile_allows_nothing(house: House) {
        let service = &house.service;
        let path = Access::page(&house);
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

    async fn another_process_ends_it_too(house: House) {
        let access = Access::of(&house).await;
        let other = Service::start(&house.db, &house.clock, Some(&house.service.issuer)).await;
        let before = other.call("/v1/read", &access.access).await.has_status(200).text();
        assert_eq!(before, house.account.to_string());
        other.accounts.set_password(NAME, NEW.into()).await.unwrap();
        access.has_all_ended().await;
    }
}
