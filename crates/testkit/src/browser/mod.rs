//! A real browser, driven over WebDriver as a person would use it.
//!
//! A small client of its own: the crates for WebDriver have two dozen dependencies, and features that change how JSON is
//! written.

mod driver;

use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use driver::{Chromium, Driver};
use reqwest::Method;
use serde_json::{Value, json};

/// How long an element may take to appear. Only a failing test waits this long.
const ELEMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// How long chromedriver may take for an answer: longer than it may wait for an element, a page or a script.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(180);

/// The name that WebDriver gives to references to elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub const TAB: char = '\u{E004}';
pub const ENTER: char = '\u{E007}';
pub const ESCAPE: char = '\u{E00C}';

/// Browsers of tests that have passed: starting one takes longer than most tests.
static FREE: Mutex<Vec<Running>> = Mutex::new(Vec::new());

/// A browser with one empty window, and without cookies, storage and cache.
///
/// Elements are found by CSS selectors. Each search waits until there is one.
pub struct Browser {
    http: reqwest::Client,
    /// There is one until this is dropped.
    running: Option<Running>,
    /// Whether other tests can use it afterwards.
    shared: bool,
}

struct Running {
    driver: Driver,
    /// `/session/…`
    session: String,
}

impl Browser {
    /// The browser of an earlier test, emptied, or a new one.
    pub async fn start() -> Self {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(running) => {
                let browser = Browser::of(running, true);
                browser.empty().await;
                browser
            }
            None => {
                let mut browser = Browser::start_with(&[]).await;
                browser.shared = true;
                browser
            }
        }
    }

    fn of(running: Running, shared: bool) -> Self {
        // A client belongs to the runtime of its test. It does not use TLS.
        let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).timeout(ANSWER_TIMEOUT);
        let http = http.build().expect("a client");
        Browser { http, running: Some(running), shared }
    }

    /// Leaves one new window, without history and emulation, and deletes what earlier tests stored.
    async fn empty(&self) {
        let old = self.get("/window/handles").await;
        let new = text(&self.post("/window/new", json!({"type": "tab"})).await["handle"]);
        for window in old.as_array().expect("a list of windows") {
            self.go_to_window(&text(window)).await;
            self.call(Method::DELETE, "/window", None).await.expect("the window closes");
        }
        self.go_to_window(&new).await;
        // A window in the background gives the focus to no element.
        self.devtools("Page.bringToFront", json!({})).await;
        self.devtools("Network.clearBrowserCookies", json!({})).await;
        self.devtools("Network.clearBrowserCache", json!({})).await;
        self.devtools("Storage.clearDataForOrigin", json!({"origin": "*", "storageTypes": "all"})).await;
        self.reports().await;
    }

    /// Starts one with more command-line arguments, for this test only.
    pub async fn start_with(arguments: &[&str]) -> Self {
        let Chromium { binary, name, headless } = Chromium::find();
        let driver = Driver::start();
        let profile = format!("--user-data-dir={}", driver.profile.display());
        let mut browser = Browser::of(Running { driver, session: String::new() }, false);
        let mut all = vec![
            // A sandbox needs permissions that containers lack; the pages are trusted.
            "--no-sandbox",
            // Containers have little shared memory.
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-proxy-server",
            "--hide-scrollbars",
            // The driver does not read the text of an element that is still fading in.
            "--force-prefers-reduced-motion",
            &profile,
        ];
        all.extend(headless);
        all.extend(arguments);
        let capabilities = json!({
            "browserName": name,
            "timeouts": {"implicit": ELEMENT_TIMEOUT.as_millis(), "pageLoad": 60_000, "script": 90_000},
            "unhandledPromptBehavior": "ignore",
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": binary, "args": all},
        });
        let started = browser.post("/session", json!({"capabilities": {"alwaysMatch": capabilities}})).await;
        browser.running.as_mut().expect("a browser").session =
            format!("/session/{}", text(&started["sessionId"]));
        browser
    }

    /// Opens a URL, and waits until its page is loaded.
    pub async fn go(&self, url: &str) {
        self.post("/url", json!({"url": url})).await;
    }

    pub async fn url(&self) -> String {
        text(&self.get("/url").await)
    }

    pub async fn title(&self) -> String {
        text(&self.get("/title").await)
    }

    pub async fn back(&self) {
        self.post("/back", json!({})).await;
    }

    pub async fn forward(&self) {
        self.post("/forward", json!({})).await;
    }

    /// Waits until there is an element of this kind with exactly this text, to check which page is shown.
    pub async fn shows(&self, tag: &str, content: &str) {
        assert!(!content.contains('\''), "a text that XPath can quote");
        let path = format!("//{tag}[normalize-space()='{content}']");
        let found = self.try_post("/element", json!({"using": "xpath", "value": path})).await;
        if let Err(why) = found {
            panic!("no {tag} says {content:?} at {}: {why}\n{}", self.url().await, self.source().await);
        }
    }

    /// Waits until there is such an element.
    pub async fn finds(&self, css: &str) {
        self.find(css).await;
    }

    /// Whether there is such an element now.
    pub async fn has(&self, css: &str) -> bool {
        // A search for one element would wait for it.
        let count = self.run(&format!("return document.querySelectorAll({}).length", json!(css))).await;
        count != json!(0)
    }

    pub async fn click(&self, css: &str) {
        let element = self.find(css).await;
        self.post(&format!("{element}/click"), json!({})).await;
    }

    /// Types at the end of a field.
    pub async fn fill(&self, css: &str, content: &str) {
        let element = self.find(css).await;
        self.post(&format!("{element}/value"), json!({"text": content})).await;
    }

    /// Empties a field.
    pub async fn clear(&self, css: &str) {
        let element = self.find(css).await;
        self.post(&format!("{element}/clear"), json!({})).await;
    }

    /// The text of an element, as it is shown.
    pub async fn text(&self, css: &str) -> String {
        let element = self.find(css).await;
        text(&self.get(&format!("{element}/text")).await)
    }

    /// The value of a field, or another property of an element.
    pub async fn property(&self, css: &str, name: &str) -> Value {
        let element = self.find(css).await;
        self.get(&format!("{element}/property/{name}")).await
    }

    /// The accessible name of an element.
    pub async fn spoken_name(&self, css: &str) -> String {
        let element = self.find(css).await;
        text(&self.get(&format!("{element}/computedlabel")).await)
    }

    /// Presses keys one after the other in the focused element.
    pub async fn press(&self, keys: &str) {
        let strokes: Vec<_> = keys
            .chars()
            .flat_map(|key| {
                [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})]
            })
            .collect();
        self.post("/actions", json!({"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]}))
            .await;
    }

    /// Runs a script in the page, regardless of its content security policy, and gives the result.
    pub async fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({"script": script, "args": []})).await
    }

    /// Runs a script until it returns this value, and gives the last result. The page repeats the script, so that the driver and the
    /// test use no core while they wait.
    pub async fn settles(&self, script: &str, wanted: &Value) -> Value {
        let deadline = Instant::now() + ELEMENT_TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let repeated = format!(
                "const [wanted, left, done] = arguments, end = performance.now() + left;
                 const attempt = () => {{ {script} }};
                 const repeat = () => {{
                     let found;
                     try {{ found = attempt() ?? null; }} catch (error) {{ found = String(error); }}
                     if (JSON.stringify(found) === wanted || performance.now() > end) done(found);
                     else setTimeout(repeat, 20);
                 }};
                 repeat();"
            );
            let arguments = json!([wanted.to_string(), left.as_millis()]);
            // A page that is left ends its script: the next page runs it again.
            match self.try_post("/execute/async", json!({"script": repeated, "args": arguments})).await {
                Ok(found) => return found,
                Err(why) => assert!(!left.is_zero(), "{script}: {why}"),
            }
        }
    }

    /// The current window.
    pub async fn window(&self) -> String {
        text(&self.get("/window").await)
    }

    /// Opens another window with the same cookies, and makes it the current one.
    pub async fn open_window(&self) {
        let opened = self.post("/window/new", json!({"type": "tab"})).await;
        self.go_to_window(&text(&opened["handle"])).await;
    }

    /// All windows, when there are `count` of them.
    pub async fn windows(&self, count: usize) -> Vec<String> {
        let deadline = Instant::now() + ELEMENT_TIMEOUT;
        loop {
            let handles = self.get("/window/handles").await;
            let windows: Vec<_> = handles.as_array().into_iter().flatten().map(text).collect();
            if windows.len() == count {
                return windows;
            }
            assert!(Instant::now() < deadline, "there are {} windows, not {count}", windows.len());
        }
    }

    pub async fn go_to_window(&self, window: &str) {
        self.post("/window", json!({"handle": window})).await;
    }

    /// The cookies of the current page, also those hidden from scripts.
    pub async fn cookies(&self) -> Vec<Value> {
        self.get("/cookie").await.as_array().cloned().expect("a list of cookies")
    }

    pub async fn source(&self) -> String {
        text(&self.get("/source").await)
    }

    /// The messages of the browser since the last call, as (source, message). Violations of a content security policy have the
    /// source "security".
    pub async fn reports(&self) -> Vec<(String, String)> {
        let entries = self.post("/se/log", json!({"type": "browser"})).await;
        let entries = entries.as_array().expect("a list of entries");
        entries.iter().map(|entry| (text(&entry["source"]), text(&entry["message"]))).collect()
    }

    /// Disables scripts from the next page on.
    pub async fn disable_scripts(&self) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    }

    /// Emulates a screen of this size.
    pub async fn resize(&self, width: u32, height: u32) {
        let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    }

    /// Emulates a preference for dark colours.
    pub async fn prefer_dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({"features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]});
        self.devtools("Emulation.setEmulatedMedia", media).await;
    }

    async fn devtools(&self, command: &str, parameters: Value) {
        self.post("/goog/cdp/execute", json!({"cmd": command, "params": parameters})).await;
    }

    /// The path of an element, when there is one.
    async fn find(&self, css: &str) -> String {
        match self.try_post("/element", json!({"using": "css selector", "value": css})).await {
            Ok(found) => format!("/element/{}", text(&found[ELEMENT])),
            Err(why) => panic!("no {css} at {}: {why}\n{}", self.url().await, self.source().await),
        }
    }

    async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await.unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        self.try_post(path, body).await.unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    async fn try_post(&self, path: &str, body: Value) -> Result<Value, String> {
        self.call(Method::POST, path, Some(body)).await
    }

    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, String> {
        let Running { driver, session } = self.running.as_ref().expect("a browser");
        let url = format!("http://127.0.0.1:{}{session}{path}", driver.port);
        let mut request = self.http.request(method, url);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("chromedriver answers");
        let fine = response.status().is_success();
        let mut answer: Value = response.json().await.expect("it answers in JSON");
        let value = answer["value"].take();
        if fine { Ok(value) } else { Err(text(&value["message"])) }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let running = self.running.take();
        if self.shared && !thread::panicking() {
            FREE.lock().unwrap_or_else(PoisonError::into_inner).extend(running);
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
