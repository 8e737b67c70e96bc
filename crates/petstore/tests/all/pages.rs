//! The pages in a real browser.

use serde_json::json;
use testkit::{Browser, Engine, Store};

use crate::fixture::{Open, with_demo};

/// A picture of one dot.
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// The store and a browser.
struct Visit {
    // First, so that it is closed before the service.
    browser: Browser,
    open: Open,
}

impl Visit {
    async fn start() -> Self {
        let open = Open::on(Store::new(Engine::Sqlite), with_demo()).await;
        let browser = Browser::start().await;
        browser.resize(1440, 900).await;
        Visit { browser, open }
    }

    async fn go(&self, path: &str) {
        self.browser.go(&format!("{}{path}", self.open.address)).await;
    }

    /// Waits until a script has this result.
    async fn settles(&self, script: &str, wanted: serde_json::Value) {
        assert_eq!(self.browser.settles(&format!("return {script}"), &wanted).await, wanted, "{script}");
    }

    /// The browser reported nothing but refused calls, and the page is not wider than the window.
    async fn is_in_order(&self, refused: usize) {
        let reports = self.browser.reports().await;
        let others: Vec<_> = reports.iter().filter(|(source, _)| source != "network").collect();
        assert!(others.is_empty(), "{others:?}");
        assert_eq!(reports.len(), refused, "{reports:?}");
        assert_eq!(
            self.browser.run("return document.documentElement.scrollWidth <= innerWidth").await,
            json!(true)
        );
    }
}

const NAMES: &str = "[...document.querySelectorAll('#pets h3')].map((name) => name.textContent).join()";
const COUNTS: &str =
    "[...document.querySelectorAll('.tile .number')].map((number) => number.textContent).join()";

#[tokio::test(flavor = "multi_thread")]
async fn visitor_adds_a_pet_with_a_photo_and_orders_it() {
    let visit = Visit::start().await;
    let browser = &visit.browser;
    let photo = std::env::temp_dir().join(format!("photo-{}.gif", std::process::id()));
    std::fs::write(&photo, GIF).unwrap();
    for (width, height, dark, id) in [(1440, 900, false, 11), (390, 844, true, 12)] {
        browser.resize(width, height).await;
        browser.prefer_dark(dark).await;
        visit.go("/").await;
        let before = id - 11;
        visit.settles(COUNTS, json!(format!("{},{},2,2", 11 + before, 7 + before))).await;
        // All calls of the page were answered: a later one would be above the next on the wire.
        visit.settles("document.querySelectorAll('#pets h3').length > 0", json!(true)).await;

        // A pet without a name is refused by the store, at its field and on the wire.
        browser.click("#add").await;
        browser.click("dialog .primary").await;
        visit
            .settles(
                "document.querySelector('#pet-name').getAttribute('aria-describedby')",
                json!("fault-name"),
            )
            .await;
        assert_eq!(browser.text("#fault-name").await, "must not be empty");
        visit
            .settles(
                "document.querySelector('#wire-calls summary').textContent.startsWith('POST/v3/pet4')",
                json!(true),
            )
            .await;

        browser.fill("#pet-name", "Fluffy").await;
        browser.fill("#pet-category", "Rabbits").await;
        browser.fill("#pet-tags", "soft, small").await;
        browser.click("dialog .primary").await;
        visit.settles(COUNTS, json!(format!("{},{},2,2", 12 + before, 8 + before))).await;
        assert_eq!(browser.text("#pets li:first-child h3").await, "Fluffy");
        visit.settles("document.querySelector('#pets img').naturalWidth > 0", json!(true)).await;

        browser.run("document.querySelector('#pets h3 a').click()").await;
        browser.shows("h1", "Fluffy").await;
        assert_eq!(browser.url().await, format!("{}/app/pet?id={id}", visit.open.address));
        browser.fill("#photo", photo.to_str().unwrap()).await;
        browser.click(".preview .primary").await;
        browser.finds(".thumb[aria-label='Photo 1']").await;
        visit.settles("document.querySelector('.gallery .large').naturalWidth", json!(1)).await;

        browser.clear("#quantity").await;
        browser.fill("#quantity", "0").await;
        // Not below the bar of the wire, which the driver does not see as in the way.
        browser
            .run("document.querySelector('form .primary').scrollIntoView({ block: 'center', behavior: 'instant' })")
            .await;
        browser.click("form .primary").await;
        assert_eq!(browser.text("#fault-quantity").await, "must be a whole number from 1 to 2147483647");
        browser.clear("#quantity").await;
        browser.fill("#quantity", "2").await;
        browser.click("form .primary").await;
        browser.finds(&format!("#order-{id} [aria-current=step]")).await;
        assert_eq!(
            browser.run("return document.querySelector('[aria-current=step]').textContent").await,
            json!("placed")
        );
        let order = visit.open.order(id).await.json();
        assert_eq!((&order["petId"], &order["quantity"]), (&json!(id), &json!(2)));
        visit.is_in_order(2).await;

        visit.go("/app/orders").await;
        browser.click(&format!("#order-{id} .danger")).await;
        browser.click("dialog .danger").await;
        browser.shows("p", "You have not ordered anything yet.").await;
        visit.open.order(id).await.is_problem(404, "not-found");
        visit.is_in_order(0).await;
    }
    std::fs::remove_file(photo).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_are_in_the_address() {
    let visit = Visit::start().await;
    let browser = &visit.browser;
    visit.go("/?status=pending").await;
    visit.settles(NAMES, json!("Pixel,Rex")).await;
    browser.click(".tile.sold").await;
    visit.settles(NAMES, json!("Waldi,Hopper")).await;
    browser.click("#tags .chip:first-child").await;
    visit.settles(NAMES, json!("Waldi,Hopper")).await;
    assert_eq!(browser.url().await, format!("{}/?status=sold&tags=tag3", visit.open.address));
    browser.back().await;
    browser.back().await;
    visit.settles(NAMES, json!("Pixel,Rex")).await;
    visit.go("/?status=available&tags=tag3,tag1").await;
    visit.settles(NAMES, json!("Minka,Tiger,Bello,Leo,Nala,Sphinx,doggie")).await;
    // The same calls in XML.
    browser.click("#format button:last-child").await;
    visit
        .settles("document.querySelectorAll('#format [aria-pressed=true]')[0].textContent", json!("XML"))
        .await;
    visit.settles(NAMES, json!("Minka,Tiger,Bello,Leo,Nala,Sphinx,doggie")).await;
    browser.click("#wire-calls summary").await;
    visit
        .settles(
            "document.querySelector('#wire-calls pre').textContent.includes('accept: application/xml')",
            json!(true),
        )
        .await;
    visit.is_in_order(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn visitor_signs_up_logs_out_and_deletes_the_account() {
    let visit = Visit::start().await;
    let browser = &visit.browser;
    visit.go("/app/account").await;
    browser.fill("#up-username", "demo").await;
    browser.fill("#up-password", "a long password").await;
    browser.click("#up-heading ~ form .primary").await;
    browser.shows("div", "There is a user named demo already; choose another username.").await;
    browser.clear("#up-username").await;
    browser.fill("#up-username", "bea").await;
    browser.fill("#up-firstName", "Bea").await;
    browser.click("#up-heading ~ form .primary").await;
    browser.shows("h2", "Profile of bea").await;
    browser.clear("#me-firstName").await;
    browser.fill("#me-firstName", "Beatrice").await;
    browser.click("#me-heading ~ form .primary").await;
    browser.shows("div", "Saved.").await;
    assert_eq!(visit.open.user("bea").await.json()["firstName"], "Beatrice");
    browser.click("#session-heading ~ .row button:first-child").await;
    browser.fill("#in-username", "bea").await;
    browser.fill("#in-password", "wrong").await;
    browser.click("#in-heading ~ form .primary").await;
    browser.shows("div", "The username or the password is wrong.").await;
    browser.clear("#in-password").await;
    browser.fill("#in-password", "a long password").await;
    browser.click("#in-heading ~ form .primary").await;
    browser.shows("h2", "Profile of bea").await;
    browser.click("#session-heading ~ .row .danger").await;
    browser.click("dialog .danger").await;
    browser.shows("h2", "Sign up").await;
    visit.open.user("bea").await.is_problem(404, "not-found");
    // The wire shows and stores no password.
    let stored = browser.run("return JSON.stringify({...sessionStorage}) + document.body.textContent").await;
    let stored = stored.as_str().unwrap();
    assert!(stored.contains("/user/login?username=bea&password=…"), "{stored}");
    assert!(!stored.contains("long+password") && !stored.contains("long password"), "{stored}");
    visit.is_in_order(2).await;
}
