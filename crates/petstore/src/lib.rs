//! The pet store: pets, orders, users.
//!
//! A folder per resource: [`pet`], [`image`], [`order`], [`user`], each with the type and its rules (`mod.rs`), the operations
//! (`api.rs`), and the SQL (`store.rs`). [`caller`] checks credentials. [`service`] describes the store to the program that runs
//! it, and [`Petstore::open`] opens it.

mod caller;
mod demo;
mod document;
mod examples;
mod habits;
mod ids;
mod image;
mod inventory;
mod order;
mod pages;
mod pet;
mod picture;
mod service;
mod user;

use std::{ops::Deref, sync::Arc};

use ::service::{Instance, SignIn};
use db::Db;
use habits::Habits;
use identity::{Accounts, ApiKeys, Quota, Sessions, oauth};
use ids::Ids;
use web::{
    App, Background, Clock, Controls, DocumentationSetup, Problem, Random, RequestLimits, SignInMode,
    ValidationContext,
    openapi::{ApiRoutes, Handlers},
    page::Pages,
    routes,
};

pub use demo::{API_KEY as DEMO_API_KEY, USERS as DEMO_USERS};
pub use service::{MIGRATIONS, SERVICE, Settings};

/// The running service: the state that its operations share. Cloning it is cheap.
#[derive(Clone)]
pub struct Petstore(Arc<Inner>);

/// What its operations share.
pub struct Inner {
    address: String,
    demo: bool,
    limits: RequestLimits,
    db: Db,
    clock: Clock,
    random: Random,
    accounts: Accounts,
    sessions: Sessions,
    keys: ApiKeys,
    quota: Quota,
    controls: Controls,
    sign_in: SignIn,
    sign_up: SignUp,
    sign_ups_per_hour: u32,
    pet_ids: Ids,
    order_ids: Ids,
    user_ids: Ids,
}

impl Deref for Petstore {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Who may create users by the list without logging in.
#[derive(Debug, Clone, Copy)]
enum SignUp {
    /// Any caller, as this is a demo.
    Demo,
    /// Any caller, as the operator's settings say.
    Open,
    Closed,
}

/// Why the service could not be opened: one line for the operator.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot prepare the pet store's accounts: {0}")]
    Accounts(#[from] identity::ChangeError),
    #[error("cannot prepare the pet store's sign-in: {0}")]
    SignIn(#[from] oauth::TokenIssuerError),
    #[error("cannot add the pet store's demo data: {0}")]
    Demo(#[from] db::Error),
}

impl Petstore {
    /// Opens an instance, with demo data if it is a demo.
    pub async fn open(settings: &Settings, instance: Instance) -> Result<Self, OpenError> {
        let accounts = SERVICE.accounts(&instance)?;
        let sign_in = SERVICE.open_sign_in(&settings.oauth, &accounts, &instance).await?;
        let controls = instance.controls_in_effect();
        let Instance { db, clock, random, address, limits, demo, .. } = instance;
        let ids = |kind| Ids::new(kind, db.clone(), random.clone());
        let petstore = Petstore(Arc::new(Inner {
            address,
            demo,
            limits,
            sign_up: match settings.open_sign_up {
                _ if demo => SignUp::Demo,
                true => SignUp::Open,
                false => SignUp::Closed,
            },
            sign_ups_per_hour: settings.sign_ups_per_hour,
            sessions: Sessions::new(demo, db.clone(), clock.clone(), random.clone())
                .controlled_by(controls.clone()),
            keys: ApiKeys::new(demo, db.clone(), clock.clone(), random.clone()),
            quota: Quota::new(settings.calls_per_hour, db.clone(), clock.clone())
                .controlled_by(controls.clone()),
            controls,
            sign_in,
            pet_ids: ids("pet"),
            order_ids: ids("order"),
            user_ids: ids("user"),
            accounts,
            db,
            clock,
            random,
        }));
        if demo {
            petstore.add_demo_data().await?;
        }
        Ok(petstore)
    }

    /// What answers its requests.
    pub fn app(&self) -> App {
        let (api, mut openapi) = routes_and_document(&self.address);
        self.sign_in.describe(&SERVICE, &mut openapi);
        let openapi = examples::with_examples(openapi, self.clock.now());
        let petstore = self.clone();
        let reads_texts = move || petstore.habits().texts_as_values;
        web::Service {
            name: SERVICE.name,
            title: SERVICE.title,
            about: "Pets, orders and users of an imaginary pet store, kept for real.",
            api: api.with_state(self),
            prefix: SERVICE.prefix,
            address: &self.address,
            openapi,
            problems: &[],
            db: self.db.clone(),
            background: Background::new(SERVICE.name, self.clock.clone()),
            limits: self.limits,
            validation: Some(ValidationContext::new(()).reading_texts_if(reads_texts)),
            xml: true,
            key_headers: caller::KEY_HEADERS,
            extra_routes: self.sign_in.router.clone().merge(picture::routes()),
            exposed: &["x-rate-limit", "x-expires-after"],
            pages: Some(Pages {
                list: pages::PAGES,
                assets: &pages::ASSETS,
                sign_in: self.sign_in.pages.clone(),
                demo: self.demo,
            }),
            documentation: DocumentationSetup {
                api_key: self.demo.then_some(DEMO_API_KEY),
                session: Some(("/user/login", "session")),
                // The address of the image is in the answer of the pet.
                chains: self.demo.then_some(&[("getImage", &["uploadFile", "getPetById"])]),
                ..self.sign_in.documentation.clone()
            },
        }
        .into_adapted_app(Some(Arc::new(self.clone())))
    }

    /// The accounts of its users.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The public address of a path of the API.
    fn path(&self, path: &str) -> String {
        format!("{}{}{path}", web::path_of(&self.address), SERVICE.prefix)
    }

    /// Which habits of another server it has now.
    fn habits(&self) -> Habits {
        Habits::of(self.controls.get().compat)
    }

    /// Which credentials a call needs now.
    fn sign_in_mode(&self) -> SignInMode {
        if self.habits().sign_in_off { SignInMode::Off } else { self.controls.get().sign_in }
    }

    /// Counts a call.
    async fn spend(&self, caller: &str) -> Result<(), Problem> {
        self.quota.spend(caller).await.map(drop).map_err(identity::quota::QuotaError::into_problem)
    }
}

/// The OpenAPI document of an instance at an address.
pub fn openapi(address: &str) -> utoipa::openapi::OpenApi {
    routes_and_document(address).1
}

/// Every operation once: the handlers and the document are made from the same list. Those of the first list answer in JSON only.
fn routes_and_document(address: &str) -> (Handlers<Petstore>, utoipa::openapi::OpenApi) {
    let (json, mut document) = ApiRoutes::new(SERVICE.prefix, document::empty(address))
        .routes(routes!(image::api::upload))
        .routes(routes!(inventory::get))
        .routes(routes!(order::api::place))
        .finish();
    let (either, mut in_either) = ApiRoutes::new(SERVICE.prefix, utoipa::openapi::OpenApi::default())
        .routes(routes!(pet::api::add, pet::api::replace))
        .routes(routes!(pet::find::by_status))
        .routes(routes!(pet::find::by_tags))
        .routes(routes!(pet::api::get))
        .routes(routes!(pet::api::change, pet::api::delete))
        .routes(routes!(image::api::get))
        .routes(routes!(order::api::get, order::api::delete))
        .routes(routes!(user::api::create))
        .routes(routes!(user::api::create_list))
        .routes(routes!(user::session::login))
        .routes(routes!(user::session::logout))
        .routes(routes!(user::api::get, user::api::update, user::api::delete))
        .finish();
    web::openapi::answer_in_xml(&mut in_either);
    document.merge(in_either);
    (json.merge(either), web::openapi::complete(document, web::openapi::ProblemFormats::JsonAndXml))
}
