//! Properties of every page: structure, accessibility, content security policy.

use serde_json::json;

use super::{
    fixture::{SUBMIT, Visit},
    service::{NAME, PASSWORD},
};

/// Lists what on the page is hard to read or to hit: text with a contrast under 4.5, fields whose border has one under
/// 3, controls under 44 pixels, and a page wider than the screen.
const HARD_TO_USE: &str = include_str!("hard_to_use.js");

/// Opens each page in turn, and runs the closure on it.
async fn on_every_page(visit: &Visit, look: impl AsyncFn(&str)) {
    let browser = &visit.browser;
    let issuer = &visit.harness.service.issuer;
    visit.open(&[("client_id", "nobody")]).await;
    look("message").await;
    visit.open(&[("scope", "read write")]).await;
    look("sign-in").await;
    visit.sign_in(NAME, "a wrong one").await;
    browser.finds("p[role=alert]").await;
    look("sign-in with a fault").await;
    browser.click("p a").await;
    browser.shows("h1", "Make an account").await;
    look("sign-up").await;
    visit.open(&[("scope", "read write")]).await;
    visit.sign_in(NAME, PASSWORD).await;
    browser.shows("h1", "Allow Demo?").await;
    look("consent").await;
    browser.go(&format!("{issuer}/oauth/sign-out")).await;
    look("sign-out").await;
    browser.click(SUBMIT).await;
    browser.shows("h1", "You are signed out").await;
    look("signed out").await;
}

testkit::on_one_engine! {
    async fn pages_have_titles_labels_and_a_language(visit: Visit) {
        let browser = &visit.browser;
        on_every_page(&visit, async |page| {
            let heading = browser.text("main > h1").await;
            assert_eq!(browser.title().await, format!("{heading} · Test service"), "{page}");
            let facts = "return [document.documentElement.lang, document.querySelectorAll('h1').length, \
                         document.compatMode, document.scripts.length]";
            assert_eq!(browser.run(facts).await, json!(["en", 1, "CSS1Compat", 0]), "{page}");
            for (field, name) in [("#name", "Name"), ("#password", "Password")] {
                if browser.has(field).await {
                    assert_eq!(browser.spoken_name(field).await, name, "{page}");
                    assert!(browser.has(&format!("label[for={}]", &field[1..])).await, "{page}");
                }
            }
            let unnamed = "return [...document.querySelectorAll('input:not([type=hidden]), button, a')]\
                           .filter(one => !one.labels?.length && !one.textContent.trim()).length";
            assert_eq!(browser.run(unnamed).await, 0, "{page}");
        })
        .await;
        visit.nothing_was_forbidden().await;
    }

    async fn injected_content_is_blocked_by_the_content_security_policy(visit: Visit) {
        let browser = &visit.browser;
        let plant = "
            window.forbidden = [];
            document.addEventListener('securitypolicyviolation', event => forbidden.push(event.effectiveDirective));
            const plant = (tag, set) => document.body.append(Object.assign(document.createElement(tag), set));
            plant('script', {textContent: 'window.planted = true'});
            plant('script', {src: '/planted.js'});
            plant('style', {textContent: 'body { opacity: 0 }'});
            plant('img', {src: 'http://planted.test/planted.png'});
            plant('iframe', {src: '/planted'});
            plant('form', {action: 'http://planted.test/', method: 'post', id: 'away'});
            document.querySelector('#away').submit();";
        let expected = ["form-action", "frame-src", "img-src", "script-src-elem", "script-src-elem", "style-src-elem"];
        on_every_page(&visit, async |page| {
            browser.run(plant).await;
            let found = browser.settles("return forbidden.slice().sort()", &json!(expected)).await;
            assert_eq!(found, json!(expected), "{page}");
            let effect = "return [window.planted, getComputedStyle(document.body).opacity]";
            assert_eq!(browser.run(effect).await, json!([null, "1"]), "{page}");
            // Away with it, before the page is used further.
            browser.run("document.querySelectorAll('body > :not(main)').forEach(one => one.remove())").await;
        })
        .await;
    }

    async fn pages_have_enough_contrast_and_large_targets(visit: Visit) {
        let browser = &visit.browser;
        for (width, height, dark) in [(390, 844, false), (1280, 800, true), (320, 568, true)] {
            browser.resize(width, height).await;
            browser.prefer_dark(dark).await;
            on_every_page(&visit, async |page| {
                let faults = browser.run(HARD_TO_USE).await;
                assert_eq!(faults, json!([]), "{page} at {width} × {height}, dark: {dark}");
            })
            .await;
        }
    }

    async fn invalid_requests_end_on_an_error_page_without_redirect(visit: Visit) {
        let elsewhere = visit.callback.url.replace("/callback", "/elsewhere");
        for (change, says) in [
            (("client_id", "nobody"), "No application is registered under this client_id."),
            (("client_id", ""), "The request does not say which application it comes from."),
            (
                ("redirect_uri", elsewhere.as_str()),
                "The application is not registered for the address it wants you returned to.",
            ),
            (
                ("redirect_uri", "https://planted.test/callback"),
                "The application is not registered for the address it wants you returned to.",
            ),
        ] {
            visit.open(&[change]).await;
            visit.browser.shows("h1", "This request cannot be answered").await;
            visit.browser.shows("p", says).await;
            // The only way on is to the start page of the service.
            assert!(!visit.browser.has("form, a:not([href='/'])").await, "{change:?}");
            visit.stays_here().await;
        }
    }
}
