//! The pages of the running program in a real browser.

use crate::common::Workspace;
use serde_json::json;
use testkit::{Browser, Engine, Program, Store};

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

/// Signs in from a service's documentation page, and sends the example of an operation; gives the status that the page shows.
async fn try_out(
    program: &Program,
    service: &str,
    (name, password): (&str, &str),
    operation: &str,
) -> String {
    let browser = Browser::start().await;
    browser.resize(1200, 1600).await;
    browser.go(&format!("http://{}/docs/", program.address(service))).await;
    let page = browser.window().await;
    assert_eq!(browser.settles(&click_text("main", "Authorize"), &json!(true)).await, true);
    let windows = browser.windows(2).await;
    browser.go_to_window(windows.iter().find(|window| **window != page).unwrap()).await;
    browser.shows("h1", "Sign in").await;
    browser.fill("#name", name).await;
    browser.fill("#password", password).await;
    // The page of the service needs no consent.
    browser.click("form button").await;
    browser.windows(1).await;
    browser.go_to_window(&page).await;
    assert_eq!(browser.settles(&has_text("main", "Clear"), &json!(true)).await, true);
    browser.run(&format!("document.querySelector('[data-sidebar-id={operation:?}] button').click()")).await;
    let test = format!("[id={operation:?}] button.show-api-client-button");
    browser.finds(&test).await;
    browser.run(&format!("document.querySelector({test:?}).click()")).await;
    let send = "[role=dialog] button.scalar-button-solid";
    browser.finds(send).await;
    browser.run(&format!("document.querySelector({send:?}).click()")).await;
    let path = operation.split_once("/GET").expect("a path").1;
    let status = format!(
        "const called = performance.getEntriesByType('resource').findLast((entry) => entry.name.includes({path:?}));
         return String(called?.responseStatus);"
    );
    let status = browser.settles(&status, &json!("200")).await;
    // The page needs nothing that its policy forbids, and leaves no credentials behind.
    let reports = browser.reports().await;
    let forbidden: Vec<_> = reports.iter().filter(|(source, _)| source == "security").collect();
    assert!(forbidden.is_empty(), "{forbidden:?}");
    let stored = browser.run("return JSON.stringify([{...localStorage}, {...sessionStorage}])").await;
    assert!(!stored.as_str().unwrap().contains("eyJ"), "{stored}");
    status.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn documentation_page_signs_in_and_calls_the_api() {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let program = workspace.serve();
    let pets = try_out(&program, "petstore", ("demo", "demo"), "api-1/tag/pet/GET/pet/findByStatus").await;
    assert_eq!(pets, "200");
    let stations = try_out(&program, "train", ("alice", "alice"), "api-1/tag/stations/GET/stations").await;
    assert_eq!(stations, "200");
}
