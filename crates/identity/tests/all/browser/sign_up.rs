//! Creating an account during the authorization of a client.

use super::{
    fixture::{ALLOW, SUBMIT, Visit},
    service::NAME,
};

/// Opens the page for new accounts from the sign-in page.
async fn choose_to_sign_up(visit: &Visit) {
    visit.open(&[]).await;
    visit.browser.shows("h1", "Sign in").await;
    visit.browser.click("p a").await;
    visit.browser.shows("h1", "Make an account").await;
}

testkit::on_one_engine! {
    async fn new_account_continues_to_the_client(visit: Visit) {
        let browser = &visit.browser;
        choose_to_sign_up(&visit).await;
        browser.finds("#name:focus").await;
        browser.fill("#name", "grace").await;
        browser.fill("#password", "long enough").await;
        browser.click(SUBMIT).await;
        browser.shows("h1", "Allow Demo?").await;
        browser.shows("strong", "grace").await;
        browser.click(ALLOW).await;
        let account = visit.account_of(&visit.code().await).await;
        assert_ne!(account, visit.harness.account.to_string());
        visit.nothing_was_forbidden().await;

        // The account outlives the browser's session.
        browser.go(&format!("{}/oauth/sign-out", visit.harness.service.issuer)).await;
        browser.click(SUBMIT).await;
        browser.shows("h1", "You are signed out").await;
        visit.open(&[]).await;
        visit.sign_in("grace", "long enough").await;
        browser.shows("h1", "Allow Demo?").await;
        browser.click(ALLOW).await;
        assert_eq!(visit.account_of(&visit.code().await).await, account);
    }

    async fn taken_name_can_be_replaced(visit: Visit) {
        let browser = &visit.browser;
        choose_to_sign_up(&visit).await;
        browser.fill("#name", NAME).await;
        browser.fill("#password", "long enough").await;
        browser.click(SUBMIT).await;
        browser.shows("p[@role='alert']", "This name is taken. Choose another one.").await;
        assert_eq!(browser.property("#name", "value").await, NAME);
        browser.finds("#name:focus").await;
        browser.clear("#name").await;
        browser.fill("#name", "ada two").await;
        browser.fill("#password", "long enough").await;
        browser.click(SUBMIT).await;
        browser.shows("h1", "Allow Demo?").await;
    }

    async fn short_password_is_rejected_by_browser_and_server(visit: Visit) {
        let browser = &visit.browser;
        choose_to_sign_up(&visit).await;
        browser.fill("#name", "grace").await;
        browser.fill("#password", "short").await;
        let before = browser.run("document.marked = true; return location.href").await;
        browser.click(SUBMIT).await;
        browser.finds("#password:invalid:focus").await;
        let after = browser.run("return document.marked ? location.href : 'another page'").await;
        assert_eq!(after, before);

        browser.run("document.forms[0].noValidate = true").await;
        browser.click(SUBMIT).await;
        browser.finds("p[role=alert]").await;
        let fault = browser.text("p[role=alert]").await;
        assert!(fault.contains("at least 8 characters"), "{fault}");
        assert_eq!(browser.property("#name", "value").await, "grace");
        assert_eq!(browser.property("#password", "value").await, "");
        browser.finds("#password:focus").await;
        visit.stays_here().await;
    }
}
