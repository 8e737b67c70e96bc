//! Train travel: stations, trips, bookings, payments.
//!
//! A folder per resource: [`station`], [`trip`], [`booking`], [`payment`], each with the type and its rules (`mod.rs`), the
//! operations (`api.rs`) and the SQL (`store.rs`). The [`timetable`] says which trains there are; [`sweep`] brings holds and
//! payments to their end. [`Train::open`] puts them together.

mod booking;
mod cache;
mod caller;
mod cancellation;
mod country;
mod document;
mod examples;
mod idempotency;
mod link;
mod money;
mod page;
mod payment;
mod problem;
mod removal;
mod station;
mod sweep;
mod timetable;
mod traveller;
mod trip;
mod webhook;

use std::{ops::Deref, sync::Arc};

use axum::{Extension, Router, extract::FromRef, middleware};
use db::{Db, Migrations};
pub use document::OAUTH;
pub use examples::with_examples;
use identity::{
    Accounts, Quota,
    oauth::{self, AuthorizationServer, ExternalIssuerSettings, Scope, TokenIssuer, Verifier},
};
use ipnet::IpNet;
use jiff::SignedDuration;
pub use payment::{
    Failure,
    processor::{Away, Charge, Outcome, Processor},
    sandbox::Sandbox,
    settle::NotYet,
};
pub use removal::remove_user;
use secrecy::SecretString;
pub use timetable::Timetable;
use tokio::sync::Notify;
use utoipa_axum::{router::OpenApiRouter, routes};
use web::{
    Background, Clock, DocumentationClient, Facts, InstallationSecret, IssuedBy, Random, RequestLimits,
    Service,
};
use webhooks::{Destinations, Webhooks};

/// Where the paths of the API begin.
pub const PREFIX: &str = "";

/// The tables of this service.
pub const MIGRATIONS: &[Migrations] = &[
    identity::MIGRATIONS,
    oauth::MIGRATIONS,
    identity::quota::MIGRATIONS,
    webhooks::MIGRATIONS,
    model::migrations!("train"),
];

/// What access tokens can be for.
pub const SCOPES: &[Scope] = &[
    Scope { name: "read", words: "see stations, trips and your bookings" },
    Scope { name: "write", words: "book, pay and cancel for you" },
];

/// The demo's users: name and password.
pub const DEMO_USERS: &[(&str, &str)] = &[("demo", "demo"), ("alice", "alice")];

const NAME: &str = "Train travel";

/// What an operator says about the service.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where people and programs reach it, without a slash at the end.
    pub address: String,
    /// Whose access tokens it takes, if not its own.
    pub issuer: Option<ExternalIssuerSettings>,
    /// What a program must present to register an OAuth client when this is no demo.
    pub registration_token: Option<SecretString>,
    /// How many calls an hour a caller may make.
    pub calls_per_hour: u32,
    /// How long a seat is held until it is paid for.
    pub hold: SignedDuration,
    pub limits: Limits,
    /// What keys the fingerprints of requests.
    pub secret: InstallationSecret,
    /// Networks of the operator's to which webhooks may go, beside public addresses.
    pub webhook_networks: Vec<IpNet>,
    /// Whether webhooks may go to this machine too: for a service that nobody else can reach, since whoever subscribes has it
    /// call its own ports.
    pub webhooks_to_this_machine: bool,
    pub demo: bool,
}

/// How much a user may do, beside the calls of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many seats a user may hold without having paid for them.
    pub unpaid_holds: u32,
    /// How many payments for a booking may fail in an hour.
    pub declined_payments_per_hour: u32,
    /// How many payments of a user may fail in an hour, over all bookings.
    pub declined_payments_per_user_per_hour: u32,
    /// How many test events and redeliveries may be requested for a webhook subscription in an hour.
    pub test_events_per_hour: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            unpaid_holds: 20,
            declined_payments_per_hour: 10,
            declined_payments_per_user_per_hour: 60,
            test_events_per_hour: 60,
        }
    }
}

/// The running service: what its operations share. Cloning it is cheap.
#[derive(Clone)]
pub struct Train(Arc<Inner>);

/// What its operations share.
pub struct Inner {
    address: String,
    hold: SignedDuration,
    limits: Limits,
    fingerprint_key: [u8; 32],
    timetable: Timetable,
    db: Db,
    clock: Clock,
    random: Random,
    quota: Quota,
    verifier: Verifier,
    sign_in: Router,
    issued_by: Option<IssuedBy>,
    documentation_client: Option<DocumentationClient>,
    processor: Box<dyn Processor>,
    webhooks: Webhooks,
    woken: Notify,
    background: Background,
}

impl Deref for Train {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Why the service could not be opened: one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot read the timetable: {0}")]
    Timetable(String),
    #[error("cannot prepare the train service's accounts: {0}")]
    Accounts(#[from] identity::ChangeError),
    #[error("cannot prepare the train service's sign-in: {0}")]
    SignIn(#[from] oauth::TokenIssuerError),
    #[error("cannot take up the train service's payments: {0}")]
    Payments(#[from] db::Error),
    #[error(transparent)]
    Webhooks(#[from] webhooks::OpenError),
}

impl Train {
    /// The service over its database, with demo accounts if the settings say so.
    pub async fn open(settings: Settings, db: Db, clock: Clock, random: Random) -> Result<Self, OpenError> {
        let processor = Box::new(Sandbox::new(db.clone(), clock.clone()));
        Train::open_with(settings, Timetable::built_in()?, processor, db, clock, random).await
    }

    /// The same with another timetable, and another party that moves the money.
    pub async fn open_with(
        settings: Settings,
        timetable: Timetable,
        processor: Box<dyn Processor>,
        db: Db,
        clock: Clock,
        random: Random,
    ) -> Result<Self, OpenError> {
        let Settings {
            address,
            issuer,
            registration_token,
            calls_per_hour,
            hold,
            limits,
            secret,
            webhook_networks,
            webhooks_to_this_machine,
            demo,
        } = settings;
        let accounts = accounts(db.clone(), demo, clock.clone(), random.clone())?;
        if demo {
            for (name, password) in DEMO_USERS {
                accounts.add_demo(name, password).await?;
            }
        }
        // Only the demo's client is known to everybody, and only by the service's own server.
        let documentation_client = (demo && issuer.is_none()).then(|| DocumentationClient {
            id: "demo",
            scopes: SCOPES.iter().map(|scope| scope.name.into()).collect(),
        });
        // What is under way where nobody else is was left by a process that is gone, and nobody will bring it to its end.
        // Where others are it may be theirs: they have their time, as it says there.
        if !db.is_shared() {
            let now = clock.now();
            db.write(move |tx| payment::store::take_over(tx, now)).await?;
        }
        let own = server_settings(address.clone(), demo, registration_token);
        let sign_in =
            TokenIssuer::open(own, issuer, accounts, db.clone(), clock.clone(), random.clone()).await?;
        let webhooks = webhooks::Settings {
            destinations: Destinations { loopback: webhooks_to_this_machine, networks: webhook_networks },
            resolver: webhooks::system_resolver(),
            test_events_per_hour: limits.test_events_per_hour,
            may_send: (!demo).then(|| webhook::send::outside_a_demo(db.clone())),
            token_for: Some(webhook::send::token_for(sign_in.signer, db.clone(), clock.clone())),
        };
        let webhooks = Webhooks::open(webhooks, db.clone(), clock.clone(), random.clone())?;
        Ok(Train(Arc::new(Inner {
            address,
            hold,
            limits,
            fingerprint_key: secret.key_for("fingerprints of requests with an Idempotency-Key"),
            timetable,
            quota: Quota::new(calls_per_hour, db.clone(), clock.clone()),
            verifier: sign_in.verifier,
            sign_in: sign_in.router,
            issued_by: sign_in.issued_by,
            documentation_client,
            processor,
            webhooks,
            woken: Notify::new(),
            background: Background::new("train", clock.clone()),
            db,
            clock,
            random,
        })))
    }

    /// The router to serve.
    pub fn router(&self, limits: RequestLimits) -> Router {
        let (api, mut openapi) = routes_and_document(&self.address, self.hold);
        if let Some(issued_by) = &self.issued_by {
            issued_by.write(&mut openapi, OAUTH);
        }
        let openapi = with_examples(openapi, &self.timetable, self.clock.now());
        Service {
            title: NAME,
            about: "Trains between real stations in Europe: find a trip, hold a seat, pay for it.",
            api: api
                .layer(Extension(Facts::new(self.clone())))
                .route_layer(middleware::from_fn(caller::tell_standing))
                .with_state(self.clone()),
            prefix: PREFIX,
            openapi,
            problems: problem::KINDS,
            db: self.db.clone(),
            background: self.background.clone(),
            limits,
            xml: true,
            beside: self.sign_in.clone(),
            exposed: &["ratelimit"],
            documentation_client: self.documentation_client.clone(),
        }
        .into_router()
    }
}

/// The accounts of this service, for whoever manages them without serving.
pub fn accounts(db: Db, demo: bool, clock: Clock, random: Random) -> Result<Accounts, identity::ChangeError> {
    Accounts::new(NAME, demo, db, clock, random)
}

/// The authorization server of this service, for whoever manages its clients without serving.
pub async fn authorization_server(
    address: String,
    demo: bool,
    db: Db,
    clock: Clock,
    random: Random,
) -> Result<AuthorizationServer, OpenError> {
    let accounts = accounts(db.clone(), demo, clock.clone(), random.clone())?;
    let opened =
        AuthorizationServer::open(server_settings(address, demo, None), accounts, db, clock, random).await;
    opened.map_err(|error| OpenError::SignIn(error.into()))
}

fn server_settings(issuer: String, demo: bool, registration_token: Option<SecretString>) -> oauth::Settings {
    oauth::Settings {
        service: NAME,
        issuer,
        prefix: PREFIX,
        scopes: SCOPES,
        sign_up: true,
        demo,
        registration_token,
    }
}

/// The OpenAPI document of the service at an address, where seats are held so long.
pub fn openapi(address: &str, hold: SignedDuration) -> utoipa::openapi::OpenApi {
    routes_and_document(address, hold).1
}

/// Every operation once: the router and the document are made from the same list.
fn routes_and_document(address: &str, hold: SignedDuration) -> (Router<Train>, utoipa::openapi::OpenApi) {
    let (router, mut document) = OpenApiRouter::with_openapi(document::empty(address))
        .routes(routes!(station::api::list))
        .routes(routes!(station::api::get))
        .routes(routes!(trip::api::list))
        .routes(routes!(trip::api::get))
        .routes(routes!(booking::api::list, booking::api::create))
        .routes(routes!(booking::api::get, cancellation::delete))
        .routes(routes!(payment::api::pay))
        .routes(routes!(webhook::api::list, webhook::api::create))
        .routes(routes!(webhook::api::get, webhook::api::delete))
        .routes(routes!(webhook::api::rotate))
        .routes(routes!(webhook::api::test))
        .routes(routes!(webhook::api::redeliver))
        .split_for_parts();
    web::openapi::answer_in_xml(&mut document);
    (router, document::complete(document, hold))
}

impl FromRef<Train> for Verifier {
    fn from_ref(train: &Train) -> Self {
        train.verifier.clone()
    }
}
