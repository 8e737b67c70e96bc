//! A small service with an authorization server and two protected operations.

use axum::{Router, extract::FromRef, routing::get};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use db::Db;
use identity::{
    Accounts, Hashing,
    oauth::{
        self, AuthorizationServer, NewClient, Scope, Settings, Verifier,
        bearer::{Authorized, Scopes},
    },
};
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};
use testkit::{Address, Answer, Client, Engine, Fixture, Server, Store};
use url::Url;
use uuid::Uuid;
use web::{Clock, ConnectionLimits, Controls, Random};

pub(crate) const SCOPES: &[Scope] =
    &[Scope { name: "read", words: "see your bookings" }, Scope { name: "write", words: "book for you" }];

pub(crate) const NAME: &str = "ada";
pub(crate) const PASSWORD: &str = "correct horse";
pub(crate) const CALLBACK: &str = "http://127.0.0.1:5999/callback";
/// Parameters or headers.
pub(crate) type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Where answers to registered clients go.
pub(crate) const APP: &str = "https://app.example.com/callback";
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

pub(crate) fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}

pub(crate) struct Read;
impl Scopes for Read {
    const NEEDED: &'static [&'static str] = &["read"];
}

pub(crate) struct Both;
impl Scopes for Both {
    const NEEDED: &'static [&'static str] = &["read", "write"];
}

#[derive(Clone)]
struct State(Verifier);

impl FromRef<State> for Verifier {
    fn from_ref(state: &State) -> Self {
        state.0.clone()
    }
}

/// One process of the service. Several may be started on one store.
pub(crate) struct Service {
    pub(crate) client: Client,
    pub(crate) issuer: String,
    pub(crate) server: AuthorizationServer,
    pub(crate) accounts: Accounts,
    pub(crate) controls: Controls,
    _running: Server,
}

/// The service with its database, clock and account.
pub(crate) struct Harness {
    pub(crate) store: Store,
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    pub(crate) account: Uuid,
    pub(crate) service: Service,
}

impl Fixture for Harness {
    async fn start(engine: Engine) -> Self {
        let store = Store::new(engine);
        let db = open(&store);
        let clock = Clock::manual("2026-05-13T10:00:00Z".parse::<Timestamp>().unwrap());
        let service = Service::start(&db, &clock, None).await;
        let account = service.accounts.add(NAME, PASSWORD.into()).await.unwrap();
        Harness { store, db, clock, account, service }
    }
}

pub(crate) fn open(store: &Store) -> Db {
    store.open("test", &[identity::MIGRATIONS, oauth::MIGRATIONS])
}

impl Service {
    /// Starts a process; as another one of the same issuer, if that is given.
    pub(crate) async fn start(db: &Db, clock: &Clock, issuer: Option<&str>) -> Self {
        Service::start_with(db, clock, issuer, |_| ()).await
    }

    /// The same, with other settings than usual.
    pub(crate) async fn start_with(
        db: &Db,
        clock: &Clock,
        issuer: Option<&str>,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let address = Address::free().await;
        let issuer = issuer.map_or_else(|| address.url(), str::to_owned);
        let mut settings = Settings {
            name: "test",
            service: "Test service",
            issuer: issuer.clone(),
            prefix: "/v1",
            scopes: SCOPES,
            sign_up: true,
            demo: true,
            registration_token: None,
        };
        change(&mut settings);
        let issuer = settings.issuer.clone();
        let random = Random::system();
        let accounts = Accounts::with_hashing(
            "Test",
            settings.demo,
            db.clone(),
            clock.clone(),
            random.clone(),
            Hashing::LEAST_WORK,
        );
        let controls = Controls::default();
        let accounts = accounts.unwrap().controlled_by(controls.clone());
        let server = AuthorizationServer::open(settings, accounts.clone(), db.clone(), clock.clone(), random)
            .await
            .unwrap();
        let api = Router::new()
            .route("/v1/read", get(async |caller: Authorized<Read>| caller.claims.subject.clone()))
            .route("/v1/both", get(async |caller: Authorized<Both>| caller.claims.subject.clone()))
            .route("/v1/open", get(async || "open"))
            .with_state(State(server.verifier()));
        // Browsers that use a host name are answered as well.
        let api = api.merge(server.router());
        let running = address.serve_as("http://service.test", ConnectionLimits::default(), api);
        let client = Client::new(running.address());
        Service { client, issuer, server, accounts, controls, _running: running }
    }

    /// Registers a client for one address and these scopes: its id, and its secret if it has one.
    pub(crate) async fn register(&self, name: &str, scopes: &[&str], confidential: bool) -> (String, String) {
        let new = NewClient {
            name: name.to_owned(),
            redirect_uris: vec![APP.to_owned()],
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            confidential,
        };
        let (client, secret) = self.server.add_client(new).await.unwrap();
        (client.id, secret.unwrap_or_default())
    }

    /// The parameters of a good authorization request, with these put in place of its own. An empty value leaves one out.
    pub(crate) fn request(&self, changes: &[(&str, &str)]) -> String {
        let challenge = challenge(VERIFIER);
        let good = [
            ("response_type", "code"),
            ("client_id", "demo"),
            ("redirect_uri", CALLBACK),
            ("scope", "read"),
            ("state", "st/ate"),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        let mut pairs: Vec<_> = good
            .into_iter()
            .filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name))
            .collect();
        pairs.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
        encode(&pairs)
    }

    /// Gets a code as a browser would: page, sign-in, consent.
    pub(crate) async fn code(&self, changes: &[(&str, &str)]) -> String {
        let mut browser = Browser::new(self);
        let path = format!("/oauth/authorize?{}", self.request(changes));
        let answer = browser.allow(&path).await;
        let back = Url::parse(answer.has_status(303).header("location")).unwrap();
        let found = back.query_pairs().find(|(name, _)| name == "code").map(|(_, code)| code.into_owned());
        found.unwrap_or_else(|| panic!("no code in {back}"))
    }

    pub(crate) async fn token(&self, form: &[(&str, &str)]) -> Answer {
        self.post("/oauth/token", form).await
    }

    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        self.client.post(path).body("application/x-www-form-urlencoded", encode(form)).send().await
    }

    pub(crate) async fn redeem(&self, code: &str) -> Answer {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("client_id", "demo"),
            ("code", code),
            ("redirect_uri", CALLBACK),
            ("code_verifier", VERIFIER),
        ])
        .await
    }

    pub(crate) async fn refresh(&self, token: &str) -> Answer {
        self.token(&[("grant_type", "refresh_token"), ("client_id", "demo"), ("refresh_token", token)]).await
    }

    /// An access token and a refresh token.
    pub(crate) async fn tokens(&self, changes: &[(&str, &str)]) -> (String, String) {
        let answer = self.redeem(&self.code(changes).await).await;
        let tokens = answer.has_status(200).json();
        (text(&tokens["access_token"]), text(&tokens["refresh_token"]))
    }

    pub(crate) async fn call(&self, path: &str, token: &str) -> Answer {
        self.client.get(path).header("authorization", &format!("Bearer {token}")).send().await
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Asserts an error in the format of OAuth.
#[track_caller]
pub(crate) fn refused(what: &str, answer: &Answer, status: u16, error: &str) {
    assert_eq!(answer.status, status, "{what}: {}", answer.text());
    let body = answer.json();
    assert_eq!(body["error"], error, "{what}: {body}");
    let members = body.as_object().unwrap();
    assert_eq!(members.len(), 2, "{what}: {body}");
    let description = text(&body["error_description"]);
    let plain = description.chars().all(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\'));
    assert!(plain && !description.is_empty(), "{what}: {description}");
    assert_eq!(answer.header("content-type"), "application/json", "{what}");
    assert_eq!(answer.header("cache-control"), "no-store", "{what}");
    assert_eq!(answer.header("pragma"), "no-cache", "{what}");
    let challenge = if status == 401 { "Basic realm=\"OAuth\", charset=\"UTF-8\"" } else { "" };
    assert_eq!(answer.header("www-authenticate"), challenge, "{what}");
}

pub(crate) fn encode(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// What a browser does without being seen: keeps cookies, sends forms with the token of their page.
pub(crate) struct Browser<'a> {
    service: &'a Service,
    cookies: Vec<(String, String)>,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(service: &'a Service) -> Self {
        Browser { service, cookies: Vec::new() }
    }

    /// The same browser before another process of the service.
    pub(crate) fn at<'b>(&self, service: &'b Service) -> Browser<'b> {
        Browser { service, cookies: self.cookies.clone() }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        let answer = self.service.client.get(path).header("cookie", &self.cookie_header()).send().await;
        self.keep_cookies(&answer);
        answer
    }

    /// Sends a form of the page at this path.
    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let page = self.get(path).await.text();
        self.send(path, fields, &page).await
    }

    /// Sends a form of a page that was shown before.
    pub(crate) async fn send(&mut self, path: &str, fields: &[(&str, &str)], page: &str) -> Answer {
        let token = page.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let token = token.unwrap_or_else(|| panic!("no form in {page}")).to_owned();
        let form: Vec<_> = fields.iter().copied().chain([("token", token.as_str())]).collect();
        let answer = self
            .service
            .client
            .post(path)
            .header("cookie", &self.cookie_header())
            .header("sec-fetch-site", "same-origin")
            .header("origin", "null")
            .body("application/x-www-form-urlencoded", encode(&form))
            .send()
            .await;
        self.keep_cookies(&answer);
        answer
    }

    pub(crate) async fn sign_in(&mut self, path: &str) -> Answer {
        self.post(path, &[("intent", "sign-in"), ("name", NAME), ("password", PASSWORD)]).await
    }

    /// Sends a form that is not taken: the browser is sent back to its page, which is given.
    pub(crate) async fn refused(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let answer = self.post(path, fields).await;
        assert_eq!(answer.has_status(303).header("location"), path);
        assert_eq!(answer.header("retry-after"), "");
        self.get(path).await
    }

    /// Signs in and consents to the request at this path.
    pub(crate) async fn allow(&mut self, path: &str) -> Answer {
        self.sign_in(path).await.has_status(303);
        self.post(path, &[("intent", "allow")]).await
    }

    fn cookie_header(&self) -> String {
        self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    fn keep_cookies(&mut self, answer: &Answer) {
        for set in answer.headers.get_all("set-cookie") {
            let (name, rest) = set.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !rest.contains("Max-Age=0") {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
    }
}
