//! Sign-in and consent, from the client to its code, and their errors.

use testkit::{Browser, ENTER, TAB};

use super::{
    fixture::{ALLOW, DENY, SUBMIT, Visit},
    service::{NAME, PASSWORD},
};

testkit::on_one_engine! {
    async fn user_signs_in_consents_and_returns_with_a_code(visit: Visit) {
        let browser = &visit.browser;
        visit.open(&[("scope", "read write")]).await;
        visit.sign_in(NAME, PASSWORD).await;
        browser.shows("h1", "Allow Demo?").await;
        browser.shows("li", "see your bookings").await;
        browser.shows("li", "book for you").await;
        browser.click(ALLOW).await;
        let code = visit.code().await;
        browser.shows("h1", "Back").await;
        assert!(browser.url().await.starts_with(&visit.callback.url));
        assert_eq!(visit.account_of(&code).await, visit.harness.account.to_string());
        visit.nothing_was_forbidden().await;
    }

    async fn wrong_password_is_reported_and_the_name_kept(visit: Visit) {
        let browser = &visit.browser;
        visit.open(&[]).await;
        visit.sign_in(NAME, "a wrong one").await;
        browser.shows("p[@role='alert']", "The name or the password is wrong.").await;
        assert_eq!(browser.property("#name", "value").await, NAME);
        assert_eq!(browser.property("#password", "value").await, "");
        browser.finds("#password:focus[aria-invalid=true][aria-describedby=fault]").await;
        visit.stays_here().await;
        browser.press(&format!("{PASSWORD}{ENTER}")).await;
        browser.shows("h1", "Allow Demo?").await;
        browser.click(ALLOW).await;
        visit.code().await;
    }

    async fn user_can_deny_consent(visit: Visit) {
        visit.come_to_consent().await;
        visit.browser.click(DENY).await;
        let answer = visit.callback.answer().await;
        let expected = [
            ("error", "access_denied"),
            ("error_description", "the request was denied"),
            ("state", "st/ate"),
            ("iss", &visit.harness.service.issuer),
        ];
        assert_eq!(answer, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        visit.browser.shows("h1", "Back").await;
        visit.nothing_was_forbidden().await;
    }

    async fn keyboard_is_enough_to_sign_in(visit: Visit) {
        let browser = &visit.browser;
        visit.open(&[]).await;
        browser.finds("#name:focus").await;
        browser.press(&format!("{NAME}{TAB}")).await;
        browser.finds("#password:focus").await;
        browser.press(&format!("{PASSWORD}{TAB}")).await;
        browser.finds("button[value=sign-in]:focus-visible").await;
        browser.press(&ENTER.to_string()).await;
        browser.shows("h1", "Allow Demo?").await;
        for next in ["allow", "deny", "switch"] {
            browser.press(&TAB.to_string()).await;
            browser.finds(&format!("button[value={next}]:focus-visible")).await;
        }
        // Loaded anew, so that the focus is where it begins.
        visit.open(&[]).await;
        browser.press(&format!("{TAB}{ENTER}")).await;
        visit.code().await;
    }

    async fn sign_in_works_without_scripts(visit: Visit) {
        let browser = &visit.browser;
        browser.disable_scripts().await;
        browser.go(&visit.callback.url).await;
        assert_eq!(visit.callback.answer().await, []);
        assert_eq!(browser.title().await, "Client", "the page's script ran");
        visit.open(&[]).await;
        browser.click("p a").await;
        browser.shows("h1", "Make an account").await;
        browser.click("p a").await;
        visit.sign_in(NAME, PASSWORD).await;
        browser.shows("h1", "Allow Demo?").await;
        browser.click(ALLOW).await;
        let code = visit.code().await;
        assert_eq!(browser.title().await, "Client", "the page's script ran");
        assert_eq!(visit.account_of(&code).await, visit.harness.account.to_string());
    }

    async fn sign_in_works_over_http_with_a_host_name(visit: Visit) {
        // To such a service, browsers send no Sec-Fetch-Site header.
        let browser = Browser::start_with(&["--host-resolver-rules=MAP service.test 127.0.0.1"]).await;
        browser.go(&visit.address(&[]).replacen("127.0.0.1", "service.test", 1)).await;
        browser.fill("#name", NAME).await;
        browser.fill("#password", PASSWORD).await;
        browser.click(SUBMIT).await;
        browser.shows("h1", "Allow Demo?").await;
        browser.click(ALLOW).await;
        visit.code().await;
    }
}
