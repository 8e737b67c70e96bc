//! The pages of the running program in a real browser.

use crate::common::Workspace;
use testkit::{Browser, Engine, Program, Store};

/// Signs in from a service's documentation page, and calls an operation there; gives the status that it shows.
async fn try_out(
    program: &Program,
    service: &str,
    (name, password): (&str, &str),
    operation: &str,
) -> String {
    let browser = Browser::start().await;
    browser.resize(1200, 1600).await;
    browser.go(&format!("http://{}/docs/", program.address(service))).await;
    browser.finds(".btn.authorize").await;
    browser.click(".btn.authorize").await;
    // The scopes are already selected.
    browser.finds(".modal-ux .scopes input:checked").await;
    let page = browser.window().await;
    browser.click(".auth-container:has(.scopes) button.authorize").await;
    let windows = browser.windows(2).await;
    browser.go_to_window(windows.iter().find(|window| **window != page).unwrap()).await;
    browser.shows("h1", "Sign in").await;
    browser.fill("#name", name).await;
    browser.fill("#password", password).await;
    browser.click("form button").await;
    browser.shows("h1", "Allow Demo?").await;
    browser.click("button[value=allow]").await;
    browser.windows(1).await;
    browser.go_to_window(&page).await;
    browser.finds(".btn.authorize.locked").await;
    browser.click(".modal-ux .close-modal").await;
    browser.click(&format!("#operations-{operation} .opblock-summary-control")).await;
    let execute = format!("#operations-{operation} .execute");
    browser.finds(&execute).await;
    browser.click(&execute).await;
    let status = format!("#operations-{operation} .live-responses-table tbody .response-col_status");
    browser.finds(&status).await;
    let status = browser.text(&status).await;
    // The page needs nothing that its policy forbids, and leaves no credentials behind.
    let reports = browser.reports().await;
    let forbidden: Vec<_> = reports.iter().filter(|(source, _)| source == "security").collect();
    assert!(forbidden.is_empty(), "{forbidden:?}");
    assert_eq!(browser.run("return localStorage.length + sessionStorage.length").await, 0);
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn documentation_page_signs_in_and_calls_the_api() {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let program = workspace.serve();
    let pets = try_out(&program, "petstore", ("demo", "demo"), "pet-findPetsByStatus").await;
    assert_eq!(pets.lines().next(), Some("200"));
    let stations = try_out(&program, "train", ("alice", "alice"), "Stations-get-stations").await;
    assert_eq!(stations.lines().next(), Some("200"));
}
