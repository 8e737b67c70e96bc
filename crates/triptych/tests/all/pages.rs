//! The documentation page of each service in a real browser: every operation is sent as the page fills it in.

use std::collections::BTreeMap;

use crate::common::Workspace;
use serde_json::{Value, json};
use testkit::{Browser, ESCAPE, Engine, Program, Store};

/// A script that clicks the visible button with this text inside of an element, and gives whether there is one.
fn click_text(inside: &str, text: &str) -> String {
    format!(
        "const button = [...document.querySelectorAll({inside:?} + ' button')]
             .find((button) => button.textContent.trim() === {text:?} && button.offsetWidth > 0);
         button?.click();
         return button !== undefined;"
    )
}

/// A script that tells whether there is such a button.
fn has_text(inside: &str, text: &str) -> String {
    click_text(inside, text).replace("button?.click();", "")
}

/// The calls that the page has sent to an API below this path.
fn calls(prefix: &str) -> String {
    format!(
        "performance.getEntriesByType('resource').filter((call) => call.initiatorType === 'fetch'
             && new URL(call.name).pathname.startsWith({prefix:?}) && !call.name.endsWith('/openapi.json'))"
    )
}

/// The button of the dialog that sends the operation. It is always there, also when the dialog is not shown.
const SEND: &str = "[role=dialog] button.scalar-button-solid";

/// The documentation page of a new demo.
struct Documentation {
    // First, so that it is closed before the program.
    browser: Browser,
    /// The identifier of each operation on the page, by its id in the document.
    operations: BTreeMap<String, String>,
    prefix: String,
    /// Whether the dialog that sends operations is shown.
    is_open: bool,
    _program: Program,
    _workspace: Workspace,
}

impl Documentation {
    async fn open(service: &str) -> Self {
        let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
        // On every day a ticket for the same day can be bought.
        let program = Program::start(workspace.serving().env("TRIPTYCH_MUSEUM_CLOSED_ON", "[]"));
        let address = program.address(service);
        let document = testkit::Client::new(address).get("/openapi.json").send().await.json();
        let browser = Browser::start().await;
        // Wide enough for both sidebars, and low: pages take less time to draw.
        browser.resize(1280, 400).await;
        browser.go(&format!("http://{address}/docs/")).await;
        let server = document["servers"][0]["url"].as_str().unwrap();
        let prefix = server.split(&address.to_string()).last().unwrap().to_owned();
        Documentation {
            browser,
            operations: identifiers(&document),
            prefix: format!("{}/", prefix.trim_end_matches('/')),
            is_open: false,
            _program: program,
            _workspace: workspace,
        }
    }

    /// Signs in by OAuth as demo.
    async fn sign_in(&self) {
        let browser = &self.browser;
        let page = browser.window().await;
        assert_eq!(browser.settles(&click_text("main", "Authorize"), &json!(true)).await, true);
        let windows = browser.windows(2).await;
        browser.go_to_window(windows.iter().find(|window| **window != page).unwrap()).await;
        browser.shows("h1", "Sign in").await;
        browser.fill("#name", "demo").await;
        browser.fill("#password", "demo").await;
        // The page of the service needs no consent.
        browser.click("form button").await;
        browser.windows(1).await;
        browser.go_to_window(&page).await;
        assert_eq!(browser.settles(&has_text("main", "Clear"), &json!(true)).await, true);
    }

    /// Sends an operation as the page fills it in, and asserts the status of the answer. The first one is opened on the page, and the
    /// others are selected in the dialog of the first.
    async fn sends(&mut self, id: &str, status: u16) {
        let place = self
            .operations
            .remove(id)
            .unwrap_or_else(|| panic!("{id} was sent before, or there is no such operation"));
        let browser = &self.browser;
        let entry = format!("[data-sidebar-id={place:?}] button");
        if self.is_open {
            let listed = format!("[role=dialog] {entry}");
            if !browser.has(&listed).await {
                // Its tag lists it.
                let tag = place.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
                self.clicks(&format!("[role=dialog] [data-sidebar-id={tag:?}] button")).await;
            }
            self.clicks(&listed).await;
        } else {
            self.clicks(&entry).await;
            self.clicks(&format!("[id={place:?}] button.show-api-client-button")).await;
            self.is_open = true;
        }
        let mut parts = place.splitn(5, '/').skip(3);
        let (method, path) = (parts.next().unwrap(), parts.next().unwrap());
        let sends = format!(" {} request to ", method.to_lowercase());
        let shown = format!(
            "const send = document.querySelector({SEND:?}), text = send?.textContent.trim() ?? '';
             return send?.offsetWidth > 0 && text.includes({sends:?}) && text.endsWith('/{path}')"
        );
        let is_shown = browser.settles(&shown, &json!(true)).await;
        assert_eq!(is_shown, true, "{id}: {}", browser.text("[role=dialog]").await);
        let calls = calls(&self.prefix);
        let before = browser.run(&format!("return {calls}.length")).await.as_u64().unwrap();
        self.clicks(SEND).await;
        let last = format!(
            "const calls = {calls}; return calls.length > {before} ? calls.at(-1).responseStatus : 0"
        );
        let found = browser.settles(&last, &json!(status)).await;
        assert_eq!(found, status, "{id}: {}", browser.text("[role=dialog]").await);
    }

    /// Clicks an element that may be below another one. The page may replace it at any time, so it is found and clicked in one step.
    async fn clicks(&self, css: &str) {
        let script =
            format!("const found = document.querySelector({css:?}); found?.click(); return found !== null");
        assert_eq!(self.browser.settles(&script, &json!(true)).await, true, "{css}");
    }

    /// Closes the dialog, and asserts that every operation was sent, that the page needed nothing that its policy forbids, and that it
    /// left no credentials behind.
    async fn is_complete(&self) {
        assert_eq!(self.operations, BTreeMap::new());
        self.browser.press(&ESCAPE.to_string()).await;
        let shown = format!("return document.querySelector({SEND:?})?.offsetWidth > 0");
        assert_eq!(self.browser.settles(&shown, &json!(false)).await, false);
        let mut reports = self.browser.reports().await;
        // The reference prints its version.
        reports.retain(|(_, message)| !message.ends_with("\"@scalar/api-reference@1.50.0\""));
        assert_eq!(reports, []);
        let stored =
            self.browser.run("return JSON.stringify([{...localStorage}, {...sessionStorage}])").await;
        assert!(!stored.as_str().unwrap().contains("eyJ"), "{stored}");
    }
}

fn identifiers(document: &Value) -> BTreeMap<String, String> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, operation)| {
            let tag = operation["tags"][0].as_str().unwrap().to_lowercase();
            let id = operation["operationId"].as_str().unwrap().to_owned();
            (id, format!("api-1/tag/{tag}/{}{path}", method.to_uppercase()))
        })
    });
    operations.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn documentation_page_sends_every_operation_of_the_pet_store() {
    let mut page = Documentation::open("petstore").await;
    page.sign_in().await;
    for id in [
        // The page first sends an image and gets its pet.
        "getImage",
        // Users need a session, of which the page keeps the token.
        "loginUser",
        "createUser",
        "createUsersWithListInput",
        "getUserByName",
        "updateUser",
        "uploadFile",
        "getPetById",
        "addPet",
        "updatePet",
        "updatePetWithForm",
        "findPetsByStatus",
        "findPetsByTags",
        "getInventory",
        "placeOrder",
        "getOrderById",
        "deleteOrder",
        "deletePet",
        "deleteUser",
        "logoutUser",
    ] {
        page.sends(id, 200).await;
    }
    page.is_complete().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documentation_page_sends_every_operation_of_train_travel() {
    let mut page = Documentation::open("train").await;
    page.sign_in().await;
    for (id, status) in [
        // The page first makes what an operation needs: a paid booking, another one to pay for, an inbox, a webhook.
        ("get-booking-qr", 200),
        ("get-stations", 200),
        ("get-station", 200),
        ("get-trips", 200),
        ("get-trip", 200),
        ("create-booking-payment", 200),
        ("get-booking", 200),
        ("delete-booking", 204),
        ("create-booking", 201),
        ("get-bookings", 200),
        ("get-inbox", 200),
        ("delete-inbox", 204),
        ("create-inbox", 201),
        ("get-inboxes", 200),
        ("get-webhook", 200),
        ("create-webhook", 201),
        ("get-webhooks", 200),
        ("rotate-webhook-secret", 200),
        ("test-webhook", 202),
        ("redeliver-webhook", 200),
        ("delete-webhook", 204),
    ] {
        page.sends(id, status).await;
    }
    page.is_complete().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documentation_page_sends_every_operation_of_the_museum() {
    let mut page = Documentation::open("museum").await;
    for (id, status) in [
        // The page first buys a ticket.
        ("getTicketPass", 200),
        ("getMuseumHours", 200),
        ("getMuseumTime", 200),
        ("createSpecialEvent", 201),
        ("listSpecialEvents", 200),
        ("getSpecialEvent", 200),
        ("buyMuseumTickets", 201),
        ("getTicketQrCode", 200),
        ("admitTicket", 201),
        ("getTicketAdmissions", 200),
        ("updateSpecialEvent", 200),
        ("deleteSpecialEvent", 204),
    ] {
        page.sends(id, status).await;
    }
    page.is_complete().await;
}
