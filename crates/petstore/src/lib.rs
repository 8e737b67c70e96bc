//! The pet store: pets, orders, users.
//!
//! A folder per resource: [`pet`], [`image`], [`order`], [`user`], each with the type and its rules (`mod.rs`), the operations
//! (`api.rs`), and the SQL (`store.rs`). [`caller`] is who may do what. [`Petstore::open`] puts them
//! together.

mod caller;
mod demo;
mod document;
mod examples;
mod ids;
mod image;
mod inventory;
mod order;
mod pet;
mod user;

use std::sync::Arc;

use axum::{Router, middleware::from_fn};
use db::{Db, Migrations};
use identity::{
    Accounts, ApiKeys, Quota, Sessions,
    account::Name,
    oauth::{self, AuthorizationServer, ExternalIssuerSettings, Scope, TokenIssuer, Verifier},
};
use ids::Ids;
use secrecy::SecretString;
use user::store::{Maker, Refused};
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouterExt},
    routes,
};
use web::{Background, Clock, DocumentationClient, IssuedBy, Problem, Random, RequestLimits, Service};

pub use demo::{API_KEY as DEMO_API_KEY, USERS as DEMO_USERS};
pub use document::OAUTH;
pub use examples::with_examples;

/// Where the paths of the API begin.
pub const PREFIX: &str = "/v3";

/// The tables of this service.
pub const MIGRATIONS: &[Migrations] =
    &[identity::MIGRATIONS, oauth::MIGRATIONS, identity::quota::MIGRATIONS, model::migrations!("petstore")];

/// What access tokens can be for.
pub const SCOPES: &[Scope] = &[
    Scope { name: "write:pets", words: "modify pets in your account" },
    Scope { name: "read:pets", words: "read your pets" },
];

const NAME: &str = "Pet store";

/// What an operator says about the service.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where people and programs reach it, without a slash at the end.
    pub address: String,
    /// Whose access tokens it takes, if not its own.
    pub issuer: Option<ExternalIssuerSettings>,
    /// What a program must present to register an OAuth client when this is no demo.
    pub registration_token: Option<SecretString>,
    /// How many calls an hour a user, a client or an API key may make.
    pub calls_per_hour: u32,
    /// Whether users can be made by the list without logging in. In a demo they can in any case.
    pub open_sign_up: bool,
    /// How many users an hour can be made from an address, with a session or without, when this is no demo.
    pub sign_ups_per_hour: u32,
    pub demo: bool,
}

/// The running service: what its operations share. Cloning it is cheap.
#[derive(Clone)]
pub struct Petstore {
    address: Arc<str>,
    db: Db,
    clock: Clock,
    random: Random,
    accounts: Accounts,
    sessions: Sessions,
    keys: ApiKeys,
    quota: Quota,
    verifier: Verifier,
    sign_in: Router,
    issued_by: Option<IssuedBy>,
    documentation_client: Option<DocumentationClient>,
    sign_up: SignUp,
    sign_ups_per_hour: u32,
    pet_ids: Ids,
    order_ids: Ids,
    user_ids: Ids,
}

/// Who may make users by the list without logging in.
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
    #[error("cannot bring the pet store's demo data: {0}")]
    Demo(#[from] db::Error),
}

impl Petstore {
    /// The service over its database, with demo data if the settings say so.
    pub async fn open(settings: Settings, db: Db, clock: Clock, random: Random) -> Result<Self, OpenError> {
        let Settings { address, issuer, registration_token, calls_per_hour, demo, .. } = settings;
        let accounts = accounts(db.clone(), demo, clock.clone(), random.clone())?;
        let own = server_settings(address.clone(), demo, registration_token);
        // Only the demo's client is known to everybody, and only by the service's own server.
        let documentation_client = (demo && issuer.is_none()).then(|| DocumentationClient {
            id: "demo",
            scopes: SCOPES.iter().map(|scope| scope.name.into()).collect(),
        });
        let sign_in =
            TokenIssuer::open(own, issuer, accounts.clone(), db.clone(), clock.clone(), random.clone())
                .await?;
        let ids = |kind| Ids::new(kind, db.clone(), random.clone());
        let petstore = Petstore {
            address: address.into(),
            sign_up: match settings.open_sign_up {
                _ if demo => SignUp::Demo,
                true => SignUp::Open,
                false => SignUp::Closed,
            },
            sign_ups_per_hour: settings.sign_ups_per_hour,
            sessions: Sessions::new(demo, db.clone(), clock.clone(), random.clone()),
            keys: ApiKeys::new(demo, db.clone(), clock.clone(), random.clone()),
            quota: Quota::new(calls_per_hour, db.clone(), clock.clone()),
            verifier: sign_in.verifier,
            sign_in: sign_in.router,
            issued_by: sign_in.issued_by,
            documentation_client,
            pet_ids: ids("pet"),
            order_ids: ids("order"),
            user_ids: ids("user"),
            accounts,
            db,
            clock,
            random,
        };
        if demo {
            petstore.bring_demo().await?;
        }
        Ok(petstore)
    }

    /// The router to serve.
    pub fn router(&self, limits: RequestLimits) -> Router {
        let (json, either, mut openapi) = routes_and_document(&self.address);
        if let Some(issued_by) = &self.issued_by {
            issued_by.write(&mut openapi, OAUTH);
        }
        let openapi = with_examples(openapi, self.clock.now());
        Service {
            title: NAME,
            about: "Pets, orders and users of an imaginary pet store, kept for real.",
            api: web::json_only(json).merge(either).with_state(self.clone()),
            prefix: PREFIX,
            openapi,
            problems: &[],
            db: self.db.clone(),
            background: Background::new("petstore", self.clock.clone()),
            limits,
            xml: true,
            beside: self.sign_in.clone(),
            exposed: &["x-rate-limit", "x-expires-after"],
            documentation_client: self.documentation_client.clone(),
        }
        .into_router()
    }

    /// The accounts of its users.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Counts a call.
    async fn spend(&self, caller: &str) -> Result<(), Problem> {
        self.quota.spend(caller).await.map(drop).map_err(identity::quota::QuotaError::into_problem)
    }
}

/// The accounts of this service, for whoever manages them without serving.
pub fn accounts(db: Db, demo: bool, clock: Clock, random: Random) -> Result<Accounts, identity::ChangeError> {
    Accounts::new(NAME, demo, db, clock, random)
}

/// Adds a user, for whoever manages them without serving.
pub async fn add_user(
    accounts: &Accounts,
    name: &str,
    password: SecretString,
    db: Db,
    clock: &Clock,
    random: Random,
) -> Result<(), identity::ChangeError> {
    let hash = accounts.hash(&password).await?;
    let now = clock.now();
    let user = user::User { account_id: random.uuid(now), ..user::User::default() };
    let row = user::store::NewRow { user, assigned: true, name: Name::new(name)?, hash: Some(hash) };
    let ids = Ids::new("user", db.clone(), random);
    match user::insert(&db, &ids, vec![row], Maker::Operator, now).await {
        Ok(_) => Ok(()),
        Err(Refused::Db(error)) => Err(error.into()),
        Err(_) => Err(identity::ChangeError::Taken),
    }
}

/// Removes a user with all that the store keeps about one: sessions, grants and the profile go with the account, and neither
/// pets nor orders know of users.
pub async fn remove_user(accounts: &Accounts, name: &str) -> Result<(), identity::ChangeError> {
    accounts.remove(name).await
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
        sign_up: false,
        demo,
        registration_token,
    }
}

/// The OpenAPI document of the service at an address.
pub fn openapi(address: &str) -> utoipa::openapi::OpenApi {
    routes_and_document(address).2
}

/// Every operation once: the routers and the document are made from the same list. Those of the first router answer in JSON
/// only.
fn routes_and_document(address: &str) -> (Router<Petstore>, Router<Petstore>, utoipa::openapi::OpenApi) {
    let (json, mut document) = OpenApiRouter::with_openapi(document::empty(address))
        .routes(routes!(image::api::upload))
        .routes(routes!(inventory::get).layer(from_fn(caller::not_shared)))
        .routes(routes!(order::api::place))
        .split_for_parts();
    let (either, mut in_either) = OpenApiRouter::new()
        .routes(routes!(pet::api::add, pet::api::replace))
        .routes(routes!(pet::find::by_status))
        .routes(routes!(pet::find::by_tags))
        .routes(routes!(pet::api::get).layer(from_fn(caller::not_shared)))
        .routes(routes!(pet::api::change, pet::api::delete))
        .routes(routes!(image::api::get))
        .routes(routes!(order::api::get, order::api::delete))
        .routes(routes!(user::api::create))
        .routes(routes!(user::api::create_list))
        .routes(routes!(user::session::login))
        .routes(routes!(user::session::logout))
        .routes(routes!(user::api::get, user::api::update, user::api::delete))
        .split_for_parts();
    web::openapi::answer_in_xml(&mut in_either);
    document.merge(in_either);
    (json, either, web::openapi::complete(document, web::openapi::Speaks::Xml))
}
