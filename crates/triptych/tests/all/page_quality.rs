//! Every page in a real browser, wide and light and narrow and dark: axe-core finds no fault, the browser reports nothing, the page
//! loads nothing from other hosts, and it is small.

use std::fs;

use crate::{common::Workspace, docs::root};
use serde_json::{Value, json};
use testkit::{Browser, Client, Engine, Program, Store};

/// The most bytes of a page with all that it loads, as they are sent.
const LARGEST: u64 = 150 * 1024;

const PAGES: &[(&str, &[&str])] = &[
    (
        "petstore",
        &[
            "/",
            "/app/pet?id=1",
            "/app/orders",
            "/app/account",
            "/problems",
            "/problems/not-found",
            "/nowhere",
        ],
    ),
    ("train", &["/", "/app/booking", "/app/bookings", "/app/webhooks", "/problems"]),
    (
        "museum",
        &[
            "/",
            "/app/events",
            "/app/event?id=dad4bce8-f5cb-4078-a211-995864315e39",
            "/app/buy",
            "/app/tickets",
            // Leads to the list.
            "/app/ticket",
            "/app/check",
            "/problems",
        ],
    ),
];

#[derive(Clone, Copy)]
struct Window {
    width: u32,
    height: u32,
    dark: bool,
}

const WIDE: Window = Window { width: 1440, height: 900, dark: false };
const NARROW: Window = Window { width: 390, height: 844, dark: true };

struct Examiner {
    // First, so that it is closed before the program.
    browser: Browser,
    program: Program,
    axe: String,
    _workspace: Workspace,
}

impl Examiner {
    async fn start() -> Self {
        let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
        let program = workspace.serve();
        let axe = root().join("target/node/node_modules/axe-core/axe.min.js");
        let axe = fs::read_to_string(&axe)
            .unwrap_or_else(|error| panic!("{}: {error}; tools/install installs it", axe.display()));
        Examiner { browser: Browser::start().await, program, axe, _workspace: workspace }
    }

    /// Examines a page on a wide and on a narrow window.
    async fn examine(&self, service: &str, path: &str) {
        for window in [WIDE, NARROW] {
            self.load(service, path, window).await;
            self.browser.run(&self.axe).await;
            let faults = self.browser.run(
                "return axe.run(document).then((found) => found.violations.map((fault) =>
                     [fault.id, fault.nodes.map((node) => node.target.join(' ') + ': ' + node.failureSummary)]))",
            );
            assert_eq!(faults.await, json!([]), "{service}{path} at {}", window.width);
        }
    }

    /// Loads a page: it is small, is not wider than the window, loads nothing from other hosts, and the browser reports nothing.
    async fn load(&self, service: &str, path: &str, window: Window) {
        let address = format!("http://{}{path}", self.program.address(service));
        let Window { width, height, dark } = window;
        let browser = &self.browser;
        browser.resize(width, height).await;
        browser.prefer_dark(dark).await;
        browser.go(&address).await;
        // Nothing is being loaded any more.
        let is_idle = "const calls = performance.getEntriesByType('resource');
             const last = Math.max(...calls.map((call) => call.responseEnd), 0);
             return document.readyState === 'complete' && !document.querySelector('[aria-busy=true]')
                 && performance.now() - last > 300";
        assert_eq!(browser.settles(is_idle, &json!(true)).await, true, "{address}");
        let loaded = browser
            .run(
                "const calls = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
                 return {
                     bytes: calls.reduce((sum, call) => sum + call.encodedBodySize, 0),
                     others: calls.map((call) => call.name).filter((name) => new URL(name).host !== location.host),
                 }",
            )
            .await;
        assert_eq!(loaded["others"], json!([]), "{address}");
        let bytes = loaded["bytes"].as_u64().unwrap();
        assert!((1..LARGEST).contains(&bytes), "{address}: {bytes} bytes");
        let wide = browser.run("return document.documentElement.scrollWidth <= innerWidth").await;
        assert_eq!(wide, Value::Bool(true), "{address} is wider than {width}");
        // A page that is not found is reported by the browser itself.
        let reports = browser.reports().await;
        let expected = usize::from(path.ends_with("/nowhere"));
        assert_eq!(reports.len(), expected, "{address}: {reports:?}");
    }
}

/// Buys a ticket as the visitor of a demo, and gives its id.
async fn buy(examiner: &Examiner, prefix: &str) -> String {
    let museum = Client::new(examiner.program.address("museum"));
    let call = museum.post(&format!("{prefix}/v1.1/tickets")).header("authorization", "Basic ZGVtbzpkZW1v");
    let ticket = json!({"ticketType": "general", "ticketDate": "2099-05-17", "email": "todd@example.com"});
    let ticket = call.json(&ticket).send().await.has_status(201).json();
    ticket["ticketId"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_the_services_and_the_console_have_no_faults() {
    let examiner = Examiner::start().await;
    for (service, pages) in PAGES {
        for path in *pages {
            examiner.examine(service, path).await;
        }
    }
    let ticket = buy(&examiner, "").await;
    examiner.examine("museum", &format!("/app/ticket?id={ticket}")).await;
    examiner.examine("museum", &format!("/app/check?id={ticket}")).await;
    examiner.examine("admin", "/").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_in_a_sandbox_have_no_faults() {
    let examiner = Examiner::start().await;
    let admin = Client::new(examiner.program.address("admin"));
    admin.post("/control/sandboxes").json(&json!({"name": "ada"})).send().await.has_status(201);
    for (service, pages) in PAGES {
        // All pages of a service have the same line about the sandbox in their header; what is below is as at the root.
        examiner.examine(service, "/sandbox/ada/").await;
        for path in *pages {
            examiner.load(service, &format!("/sandbox/ada{path}"), NARROW).await;
        }
    }
    let ticket = buy(&examiner, "/sandbox/ada").await;
    examiner.load("museum", &format!("/sandbox/ada/app/ticket?id={ticket}"), NARROW).await;
}
