//! A service with one operation, once without credentials and once with an access token: it reads a row by its key and
//! answers with it as JSON.

use std::net::SocketAddr;

use axum::{
    Router,
    extract::{FromRef, Path, State},
    routing::get,
};
use db::Db;
use identity::{
    Accounts,
    oauth::{
        AuthorizationServer, Scope, Settings, Verifier,
        bearer::{Authorized, Scopes},
    },
};
use serde::Serialize;
use web::{Background, Clock, Random, Reply, RequestLimits, Service};

use crate::load;

struct Read;
impl Scopes for Read {
    const NEEDED: &'static [&'static str] = &["read"];
}

#[derive(Clone)]
struct App {
    db: Db,
    verifier: Verifier,
}

impl FromRef<App> for Verifier {
    fn from_ref(app: &App) -> Self {
        app.verifier.clone()
    }
}

#[derive(Serialize)]
struct Entry {
    id: i64,
    words: String,
    number: i64,
}

async fn protected(_caller: Authorized<Read>, State(app): State<App>, Path(id): Path<i64>) -> Answer {
    app.entry(id).await
}

async fn open(State(app): State<App>, Path(id): Path<i64>) -> Answer {
    app.entry(id).await
}

type Answer = web::Result<Reply<Option<Entry>>>;

impl App {
    async fn entry(&self, id: i64) -> Answer {
        let select = "SELECT words, number FROM entry WHERE id = $1";
        let read = self.db.read(move |tx| {
            tx.row(select, &[id.into()], |row| Ok(Entry { id, words: row.get(0)?, number: row.get(1)? }))
        });
        let entry: Result<_, db::Error> = read.await;
        Ok(Reply(entry?))
    }
}

pub(super) fn accounts(db: &Db) -> Accounts {
    Accounts::new("Bench", false, db.clone(), Clock::system(), Random::system()).unwrap()
}

pub(super) async fn authorization_server(db: &Db) -> AuthorizationServer {
    let settings = Settings {
        service: "Bench",
        issuer: "https://bench.example".into(),
        prefix: "/v1",
        scopes: &[Scope { name: "read", words: "see what there is" }],
        sign_up: false,
        // For the client that comes with it.
        demo: true,
        registration_token: None,
    };
    let (clock, random) = (Clock::system(), Random::system());
    AuthorizationServer::open(settings, accounts(db), db.clone(), clock, random).await.unwrap()
}

/// Serves the operations the way the program serves its own.
pub(super) async fn serve(db: &Db, server: &AuthorizationServer) -> SocketAddr {
    let api = Router::new()
        .route("/protected/{id}", get(protected))
        .route("/open/{id}", get(open))
        .with_state(App { db: db.clone(), verifier: server.verifier() });
    let service = Service {
        title: "Bench",
        about: "",
        api,
        prefix: "/v1",
        openapi: utoipa::openapi::OpenApi::default(),
        problems: &[],
        db: db.clone(),
        background: Background::new("bench", Clock::system()),
        limits: RequestLimits::default(),
        xml: false,
        extra_routes: Router::new(),
        address: "",
        exposed: &[],
        documentation_client: None,
    };
    load::listen(service.into_router()).await
}
