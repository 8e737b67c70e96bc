//! The description of the pet store for the program that runs it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use db::Migrations;
use futures_util::{FutureExt, future::BoxFuture};
use identity::{
    ChangeError,
    account::Name,
    oauth::{self, Scope},
};
use jiff::Timestamp;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use service::{
    DemoCredentials, Description, Error, Instance, Invariant, Oauth, OauthSettings, PersonalData, Running,
    Service,
};
use utoipa::openapi::OpenApi;
use web::App;

use crate::{
    DEMO_API_KEY, DEMO_USERS, Petstore, demo, examples,
    ids::Ids,
    routes_and_document,
    user::{
        self,
        store::{Creator, UserError},
    },
};

/// The tables of this service.
pub const MIGRATIONS: &[Migrations] =
    &[identity::MIGRATIONS, oauth::MIGRATIONS, identity::quota::MIGRATIONS, model::migrations!("petstore")];

/// The security scheme of access tokens in the OpenAPI document.
pub(crate) const OAUTH: &str = "petstore_auth";

/// The scopes of access tokens.
pub(crate) const SCOPES: &[Scope] = &[
    Scope { name: "write:pets", words: "modify pets in your account" },
    Scope { name: "read:pets", words: "read your pets" },
];

/// The properties that all instances share.
pub const SERVICE: Description = Description {
    name: "petstore",
    title: "Pet store",
    title_in_a_sentence: "the pet store",
    prefix: "/v3",
    example_address: "https://pets.example.com",
    migrations: MIGRATIONS,
    data_tables: &["pet", "pet_tag", "pet_count", "pet_image", "pet_image_part", "store_order"],
    oauth: Some(Oauth { scopes: SCOPES, scheme: OAUTH, sign_up: false }),
    has_api_keys: true,
    gauges: &[],
    prunings: &[],
    // Pets and orders name no user.
    personal_data: &[PersonalData { name: "profile", export: user::store::export, erase: None }],
    invariants: &[
        Invariant {
            sentence: "The inventory counts the pets of each status.",
            violations: "SELECT count(*) FROM (SELECT status, sum(pets) AS counted FROM pet_count GROUP BY status) AS inventory
                 LEFT JOIN (SELECT status, count(*) AS found FROM pet WHERE status IS NOT NULL GROUP BY status) AS pets
                 ON pets.status = inventory.status WHERE inventory.counted <> coalesce(pets.found, 0)",
        },
        Invariant {
            sentence: "The parts of each image have its size.",
            violations: "SELECT count(*) FROM pet_image AS image WHERE image.size <>
                 (SELECT coalesce(sum(length(part.bytes)), 0) FROM pet_image_part AS part WHERE part.image_id = image.id)",
        },
    ],
};

/// The settings of the pet store: the section `[petstore]` of the settings file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where it listens.
    #[serde(deserialize_with = "service::listen")]
    pub listen: SocketAddr,
    /// The public address, without a slash at the end; empty if that is where it listens.
    pub address: String,
    /// How many calls an hour a user, a client or an API key may make.
    pub calls_per_hour: u32,
    /// Whether users can be made by the list without logging in. In a demo they can in any case.
    pub open_sign_up: bool,
    /// How many users an hour can be made from an address, with a session or without. In a demo they are not counted.
    pub sign_ups_per_hour: u32,
    pub oauth: OauthSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            listen: (Ipv4Addr::LOCALHOST, 8080).into(),
            address: String::new(),
            calls_per_hour: 100_000,
            open_sign_up: false,
            sign_ups_per_hour: 20,
            oauth: OauthSettings::default(),
        }
    }
}

impl Service for Settings {
    fn shared(&self) -> Arc<dyn Service> {
        Arc::new(self.clone())
    }

    fn description(&self) -> &'static Description {
        &SERVICE
    }

    fn listen(&self) -> SocketAddr {
        self.listen
    }

    fn address(&self) -> &str {
        &self.address
    }

    fn oauth(&self) -> Option<&OauthSettings> {
        Some(&self.oauth)
    }

    fn check(&self) -> Result<(), String> {
        service::at_least_one(&[
            ("calls_per_hour", self.calls_per_hour),
            ("sign_ups_per_hour", self.sign_ups_per_hour),
        ])
    }

    fn needs_address(&self) -> bool {
        // The address is the audience of tokens, unless an external issuer with another audience is set.
        self.oauth.issuer.is_empty() || self.oauth.audience.is_empty()
    }

    fn sign_in_help(&self, demo: bool) -> Option<String> {
        let (name, password) = DEMO_USERS[0];
        let key = DEMO_API_KEY;
        match (self.oauth.issuer.as_str(), demo) {
            ("", demo) => demo.then(|| format!("OAuth or log-in, {name} / {password}; API key, {key}")),
            (issuer, true) => {
                Some(format!("tokens of {issuer}; log-in, {name} / {password}; API key, {key}"))
            }
            (issuer, false) => Some(format!("tokens of {issuer}")),
        }
    }

    fn demo_credentials(&self) -> Option<DemoCredentials> {
        let (username, password) = DEMO_USERS[0];
        let client_id = self.oauth.issuer.is_empty().then_some(oauth::DEMO_CLIENT);
        Some(DemoCredentials { username, password, api_key: Some(DEMO_API_KEY), client_id })
    }

    fn openapi(&self, address: &str, now: Timestamp) -> Result<OpenApi, Error> {
        Ok(examples::with_examples(routes_and_document(address).1, now))
    }

    fn open(&self, instance: Instance) -> BoxFuture<'_, Result<Box<dyn Running>, Error>> {
        async move { Ok(Box::new(Petstore::open(self, instance).await?) as Box<dyn Running>) }.boxed()
    }

    fn add_user<'a>(
        &'a self,
        instance: &'a Instance,
        name: &'a str,
        password: SecretString,
    ) -> BoxFuture<'a, Result<(), ChangeError>> {
        add_user(instance, name, password).boxed()
    }

    fn add_demo_sign_in<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), Error>> {
        async move {
            demo::add_sign_in(&SERVICE, instance).await?;
            match self.oauth.issuer.is_empty() {
                true => SERVICE.add_demo_client(instance).await,
                false => Ok(()),
            }
        }
        .boxed()
    }

    /// Removes a user with all data about the user: sessions, grants and the profile are deleted with the account, and pets and
    /// orders do not refer to users.
    fn remove_user<'a>(
        &'a self,
        instance: &'a Instance,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), ChangeError>> {
        async move { SERVICE.accounts(instance)?.remove(name).await }.boxed()
    }
}

impl Running for Petstore {
    fn app(&self) -> App {
        self.app()
    }

    /// The pet store has no background work.
    fn run(self: Box<Self>, _: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }
}

/// Adds a user with an empty profile.
async fn add_user(instance: &Instance, name: &str, password: SecretString) -> Result<(), ChangeError> {
    let Instance { db, clock, random, .. } = instance;
    let name = Name::new(name)?;
    if user::UNREACHABLE.contains(&name.as_str()) {
        return Err(ChangeError::Reserved);
    }
    let hash = SERVICE.accounts(instance)?.hash(&password).await?;
    let now = clock.now();
    let user = user::User { account_id: random.uuid(now), ..user::User::default() };
    let row = user::store::NewRow { user, assigned: true, name, hash: Some(hash) };
    let ids = Ids::new("user", db.clone(), random.clone());
    match user::insert(db, &ids, vec![row], Creator::Operator, now).await {
        Ok(_) => Ok(()),
        Err(UserError::Db(error)) => Err(error.into()),
        Err(_) => Err(ChangeError::Taken),
    }
}
