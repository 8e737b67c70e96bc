//! Calls a service over a real socket.

use std::{net::SocketAddr, time::Duration};

use reqwest::{Method, RequestBuilder, header::HeaderMap};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A client of one service.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    address: SocketAddr,
    credentials: Option<(String, String)>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            // It does not use TLS; reading the certificates of the machine would slow down every test.
            .tls_certs_only([])
            // Less than the server waits for the next request: a connection that it closes at the same moment would fail a test.
            .pool_idle_timeout(Duration::from_secs(5))
            .build()
            .expect("a client");
        Client { http, address, credentials: None }
    }

    /// The same client, with these headers on every request.
    #[must_use]
    pub fn signed_in(&self, name: &str, password: &str) -> Self {
        Client { credentials: Some((name.into(), password.into())), ..self.clone() }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn get(&self, path: &str) -> Call {
        self.call(Method::GET, path)
    }

    pub fn post(&self, path: &str) -> Call {
        self.call(Method::POST, path)
    }

    pub fn patch(&self, path: &str) -> Call {
        self.call(Method::PATCH, path)
    }

    pub fn put(&self, path: &str) -> Call {
        self.call(Method::PUT, path)
    }

    pub fn delete(&self, path: &str) -> Call {
        self.call(Method::DELETE, path)
    }

    pub fn call(&self, method: Method, path: &str) -> Call {
        let mut request = self.http.request(method, format!("http://{}{path}", self.address));
        if let Some((name, password)) = &self.credentials {
            request = request.basic_auth(name, Some(password));
        }
        Call(request)
    }

    /// Sends these bytes on a new connection, and reads until the service closes it.
    pub async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("the service accepts");
        // The service may answer and close before it has read all bytes.
        let (mut read, mut write) = stream.split();
        let mut answer = Vec::new();
        let send = async {
            let _ = write.write_all(bytes).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = send => {}
            _ = read.read_to_end(&mut answer) => {}
        }
        String::from_utf8_lossy(&answer).into_owned()
    }
}

/// A request that is being built.
pub struct Call(RequestBuilder);

impl Call {
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        Call(self.0.header(name, value))
    }

    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        Call(self.0.json(body))
    }

    /// A body of these bytes, of this content type.
    #[must_use]
    pub fn body(self, content_type: &str, body: impl Into<reqwest::Body>) -> Self {
        Call(self.0.header("content-type", content_type).body(body))
    }

    /// Sends it, and panics without an answer.
    pub async fn send(self) -> Answer {
        self.try_send().await.expect("the service answers")
    }

    /// Sends it to a service that may have stopped.
    pub async fn try_send(self) -> reqwest::Result<Answer> {
        let response = self.0.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, body: response.bytes().await?.to_vec() })
    }
}

/// The answer of a service.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.text()))
    }

    /// The value of a header, or an empty text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap_or("unreadable"))
    }

    /// Asserts the status and the exact JSON body.
    #[track_caller]
    pub fn is(&self, status: u16, body: &Value) {
        assert_eq!((self.status, &self.json()), (status, body), "{}", self.text());
        assert_eq!(self.header("content-type"), "application/json");
    }

    /// Asserts the status, for a test that checks the body in another way.
    #[track_caller]
    pub fn has_status(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    /// Asserts a complete problem document of this status and type, and gives its detail.
    #[track_caller]
    pub fn is_problem(&self, status: u16, kind: &str) -> String {
        let problem = self.json();
        assert_eq!(self.status, status, "{problem}");
        assert_eq!(self.header("content-type"), "application/problem+json", "{problem}");
        assert_eq!(problem["type"], format!("/problems/{kind}"), "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["instance"], self.header("x-request-id"), "{problem}");
        assert!(problem["title"].as_str().is_some_and(|title| !title.is_empty()), "{problem}");
        problem["detail"].as_str().unwrap_or_else(|| panic!("no detail in {problem}")).to_owned()
    }

    /// Asserts that a problem is a page without scripts, with this detail.
    #[track_caller]
    pub fn is_problem_page(&self, status: u16, kind: &str, detail: &str) {
        let page = self.text();
        assert_eq!(self.status, status, "{page}");
        assert_eq!(self.header("content-type"), "text/html; charset=utf-8", "{page}");
        assert!(
            self.header("content-security-policy").starts_with("default-src 'none';"),
            "{:?}",
            self.headers
        );
        assert_eq!(self.header("cache-control"), "no-store");
        assert!(page.contains(&format!("<p>{detail}</p>")), "{page}");
        assert!(page.contains(&format!("<a href=\"/problems/{kind}\">")), "{page}");
        assert!(page.contains(&format!("<p class=\"status\">{status}</p>")), "{page}");
        assert!(!page.contains("<script"), "{page}");
    }

    /// Asserts a 400 that lists exactly these pointers and errors.
    #[track_caller]
    pub fn is_invalid(&self, errors: &[(&str, &str)]) {
        self.is_problem(400, "invalid-request");
        let problem = self.json();
        let found = problem["errors"].as_array().unwrap_or_else(|| panic!("no errors in {problem}"));
        let found: Vec<_> = found
            .iter()
            .map(|error| (error["pointer"].as_str().unwrap_or("?"), error["detail"].as_str().unwrap_or("?")))
            .collect();
        assert_eq!(found, errors, "{problem}");
    }

    /// Asserts that the errors list this parameter as unknown.
    #[track_caller]
    pub fn has_unknown_parameter(&self, name: &str) {
        self.is_problem(400, "invalid-request");
        let problem = self.json();
        let errors = problem["errors"].as_array().unwrap_or_else(|| panic!("no errors in {problem}"));
        let pointer = format!("?{name}");
        let about: Vec<_> = errors.iter().filter(|error| error["pointer"] == pointer.as_str()).collect();
        assert_eq!(about.len(), 1, "{problem}");
        let detail = about[0]["detail"].as_str().unwrap_or("");
        assert!(detail.starts_with("is not a parameter of this operation"), "{problem}");
    }
}
