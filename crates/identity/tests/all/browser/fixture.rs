//! A browser with a user, and a page of a client to return to.

use std::time::Duration;

use axum::{Router, extract::RawQuery, response::Html, routing::get};
use testkit::{Browser, Engine, Fixture, Server};
use tokio::sync::{Mutex, mpsc};
use web::ConnectionLimits;

use super::service::{Harness, NAME, PASSWORD, VERIFIER, text};

pub(crate) const ALLOW: &str = "button[value=allow]";
pub(crate) const DENY: &str = "button[value=deny]";
pub(crate) const SWITCH: &str = "button[value=switch]";
pub(crate) const SUBMIT: &str = "form button";

pub(crate) struct Visit {
    // First, so that it is closed before the service.
    pub(crate) browser: Browser,
    pub(crate) harness: Harness,
    pub(crate) callback: Callback,
}

impl Fixture for Visit {
    async fn start(engine: Engine) -> Self {
        let harness = Harness::start(engine).await;
        Visit { browser: Browser::start().await, harness, callback: Callback::start().await }
    }
}

impl Visit {
    /// The address that a client sends people to, with these changes to its request.
    pub(crate) fn address(&self, changes: &[(&str, &str)]) -> String {
        let changes: Vec<_> = [("redirect_uri", self.callback.url.as_str())]
            .into_iter()
            .filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name))
            .chain(changes.iter().copied())
            .collect();
        let service = &self.harness.service;
        format!("{}/oauth/authorize?{}", service.issuer, service.request(&changes))
    }

    pub(crate) async fn open(&self, changes: &[(&str, &str)]) {
        self.browser.go(&self.address(changes)).await;
    }

    /// Fills in the sign-in page and sends it.
    pub(crate) async fn sign_in(&self, name: &str, password: &str) {
        self.browser.shows("h1", "Sign in").await;
        self.browser.fill("#name", name).await;
        self.browser.fill("#password", password).await;
        self.browser.click(SUBMIT).await;
    }

    /// Tries another password for the name that is there already.
    pub(crate) async fn sign_in_again(&self, password: &str) {
        self.browser.fill("#password", password).await;
        self.browser.click(SUBMIT).await;
    }

    /// Opens the consent page of a new request.
    pub(crate) async fn come_to_consent(&self) {
        self.open(&[]).await;
        self.sign_in(NAME, PASSWORD).await;
        self.browser.shows("h1", "Allow Demo?").await;
    }

    /// Waits for the code of the client, checks state and issuer, and returns it.
    pub(crate) async fn code(&self) -> String {
        let answer = self.callback.answer().await;
        let names: Vec<_> = answer.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["code", "state", "iss"], "{answer:?}");
        assert_eq!(answer[1].1, "st/ate");
        assert_eq!(answer[2].1, self.harness.service.issuer);
        answer[0].1.clone()
    }

    /// Buys a token with a code, and gives the account that it opens the service for.
    pub(crate) async fn account_of(&self, code: &str) -> String {
        let service = &self.harness.service;
        let bought = service
            .token(&[
                ("grant_type", "authorization_code"),
                ("client_id", "demo"),
                ("code", code),
                ("redirect_uri", &self.callback.url),
                ("code_verifier", VERIFIER),
            ])
            .await;
        let token = text(&bought.has_status(200).json()["access_token"]);
        service.call("/v1/read", &token).await.has_status(200).text()
    }

    /// Asserts that no page so far broke its own content security policy.
    pub(crate) async fn nothing_was_forbidden(&self) {
        let reports = self.browser.reports().await;
        let forbidden: Vec<_> = reports.iter().filter(|(source, _)| source == "security").collect();
        assert!(forbidden.is_empty(), "{forbidden:?}");
    }

    /// Asserts that the browser is at one of the service's own addresses, and that the client got no request.
    pub(crate) async fn stays_here(&self) {
        let url = self.browser.url().await;
        assert!(url.starts_with(&format!("{}/", self.harness.service.issuer)), "{url}");
        self.callback.was_not_called().await;
    }
}

/// A page of a client, and the requests to it.
pub(crate) struct Callback {
    pub(crate) url: String,
    calls: Mutex<mpsc::UnboundedReceiver<String>>,
    _server: Server,
}

impl Callback {
    async fn start() -> Self {
        let (called, calls) = mpsc::unbounded_channel();
        let page = async move |RawQuery(query): RawQuery| {
            let _ = called.send(query.unwrap_or_default());
            Html(
                "<!doctype html><title>Client</title><h1>Back</h1><script>document.title = 'Scripted'</script>",
            )
        };
        let router = Router::new().route("/callback", get(page));
        let server = Server::start(ConnectionLimits::default(), |_| router).await;
        let url = format!("http://{}/callback", server.address());
        Callback { url, calls: Mutex::new(calls), _server: server }
    }

    /// The next answer that a browser brought.
    pub(crate) async fn answer(&self) -> Vec<(String, String)> {
        let mut calls = self.calls.lock().await;
        let call = tokio::time::timeout(Duration::from_secs(20), calls.recv()).await;
        let query = call.expect("the browser is sent back to the client").unwrap();
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }

    async fn was_not_called(&self) {
        let call = self.calls.lock().await.try_recv();
        assert!(call.is_err(), "the client was sent {call:?}");
    }
}
