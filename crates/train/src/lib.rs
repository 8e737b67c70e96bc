//! Train travel: stations, trips, bookings, payments.
//!
//! A folder per resource: [`station`], [`trip`], [`booking`], [`payment`], [`webhook`], [`inbox`], each with the type and its rules (`mod.rs`), the
//! operations (`api.rs`) and the SQL (`store.rs`). The [`timetable`] has the trains; [`sweep`] releases expired holds and
//! settles payments. [`service`] describes the service to the program that runs it, and [`Train::open`] opens it.

mod booking;
mod cache;
mod caller;
mod cancellation;
mod country;
mod document;
mod examples;
mod expiry;
mod idempotency;
mod inbox;
mod link;
mod money;
mod page;
mod pages;
mod payment;
mod personal_data;
mod problem;
mod removal;
mod service;
mod station;
mod sweep;
#[cfg(test)]
mod sweep_tests;
mod timetable;
mod traveller;
mod trip;
mod webhook;

use std::{ops::Deref, sync::Arc};

use ::service::{Instance, SignIn};
use axum::extract::FromRef;
use db::Db;
use identity::{
    Quota,
    oauth::{self, Verifier},
};
use inbox::receive::Inboxes;
use jiff::SignedDuration;
pub use payment::{
    Failure,
    processor::{Charge, Outcome, Processor, ProcessorUnavailable},
    sandbox::Sandbox,
    settle::SettleError,
};
pub use service::{MIGRATIONS, SERVICE, Settings};
pub use timetable::Timetable;
use tokio::sync::Notify;
use web::{
    App, Background, Clock, DocumentationSetup, Random, RequestLimits, ValidationContext,
    openapi::{ApiRoutes, Handlers},
    page::Pages,
    routes,
};
use webhooks::{Destinations, Webhooks};

/// The demo's users: name and password.
pub const DEMO_USERS: &[(&str, &str)] = &[("demo", "demo"), ("alice", "alice")];

/// The running service: the state that its operations share. Cloning it is cheap.
#[derive(Clone)]
pub struct Train(Arc<Inner>);

/// The state that the operations share.
pub struct Inner {
    address: String,
    demo: bool,
    inboxes: Inboxes,
    request_limits: RequestLimits,
    settings: Settings,
    fingerprint_key: [u8; 32],
    timetable: Arc<Timetable>,
    db: Db,
    clock: Clock,
    random: Random,
    quota: Quota,
    sign_in: SignIn,
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
    #[error("cannot resume the train service's payments: {0}")]
    Payments(#[from] db::Error),
    #[error(transparent)]
    Webhooks(#[from] webhooks::OpenError),
}

impl Train {
    /// Opens an instance, with demo accounts if it is a demo.
    pub async fn open(settings: Settings, instance: Instance) -> Result<Self, OpenError> {
        let processor = Box::new(Sandbox::new(instance.db.clone(), instance.clock.clone()));
        Train::open_with(settings, Timetable::built_in()?, processor, instance).await
    }

    /// The same with another timetable and another payment processor.
    pub async fn open_with(
        settings: Settings,
        timetable: Arc<Timetable>,
        processor: Box<dyn Processor>,
        instance: Instance,
    ) -> Result<Self, OpenError> {
        let accounts = SERVICE.accounts(&instance)?;
        if instance.demo {
            for (name, password) in DEMO_USERS {
                accounts.add_demo(name, password).await?;
            }
        }
        let sign_in = SERVICE.open_sign_in(&settings.oauth, &accounts, &instance).await?;
        let controls = instance.controls_in_effect();
        let Instance {
            db,
            clock,
            random,
            address,
            limits,
            demo,
            is_local,
            secret,
            delivery_gate,
            traces,
            ..
        } = instance;
        // A process that is alone on its database has no other that could finish a payment in progress. On a shared database
        // another process may be working on it, until its lease expires.
        if !db.is_shared() {
            let now = clock.now();
            db.write(move |tx| payment::store::take_over(tx, now)).await?;
        }
        let inboxes = Inboxes::new(&address, db.clone(), clock.clone());
        let webhooks = webhooks::Settings {
            destinations: Destinations {
                // Stricter than the demo, which may be reachable from other machines: a subscriber could have the service call its own ports.
                loopback: demo && is_local,
                networks: settings.webhook_networks.clone(),
            },
            resolver: webhooks::system_resolver(),
            test_events_per_hour: settings.test_events_per_hour,
            may_send: (!demo).then(|| webhook::send::outside_a_demo(db.clone())),
            token_for: Some(webhook::send::token_for(sign_in.signer.clone(), db.clone(), &clock)),
            gate: delivery_gate.filter(|_| demo),
            receiver: Some(Arc::new(inboxes.clone())),
            lease: SignedDuration::from_secs(settings.webhook_lease_seconds.into()),
            traces: traces.map(|traces| (traces, SERVICE.name)),
        };
        let webhooks = Webhooks::open(webhooks, db.clone(), clock.clone(), random.clone())?;
        Ok(Train(Arc::new(Inner {
            address,
            demo,
            inboxes,
            request_limits: limits,
            fingerprint_key: secret.key_for("fingerprints of requests with an Idempotency-Key"),
            timetable,
            quota: Quota::new(settings.calls_per_hour, db.clone(), clock.clone()).controlled_by(controls),
            settings,
            sign_in,
            processor,
            webhooks,
            woken: Notify::new(),
            background: Background::new(SERVICE.name, clock.clone()),
            db,
            clock,
            random,
        })))
    }

    /// What answers its requests.
    pub fn app(&self) -> App {
        let (api, mut openapi) = routes_and_document(&self.address, self.settings.hold());
        self.sign_in.describe(&SERVICE, &mut openapi);
        let openapi = examples::with_examples(openapi, &self.timetable, self.clock.now());
        web::Service {
            name: SERVICE.name,
            title: SERVICE.title,
            about: "Trains between real stations in Europe: find a trip, hold a seat, pay for it.",
            api: api.with_state(self),
            prefix: SERVICE.prefix,
            address: &self.address,
            openapi,
            problems: problem::KINDS,
            db: self.db.clone(),
            background: self.background.clone(),
            limits: self.request_limits,
            validation: Some(ValidationContext::new(self.clone())),
            xml: true,
            key_headers: &[],
            extra_routes: self.sign_in.router.clone().merge(self.inboxes.clone().router()),
            exposed: &["ratelimit"],
            pages: Some(Pages {
                list: pages::PAGES,
                assets: &pages::ASSETS,
                sign_in: self.sign_in.pages.clone(),
                demo: self.demo,
            }),
            documentation: DocumentationSetup {
                chains: self
                    .demo
                    .then_some(&[("get-booking-qr", &["create-booking", "create-booking-payment"])]),
                ..self.sign_in.documentation.clone()
            },
        }
        .into_app()
    }
}

/// The OpenAPI document of an instance at an address, with its length of a hold.
pub fn openapi(address: &str, hold: SignedDuration) -> utoipa::openapi::OpenApi {
    routes_and_document(address, hold).1
}

/// Every operation once: the handlers and the document are made from the same list.
fn routes_and_document(address: &str, hold: SignedDuration) -> (Handlers<Train>, utoipa::openapi::OpenApi) {
    let (handlers, mut document) = ApiRoutes::new(SERVICE.prefix, document::empty(address))
        .routes(routes!(station::api::list))
        .routes(routes!(station::api::get))
        .routes(routes!(trip::api::list))
        .routes(routes!(trip::api::get))
        .routes(routes!(booking::api::list, booking::api::create))
        .routes(routes!(booking::api::get, cancellation::delete))
        .routes(routes!(payment::api::pay))
        .routes(routes!(booking::qr::image))
        .routes(routes!(webhook::api::list, webhook::api::create))
        .routes(routes!(webhook::api::get, webhook::api::delete))
        .routes(routes!(webhook::api::rotate))
        .routes(routes!(webhook::api::test))
        .routes(routes!(webhook::api::redeliver))
        .routes(routes!(inbox::api::list, inbox::api::create))
        .routes(routes!(inbox::api::get, inbox::api::delete))
        .finish();
    web::openapi::answer_in_xml(&mut document);
    (handlers, document::complete(document, hold))
}

impl FromRef<Train> for Verifier {
    fn from_ref(train: &Train) -> Self {
        train.sign_in.verifier.clone()
    }
}
