//! Signing out, switching accounts, and going back.

use identity::Accounts;
use web::Random;

use super::{
    fixture::{ALLOW, SUBMIT, SWITCH, Visit},
    service::{NAME, PASSWORD},
};

/// The cookies that the browser keeps for the service, as (name, hidden from scripts, sent from other sites).
async fn cookies(visit: &Visit) -> Vec<(String, bool, String)> {
    let cookies = visit.browser.cookies().await;
    let mut cookies: Vec<_> = cookies
        .iter()
        .map(|cookie| {
            let text = |name: &str| cookie[name].as_str().unwrap().to_owned();
            (text("name"), cookie["httpOnly"] == true, text("sameSite"))
        })
        .collect();
    cookies.sort();
    cookies
}

fn hidden(name: &str) -> (String, bool, String) {
    (name.into(), true, "Lax".into())
}

testkit::on_one_engine! {
    async fn sign_out_ends_the_session(visit: Visit) {
        let browser = &visit.browser;
        visit.come_to_consent().await;
        assert_eq!(cookies(&visit).await, [hidden("test-service-form"), hidden("test-service-session")]);
        let page = format!("{}/oauth/sign-out", visit.harness.service.issuer);
        browser.go(&page).await;
        browser.shows("h1", "Sign out?").await;
        browser.shows("strong", NAME).await;
        browser.click(SUBMIT).await;
        browser.shows("h1", "You are signed out").await;
        assert_eq!(browser.url().await, page);
        assert!(!browser.has("form").await);
        let left = cookies(&visit).await;
        assert!(!left.contains(&hidden("test-service-session")), "{left:?}");
        visit.open(&[]).await;
        browser.shows("h1", "Sign in").await;
        visit.stays_here().await;
    }

    async fn consent_page_from_before_the_sign_out_is_rejected(visit: Visit) {
        let browser = &visit.browser;
        visit.come_to_consent().await;
        let first = browser.window().await;
        browser.open_window().await;
        browser.go(&format!("{}/oauth/sign-out", visit.harness.service.issuer)).await;
        browser.click(SUBMIT).await;
        browser.shows("h1", "You are signed out").await;
        browser.go_to_window(&first).await;
        browser.click(ALLOW).await;
        browser.shows("h1", "This form cannot be taken").await;
        visit.stays_here().await;
    }

    async fn user_can_switch_to_another_account(visit: Visit) {
        let (db, clock) = (visit.harness.db.clone(), visit.harness.clock.clone());
        let accounts = Accounts::new("Test", true, db, clock, Random::system()).unwrap();
        let grace = accounts.add("grace", PASSWORD.into()).await.unwrap();
        let browser = &visit.browser;
        visit.come_to_consent().await;
        browser.shows("strong", NAME).await;
        browser.click(SWITCH).await;
        visit.sign_in("grace", PASSWORD).await;
        browser.shows("h1", "Allow Demo?").await;
        browser.shows("strong", "grace").await;
        browser.click(ALLOW).await;
        assert_eq!(visit.account_of(&visit.code().await).await, grace.to_string());
    }

    async fn consent_can_be_repeated_after_going_back(visit: Visit) {
        let browser = &visit.browser;
        visit.come_to_consent().await;
        browser.click(ALLOW).await;
        let first = visit.code().await;
        browser.shows("h1", "Back").await;
        browser.back().await;
        browser.shows("h1", "Allow Demo?").await;
        browser.click(ALLOW).await;
        let second = visit.code().await;
        assert_ne!(first, second);
        assert_eq!(visit.account_of(&second).await, visit.harness.account.to_string());
    }

    async fn going_back_after_sign_in_resends_no_form(visit: Visit) {
        let browser = &visit.browser;
        visit.open(&[]).await;
        visit.sign_in(NAME, "a wrong one").await;
        browser.shows("p[@role='alert']", "The name or the password is wrong.").await;
        visit.sign_in_again(PASSWORD).await;
        browser.shows("h1", "Allow Demo?").await;
        let consent = browser.url().await;
        // A page that answered a form would be an error page now, at the same address.
        let steps = browser.run("return history.length").await.as_u64().unwrap();
        browser.run("document.marked = true").await;
        browser.back().await;
        browser.settles("return document.marked === undefined", &true.into()).await;
        browser.shows("h1", "Allow Demo?").await;
        assert_eq!(browser.url().await, consent);
        browser.forward().await;
        browser.shows("h1", "Allow Demo?").await;
        assert_eq!(browser.url().await, consent);
        for _ in 0..steps {
            browser.forward().await;
        }
        browser.shows("h1", "Allow Demo?").await;
        browser.click(ALLOW).await;
        visit.account_of(&visit.code().await).await;
    }

    async fn going_back_after_a_taken_name_resends_no_form(visit: Visit) {
        let browser = &visit.browser;
        visit.open(&[]).await;
        browser.click("p a").await;
        browser.shows("h1", "Make an account").await;
        browser.fill("#name", NAME).await;
        browser.fill("#password", "long enough").await;
        browser.click(SUBMIT).await;
        browser.shows("p[@role='alert']", "This name is taken. Choose another one.").await;
        browser.clear("#name").await;
        browser.fill("#name", "ada two").await;
        browser.fill("#password", "long enough").await;
        browser.click(SUBMIT).await;
        browser.shows("h1", "Allow Demo?").await;
        browser.back().await;
        browser.shows("h1", "Make an account").await;
        assert!(!browser.has("p[role=alert]").await);
        browser.forward().await;
        browser.shows("h1", "Allow Demo?").await;
        browser.shows("strong", "ada two").await;
    }
}
