//! An issuer that counts its requests and can be set to fail, and a service that accepts its tokens.

use std::sync::{Arc, Mutex, MutexGuard};

use axum::{
    Router,
    extract::{FromRef, OriginalUri, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use identity::oauth::{
    ExternalIssuer, Verifier,
    bearer::{Authorized, Scopes},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testkit::{Address, Answer, Client, Server};
use tokio::sync::watch;
use web::{Clock, ConnectionLimits};

use super::signer::{CURVE, FIRST, Signer, merge};

pub(crate) const AUDIENCE: &str = "https://trains.example/";

/// How the issuer answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    Failing,
    Redirecting,
    /// Answers to requests for keys are held back until the mood changes.
    Holding,
}

/// The number of requests to an issuer: for its metadata, its keys, and the target of its redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) description: usize,
    pub(crate) keys: usize,
    pub(crate) elsewhere: usize,
}

#[derive(Clone)]
pub(crate) struct Issuer {
    pub(crate) url: String,
    /// The paths at which it describes itself.
    described_at: Arc<Mutex<Vec<String>>>,
    description: Arc<Mutex<Value>>,
    keys: Arc<Mutex<String>>,
    mood: watch::Sender<Mood>,
    asked: watch::Sender<Asked>,
    _server: Arc<Mutex<Option<Server>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

impl Issuer {
    /// One at `http://127.0.0.1:…` and this path, with two keys.
    pub(crate) async fn start_at(path: &str) -> Self {
        let address = Address::free().await;
        let base = address.url();
        let url = format!("{base}{path}");
        let issuer = Issuer {
            description: Arc::new(Mutex::new(json!({"issuer": url, "jwks_uri": format!("{base}/keys")}))),
            described_at: Arc::new(Mutex::new(vec![format!(
                "/.well-known/oauth-authorization-server{path}"
            )])),
            url,
            keys: Arc::default(),
            mood: watch::Sender::new(Mood::Well),
            asked: watch::Sender::new(Asked::default()),
            _server: Arc::default(),
        };
        issuer.shows(&[FIRST.jwk(), CURVE.jwk()]);
        let router = Router::new()
            .route("/keys", get(keys))
            .route("/elsewhere", get(elsewhere))
            .fallback(description)
            .with_state(issuer.clone());
        *locked(&issuer._server) = Some(address.serve(ConnectionLimits::default(), router));
        issuer
    }

    pub(crate) async fn start() -> Self {
        Issuer::start_at("").await
    }

    pub(crate) fn shows(&self, keys: &[Value]) {
        self.answers_with_keys(json!({ "keys": keys }).to_string());
    }

    pub(crate) fn answers_with_keys(&self, body: String) {
        *locked(&self.keys) = body;
    }

    /// Puts these members into its description.
    pub(crate) fn says(&self, changes: &Value) {
        merge(&mut locked(&self.description), changes);
    }

    pub(crate) fn is_described_at(&self, path: &str) {
        *locked(&self.described_at) = vec![path.to_owned()];
    }

    pub(crate) fn is(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }

    pub(crate) fn asked(&self) -> Asked {
        *self.asked.borrow()
    }

    /// Waits until its keys were fetched this number of times.
    pub(crate) async fn was_asked_for_keys(&self, times: usize) {
        self.asked.subscribe().wait_for(|asked| asked.keys >= times).await.unwrap();
    }

    /// What there is to say about it in a service's settings.
    pub(crate) fn settings(&self) -> ExternalIssuer {
        ExternalIssuer {
            service: "Trains",
            resource: "https://trains.example".into(),
            url: self.url.clone(),
            audience: AUDIENCE.into(),
            types: vec!["at+jwt".into()],
            scope_claim: "scope".into(),
        }
    }
}

async fn description(State(issuer): State<Issuer>, uri: OriginalUri) -> Response {
    issuer.asked.send_modify(|asked| asked.description += 1);
    let known = locked(&issuer.described_at).iter().any(|path| path == uri.path());
    if !known {
        return StatusCode::NOT_FOUND.into_response();
    }
    answer(&issuer, locked(&issuer.description).to_string())
}

async fn keys(State(issuer): State<Issuer>) -> Response {
    issuer.asked.send_modify(|asked| asked.keys += 1);
    issuer.mood.subscribe().wait_for(|mood| *mood != Mood::Holding).await.unwrap();
    answer(&issuer, locked(&issuer.keys).clone())
}

/// A valid document: a client that follows the redirect would accept it.
async fn elsewhere(State(issuer): State<Issuer>) -> String {
    issuer.asked.send_modify(|asked| asked.elsewhere += 1);
    locked(&issuer.keys).clone()
}

fn answer(issuer: &Issuer, body: String) -> Response {
    let mood = *issuer.mood.borrow();
    match mood {
        Mood::Well | Mood::Holding => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Mood::Failing => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Mood::Redirecting => (StatusCode::FOUND, [(header::LOCATION, "/elsewhere")]).into_response(),
    }
}

pub(crate) struct Read;
impl Scopes for Read {
    const NEEDED: &'static [&'static str] = &["read"];
}

#[derive(Clone)]
struct App(Verifier);

impl FromRef<App> for Verifier {
    fn from_ref(app: &App) -> Self {
        app.0.clone()
    }
}

/// A service that takes an issuer's tokens.
pub(crate) struct Service {
    pub(crate) clock: Clock,
    pub(crate) verifier: Verifier,
    client: Client,
    issuer: String,
    _server: Server,
}

impl Service {
    pub(crate) async fn start(settings: ExternalIssuer) -> Self {
        let clock = Clock::manual("2026-05-13T10:00:00Z".parse::<Timestamp>().unwrap());
        Service::start_with(settings, clock).await
    }

    pub(crate) async fn start_with(settings: ExternalIssuer, clock: Clock) -> Self {
        let issuer = settings.url.clone();
        let verifier = Verifier::external(settings, clock.clone()).unwrap();
        let app = App(verifier.clone());
        let router = Router::new()
            .route("/read", get(async |caller: Authorized<Read>| caller.claims.subject.clone()))
            .with_state(app);
        let server = Server::start(ConnectionLimits::default(), |_| router).await;
        Service { clock, verifier, client: Client::new(server.address()), issuer, _server: server }
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }

    pub(crate) fn header(&self, signer: &Signer, algorithm: &str) -> Value {
        json!({"typ": "at+jwt", "alg": algorithm, "kid": signer.id})
    }

    /// The claims of a valid token, with these replaced.
    pub(crate) fn claims(&self, changes: &Value) -> Value {
        let now = self.clock.now().as_second();
        let mut claims = json!({
            "iss": self.issuer, "aud": AUDIENCE, "sub": "ada", "client_id": "timetable", "scope": "read write",
            "iat": now, "exp": now + 7200, "jti": "1",
        });
        merge(&mut claims, changes);
        claims
    }

    /// A valid token.
    pub(crate) fn token(&self, signer: &Signer, algorithm: &str) -> String {
        signer.sign(&self.header(signer, algorithm), &self.claims(&json!({})))
    }

    pub(crate) async fn call(&self, token: &str) -> Answer {
        self.client.get("/read").header("authorization", &format!("Bearer {token}")).send().await
    }

    /// Asserts that it opens the door.
    #[track_caller]
    pub(crate) fn accepts(&self, token: String) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let answer = self.call(&token).await;
            assert_eq!((answer.status, answer.text().as_str()), (200, "ada"), "at {place}");
        }
    }

    /// Asserts that it does not, and why.
    #[track_caller]
    pub(crate) fn refuses(&self, token: String, why: &str) -> impl Future<Output = ()> {
        let place = std::panic::Location::caller();
        async move {
            let answer = self.call(&token).await;
            assert_eq!(answer.status, 401, "{} at {place}", answer.text());
            let detail = answer.is_problem(401, "unauthorized");
            assert_eq!(detail, format!("The access token {why}."), "at {place}");
        }
    }
}
