//! The service in this process, called without a socket: ten thousand calls take seconds.

use service::Instance;
use std::sync::{Arc, RwLock};

use axum::body::{Body, to_bytes};
use db::{Db, Limits};
use http::{Request, header};
use identity::{Hashing, oauth::AuthorizationServer};
use jiff::SignedDuration;
use serde_json::Value;
use testkit::Store;
use train::{Processor, SERVICE, Sandbox, Settings, Timetable, Train};
use uuid::Uuid;
use web::{App, Clock, Problem, Random};

const ADDRESS: &str = "https://trains.example";

/// How long a seat is held here: short enough that a token outlives it.
pub(crate) const HOLD: SignedDuration = SignedDuration::from_secs(200);

/// One process's worth of the service. Others may be at work on the same database.
pub(crate) struct Process {
    pub(crate) train: Train,
    pub(crate) db: Db,
    app: App,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// What kind of problem it is, if it is one.
    pub(crate) problem: Option<&'static str>,
    pub(crate) body: Value,
}

/// A request to be.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) method: &'static str,
    pub(crate) path: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) body: Option<&'a Value>,
}

pub(crate) fn get(path: &str) -> Call<'_> {
    Call { method: "GET", path, key: None, body: None }
}

pub(crate) fn delete(path: &str) -> Call<'_> {
    Call { method: "DELETE", path, key: None, body: None }
}

pub(crate) fn post<'a>(path: &'a str, body: &'a Value, key: Option<&'a str>) -> Call<'a> {
    Call { method: "POST", path, key, body: Some(body) }
}

pub(crate) fn open_db(store: &Store) -> Db {
    let limits = Limits { connections: 8, ..Limits::default() };
    Db::open(store.location(), "train", train::MIGRATIONS, limits).unwrap()
}

fn instance(db: &Db, clock: &Clock) -> Instance {
    let secret = web::InstallationSecret::new(&[7; 32]);
    let instance = Instance::new(db.clone(), clock.clone(), Random::system()).at(ADDRESS);
    Instance { secret, hashing: Hashing::LEAST_WORK, ..instance }
}

impl Process {
    pub(crate) async fn start(db: Db, clock: &Clock, timetable: Arc<Timetable>) -> Self {
        let processor = Box::new(Sandbox::new(db.clone(), clock.clone()));
        Process::start_with(processor, db, clock, timetable).await
    }

    pub(crate) async fn start_with(
        processor: Box<dyn Processor>,
        db: Db,
        clock: &Clock,
        timetable: Arc<Timetable>,
    ) -> Self {
        let settings = Settings {
            calls_per_hour: u32::MAX,
            hold_seconds: u32::try_from(HOLD.as_secs()).unwrap(),
            // Three users compete for all seats, again and again.
            unpaid_holds: u32::MAX,
            declined_payments_per_hour: u32::MAX,
            declined_payments_per_user_per_hour: u32::MAX,
            ..Settings::default()
        };
        let instance = instance(&db, clock);
        let train = Train::open_with(settings, timetable, processor, instance).await.unwrap();
        let app = train.app();
        Process { train, db, app }
    }

    pub(crate) async fn call(&self, token: &str, call: Call<'_>) -> Answer {
        let mut request = Request::builder()
            .method(call.method)
            .uri(call.path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"));
        if let Some(key) = call.key {
            request = request.header("idempotency-key", key);
        }
        let body = match call.body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let response = self.app.answer(request.body(body).unwrap()).await;
        let problem = response.extensions().get::<Arc<Problem>>().map(|problem| problem.kind().name);
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        Answer { status, problem, body: serde_json::from_slice(&body).unwrap_or_default() }
    }
}

/// People with accounts, and access tokens for them.
pub(crate) struct Users {
    server: AuthorizationServer,
    ids: Vec<Uuid>,
    tokens: RwLock<Vec<Arc<str>>>,
}

impl Users {
    pub(crate) async fn new(db: &Db, clock: &Clock, number: usize) -> Self {
        let instance = instance(db, clock);
        let accounts = SERVICE.accounts(&instance).unwrap();
        let mut ids = Vec::new();
        for number in 0..number {
            ids.push(accounts.add(&format!("user{number}"), "correct horse".into()).await.unwrap());
        }
        let server = SERVICE.authorization_server(&instance).await.unwrap();
        let users = Users { server, ids, tokens: RwLock::default() };
        users.renew().await;
        users
    }

    /// Tokens last ten minutes on a clock that these tests move.
    pub(crate) async fn renew(&self) {
        let mut tokens = Vec::new();
        for id in &self.ids {
            tokens.push(self.server.token_for(*id, None).await.unwrap().into());
        }
        *self.tokens.write().unwrap() = tokens;
    }

    pub(crate) fn token(&self, user: usize) -> Arc<str> {
        self.tokens.read().unwrap()[user].clone()
    }
}
