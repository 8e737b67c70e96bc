//! The museum: opening hours, special events, tickets.
//!
//! A folder per resource: [`hours`], [`event`], [`ticket`], [`admission`], each with the type and its rules (`mod.rs`), the
//! operations (`api.rs`) and the SQL (`store.rs`). [`service`] describes the museum to the program that runs it, and
//! [`Museum::open`] opens it. [`wallet`] makes passes for Apple Wallet, and
//! [`pages`] has the pages for people.

mod admission;
mod caller;
mod demo;
mod event;
mod examples;
mod file;
mod hours;
mod pages;
mod problem;
mod service;
mod settings;
mod ticket;
mod wallet;

use std::{ops::Deref, sync::Arc};

use ::service::Instance;
use axum::{Router, extract::FromRef};
use db::Db;
use identity::{Accounts, Quota};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        extensions::ExtensionsBuilder,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};
use web::{
    App, Background, Clock, Random, RequestLimits, ValidationContext,
    openapi::{ApiRoutes, Handlers, ProblemFormats},
    page::{PageSignIn, Pages},
    routes,
};

pub(crate) use demo::ACCOUNT as DEMO_ACCOUNT;
pub use hours::SettingsError;
pub use service::{MIGRATIONS, SERVICE};
pub use settings::{Settings, WalletSettings, WeekSettings};

/// The version of the museum's public description.
const VERSION_LABEL: &str = "@yummy-bear";

/// The running service: the state that its operations share. Cloning it is cheap.
#[derive(Clone)]
pub struct Museum(Arc<Inner>);

/// What its operations share.
pub struct Inner {
    address: String,
    limits: RequestLimits,
    hours: hours::Hours,
    demo: bool,
    db: Db,
    clock: Clock,
    random: Random,
    accounts: Accounts,
    quota: Quota,
    background: Background,
    wallet: wallet::Wallet,
}

impl Deref for Museum {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Why the service could not be opened: one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("cannot prepare the museum's accounts: {0}")]
    Accounts(#[from] identity::ChangeError),
    #[error("cannot bring the museum's demo data: {0}")]
    Demo(#[from] db::Error),
}

impl Museum {
    /// Opens an instance, with demo data if it is a demo.
    pub async fn open(settings: &Settings, instance: Instance) -> Result<Self, OpenError> {
        let hours = hours::Hours::new(settings)?;
        let wallet = wallet::Wallet::open(&settings.wallet, instance.demo)?;
        let accounts = SERVICE.accounts(&instance)?;
        let controls = instance.controls_in_effect();
        let Instance { db, clock, random, address, limits, demo, .. } = instance;
        let background = Background::new(SERVICE.name, clock.clone());
        let quota = Quota::new(settings.calls_per_hour, db.clone(), clock.clone()).controlled_by(controls);
        let inner =
            Inner { quota, address, limits, hours, demo, db, clock, random, accounts, background, wallet };
        let museum = Museum(Arc::new(inner));
        if demo {
            let (name, password) = DEMO_ACCOUNT;
            museum.accounts.add_demo(name, password).await?;
            museum.keep_demo_fresh().await?;
        }
        Ok(museum)
    }

    /// Runs the background work until `stop` ends, if there is any.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        if self.demo {
            let work = |_| self.clone().keep_demo_fresh_for_ever();
            tokio::select! {
                () = self.background.keep("demo events", std::future::pending(), work) => {}
                () = stop => {}
            }
        }
    }

    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Today in the zone of the museum.
    pub(crate) fn today(&self) -> jiff::civil::Date {
        self.hours.today(self.clock.now())
    }

    /// The address of a path below the API's prefix.
    pub(crate) fn location(&self, path: &str) -> String {
        format!("{}{}{path}", self.address, SERVICE.prefix)
    }

    /// What answers its requests.
    pub fn app(&self) -> App {
        let (api, openapi) = routes_and_document(&self.address);
        let openapi = examples::add(openapi, &self.hours, self.clock.now());
        web::Service {
            name: SERVICE.name,
            title: SERVICE.title,
            about: "Opening hours, special events and tickets of an imaginary museum, kept for real.",
            api: api.with_state(self),
            prefix: SERVICE.prefix,
            address: &self.address,
            openapi,
            problems: problem::KINDS,
            db: self.db.clone(),
            background: self.background.clone(),
            limits: self.limits,
            validation: Some(ValidationContext::new(self.clone())),
            xml: false,
            key_headers: &[],
            extra_routes: Router::new(),
            exposed: &[],
            pages: Some(Pages {
                list: pages::PAGES,
                assets: &pages::ASSETS,
                sign_in: PageSignIn::Basic,
                demo: self.demo,
            }),
            documentation: web::DocumentationSetup {
                user: self.demo.then_some(DEMO_ACCOUNT),
                chains: self.demo.then_some(&[]),
                ..web::DocumentationSetup::default()
            },
        }
        .into_app()
    }
}

/// The OpenAPI document of the service at an address; without an address, its server is relative to the document.
pub fn openapi(address: &str) -> utoipa::openapi::OpenApi {
    routes_and_document(address).1
}

/// Every operation once: the handlers and the document are made from the same list.
fn routes_and_document(address: &str) -> (Handlers<Museum>, utoipa::openapi::OpenApi) {
    let (handlers, document) = ApiRoutes::new(SERVICE.prefix, Document::openapi())
        .routes(routes!(hours::api::list))
        .routes(routes!(hours::now::get))
        .routes(routes!(event::api::create, event::api::list))
        .routes(routes!(event::api::get, event::api::change, event::api::delete))
        .routes(routes!(ticket::api::buy))
        .routes(routes!(ticket::pass::get))
        .routes(routes!(ticket::qr::image))
        .routes(routes!(admission::api::admit, admission::api::list))
        .finish();
    let mut document = web::openapi::complete(document, ProblemFormats::Json);
    document.info.extensions = Some(ExtensionsBuilder::new().add("x-version-label", VERSION_LABEL).build());
    (handlers, web::openapi::at_address(document, address))
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Museum",
        version = "1.1.0",
        description = "Opening hours, special events and tickets of an imaginary museum.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    servers((url = "/v1.1", description = "This service")),
    security(("MuseumPlaceholderAuth" = [])),
    modifiers(&BasicScheme),
    tags(
        (name = "Operations", description = "When the museum is open."),
        (name = "Events", description = "Special events at the museum."),
        (name = "Tickets", description = "Tickets for general entry and for special events."),
    ),
)]
struct Document;

struct BasicScheme;

impl Modify for BasicScheme {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let basic = HttpBuilder::new().scheme(HttpAuthScheme::Basic).build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("MuseumPlaceholderAuth", SecurityScheme::Http(basic));
    }
}

impl FromRef<Museum> for Accounts {
    fn from_ref(museum: &Museum) -> Self {
        museum.accounts.clone()
    }
}
