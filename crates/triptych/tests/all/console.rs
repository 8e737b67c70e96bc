//! The console on the admin listener: who can use it, and the page in a real browser.

use crate::common::{Workspace, printed};
use http::Method;
use serde_json::json;
use testkit::{Browser, Client, Engine, Program, Store};

fn workspace() -> Workspace {
    Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() }
}

fn admin(program: &Program) -> Client {
    Client::new(program.address("admin"))
}

const PRINTS_IT: &str =
    "Send the operator's token as a bearer token: triptych sandbox token prints it on the server's machine.";

#[tokio::test]
async fn client_on_this_machine_needs_no_token_in_a_demo() {
    let workspace = workspace();
    let program = workspace.serve();
    let admin = admin(&program);
    let services = admin.get("/console/services").send().await;
    assert_eq!(services.has_status(200).header("cache-control"), "no-store");
    assert_eq!(
        services.json()["services"][0]["base_url"],
        format!("http://{}/v3", program.address("petstore"))
    );
    let created = admin.post("/control/sandboxes").json(&json!({"name": "ada"})).send().await;
    assert_eq!(created.has_status(201).header("cache-control"), "no-store");
    let listed = admin.get("/control/sandboxes").send().await.has_status(200).json();
    assert_eq!(listed["sandboxes"][0]["name"], "ada");
    admin.get("/control/root/clock").send().await.has_status(200);
    admin
        .get("/control/sandbox/ada/clock")
        .header("sec-fetch-site", "same-origin")
        .send()
        .await
        .has_status(200);
    // A path of the services is no path of the controls.
    admin.get("/control/v3/pet/1").send().await.is_problem(404, "not-found");
    let token = admin.post("/console/tokens/train").send().await;
    assert_eq!(token.has_status(201).header("cache-control"), "no-store");
    let bearer = format!("Bearer {}", token.json()["token"].as_str().unwrap());
    let train = Client::new(program.address("train"));
    train.get("/bookings").header("authorization", &bearer).send().await.has_status(200);
    admin.get("/console/tokens/train").send().await.is_problem(405, "method-not-allowed");
    admin.post("/console/tokens/museum").send().await.is_problem(404, "not-found");
    admin.get("/console/qr?text=").send().await.is_invalid(&[("?text", "must have 1 to 300 bytes")]);
}

#[tokio::test]
async fn pages_of_other_origins_cannot_use_the_console() {
    let workspace = workspace();
    let program = workspace.serve();
    let admin = admin(&program);
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://127.0.0.1:1"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        for path in ["/control/root/clock", "/console/services"] {
            let detail = admin.get(path).header(name, value).send().await.is_problem(403, "forbidden");
            assert_eq!(detail, "A page of another site cannot use the console.", "{name}: {value}");
        }
        admin.post("/console/tokens/train").header(name, value).send().await.is_problem(403, "forbidden");
    }
    // The controls allow pages of other origins; the console does not pass that on.
    let answer = admin.get("/control/root/clock").send().await;
    assert!(
        !answer.headers.keys().any(|name| name.as_str().starts_with("access-control-")),
        "{:?}",
        answer.headers
    );
    let preflight = admin.call(Method::OPTIONS, "/control/root/clock").send().await;
    preflight.is_problem(405, "method-not-allowed");
}

#[tokio::test]
async fn requests_through_a_proxy_or_for_another_host_need_the_token() {
    let workspace = workspace();
    let mut command = workspace.serving();
    command.arg("--admin-listen=0.0.0.0:0");
    let program = Program::start(&mut command);
    let admin = Client::new(([127, 0, 0, 1], program.address("admin").port()).into());
    admin.get("/console/services").send().await.has_status(200);
    for (name, value, why) in [
        ("x-forwarded-for", "127.0.0.1", "The request comes through a proxy."),
        ("forwarded", "for=127.0.0.1", "The request comes through a proxy."),
        ("via", "1.1 proxy", "The request comes through a proxy."),
        ("x-real-ip", "127.0.0.1", "The request comes through a proxy."),
        ("host", "rebound.example", "The request is not for localhost."),
        ("host", "127.0.0.1.rebound.example", "The request is not for localhost."),
    ] {
        let answer = admin.get("/control/root/clock").header(name, value).send().await;
        assert_eq!(answer.is_problem(401, "unauthorized"), format!("{why} {PRINTS_IT}"), "{name}: {value}");
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"Console\"");
        let bearer = format!("Bearer {}", printed(&workspace, &["sandbox", "token"]));
        let call = admin.get("/control/root/clock").header(name, value).header("authorization", &bearer);
        call.send().await.has_status(200);
    }
    // Metrics and the page need none.
    admin.get("/metrics").header("x-forwarded-for", "192.0.2.1").send().await.has_status(200);
    admin.get("/").header("x-forwarded-for", "192.0.2.1").send().await.has_status(200);
}

#[tokio::test]
async fn outside_of_a_demo_every_request_needs_the_token() {
    let workspace = workspace();
    let program = Program::start(workspace.serving().arg("--no-demo"));
    let admin = admin(&program);
    let refused = admin.get("/control/sandboxes").send().await;
    assert_eq!(refused.is_problem(401, "unauthorized"), format!("This is not a demo. {PRINTS_IT}"));
    let wrong = admin.get("/control/sandboxes").header("authorization", "Bearer operator_wrong").send().await;
    assert_eq!(
        wrong.is_problem(401, "unauthorized"),
        format!("This is not the operator's token. {PRINTS_IT}")
    );
    let bearer = format!("Bearer {}", printed(&workspace, &["sandbox", "token"]));
    let right = async |call: testkit::Call| call.header("authorization", &bearer).send().await;
    right(admin.get("/control/sandboxes")).await.is(200, &json!({"sandboxes": []}));
    right(admin.post("/console/tokens/train")).await.is_problem(403, "forbidden");
    assert_eq!(right(admin.get("/console/services")).await.has_status(200).json()["demo"], false);
}

/// Asserts that the browser reported nothing: no errors, no violations of the policy.
async fn reports_nothing(browser: &Browser) {
    let reports = browser.reports().await;
    assert!(reports.is_empty(), "{reports:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn presenter_makes_a_class_injects_a_fault_and_gets_a_token() {
    let workspace = workspace();
    let program = workspace.serve();
    let store = Client::new(program.address("petstore"));
    let pet = async |sandbox: &str| {
        store
            .get(&format!("/sandbox/{sandbox}/v3/pet/1"))
            .header("api_key", "special-key")
            .send()
            .await
            .status
    };
    let browser = Browser::start().await;
    browser.resize(1440, 900).await;
    browser.go(&format!("http://{}/", program.address("admin"))).await;
    browser.shows("h2", "Pet store").await;

    // A token works.
    browser.click("[data-service=train] .get-token").await;
    let command = browser.text("#given-command").await;
    let bearer = command.split('\'').nth(1).unwrap().strip_prefix("Authorization: ").unwrap().to_owned();
    let train = Client::new(program.address("train"));
    train.get("/bookings").header("authorization", &bearer).send().await.has_status(200);
    browser.click("dialog button[aria-label=Close]").await;

    // The charts show the call.
    let drawn = "return document.querySelector('[data-service=train] .plot path.line.area')?.getAttribute('d').length > 30";
    assert_eq!(browser.settles(drawn, &json!(true)).await, true);

    // A class of three.
    browser.click("a[data-view=sandboxes]").await;
    browser.click("#new-class").await;
    browser.fill("#class-name", "monday").await;
    browser.clear("#class-students").await;
    browser.fill("#class-students", "3").await;
    browser.click("dialog form .primary").await;
    for name in ["monday-01", "monday-02", "monday-03"] {
        browser.finds(&format!("[data-sandbox={name}]")).await;
    }
    assert_eq!(pet("monday-03").await, 200);

    // One student's data is reset.
    admin(&program)
        .put("/control/sandbox/monday-02/sign-in")
        .json(&json!({"mode": "off"}))
        .send()
        .await
        .has_status(200);
    store.delete("/sandbox/monday-02/v3/pet/1").send().await.has_status(200);
    assert_eq!(pet("monday-02").await, 404);
    browser.click("[data-sandbox=monday-02] button[aria-label='Reset monday-02']").await;
    browser.click("dialog .primary").await;
    browser.shows("div", "The data of monday-02 was reset.").await;
    assert_eq!(pet("monday-02").await, 200);

    // Its QR code.
    browser.click("[data-sandbox=monday-02] button[aria-label='QR code monday-02']").await;
    let loaded = "return document.querySelector('.code-image')?.naturalWidth > 0";
    assert_eq!(browser.settles(loaded, &json!(true)).await, true);
    browser.click("dialog button[aria-label=Close]").await;

    // A fault for the student's next call, which the journal shows. The rule is used up then.
    browser.click("[data-sandbox=monday-02] button[aria-label='Control monday-02']").await;
    browser.shows("b", "monday-02").await;
    browser.shows("p", "monday-02: no call needs to sign in.").await;
    browser.click(".fault-button:nth-child(2)").await;
    browser.shows("p", "monday-02: the next call fails; no call needs to sign in.").await;
    assert_eq!(pet("monday-02").await, 503);
    browser.shows("p", "monday-02: no call needs to sign in.").await;
    browser.click("#journal-calls details:first-child summary").await;
    browser.finds("#journal-calls details:first-child pre").await;
    let shown = browser.text("#journal-calls details:first-child").await;
    assert!(
        shown.contains("503") && shown.contains("A fault rule of the sandbox gives this answer"),
        "{shown}"
    );
    assert_eq!(pet("monday-02").await, 200);
    browser.click("#state button").await;
    assert_eq!(browser.settles("return document.querySelector('#state').textContent", &json!("")).await, "");
    reports_nothing(&browser).await;

    // A student sees the fault on the wire of a page. The page itself is not a call.
    browser.click("a[data-view=sandboxes]").await;
    browser.click("[data-sandbox=monday-03] button[aria-label='Control monday-03']").await;
    // The buttons work when the present faults of the sandbox are known.
    browser.click(".fault-button:nth-child(2):enabled").await;
    browser.shows("p", "monday-03: the next call fails.").await;
    let console = browser.url().await;
    browser.go(&format!("http://{}/sandbox/monday-03/", program.address("petstore"))).await;
    browser.finds("#wire-calls .code.bad").await;
    // As a click does: the call stays open when the page makes another one.
    let open = "const call = document.querySelector('#wire-calls .code.bad').closest('details');
        call.classList.remove('newest');
        call.open = true;";
    browser.run(open).await;
    let shown = browser.text("#wire-calls details:has(.code.bad) .why").await;
    assert!(
        shown.contains("A fault rule of the sandbox gives this answer; the call was not done."),
        "{shown}"
    );
    let reports = browser.reports().await;
    let failed: Vec<_> = reports.iter().filter(|(_, message)| message.contains("503")).collect();
    assert!(failed.len() == 1 && reports.iter().all(|(source, _)| source == "network"), "{reports:?}");
    browser.go(&console).await;

    // Narrow and dark, without scrolling to the side.
    browser.resize(360, 800).await;
    browser.prefer_dark(true).await;
    for view in ["overview", "sandboxes", "webhooks"] {
        browser.click(&format!("a[data-view={view}]")).await;
        let wide = "return document.documentElement.scrollWidth - innerWidth";
        assert_eq!(browser.run(wide).await, 0, "{view}");
    }
    browser.prefer_dark(false).await;
    reports_nothing(&browser).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn console_asks_for_the_token_outside_of_a_demo() {
    let workspace = workspace();
    let program = Program::start(workspace.serving().arg("--no-demo"));
    let browser = Browser::start().await;
    browser.resize(1200, 800).await;
    browser.go(&format!("http://{}/", program.address("admin"))).await;
    browser.fill("#operator-token", &printed(&workspace, &["sandbox", "token"])).await;
    browser.click("dialog .primary").await;
    browser.shows("h2", "Museum").await;
    assert!(!browser.has(".get-token").await);
}
