//! The interface between a service and the program that runs it.
//!
//! - [`Service`]: a service with its settings. The program has a list of them and knows nothing else about each.
//! - [`Description`]: the properties that all instances of a service share: its name, its tables, its OAuth scopes.
//! - [`Instance`]: the database, clock, random source, address and limits of one instance.
//! - [`Running`]: an open instance: what answers its requests, and its background work.
//!
//! Nothing in a service is global, so that a process can open any number of instances of it.

mod description;
mod instance;
mod personal_data;
mod pruning;
mod settings;
mod sign_in;
mod user_data;

use std::{fmt::Debug, net::SocketAddr, sync::Arc};

use db::Db;
pub use description::{Description, Figure, Gauge, Invariant, Oauth};
use futures_util::{FutureExt, future::BoxFuture};
use identity::ChangeError;
pub use instance::{Instance, Scheme, public_address};
use jiff::Timestamp;
pub use personal_data::{Erase, Export, PersonalData};
pub use pruning::Pruning;
use secrecy::SecretString;
use serde::Serialize;
pub use settings::{HIDDEN, OauthSettings, at_least_one, listen, networks};
pub use sign_in::SignIn;
pub use user_data::ExportError;
use utoipa::openapi::OpenApi;
use uuid::Uuid;
use web::App;

/// Why a command of the operator failed: one line for the operator.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A service with its settings: the section of its name in the settings file.
pub trait Service: Debug + Send + Sync {
    /// The same service, to share with tasks.
    fn shared(&self) -> Arc<dyn Service>;

    fn description(&self) -> &'static Description;

    /// Where the service listens.
    fn listen(&self) -> SocketAddr;

    /// The public address, as the operator set it; empty if that is where the service listens.
    fn address(&self) -> &str;

    /// The address of an instance at the root of this listener; empty if its links are paths.
    fn instance_address(&self, scheme: Scheme, listening: SocketAddr) -> String {
        public_address(self.address(), scheme, listening)
    }

    /// The settings for OAuth, if the service has OAuth.
    fn oauth(&self) -> Option<&OauthSettings> {
        None
    }

    /// Rejects invalid settings, by their names in the section of the service.
    fn check(&self) -> Result<(), String>;

    /// Whether several processes on one database need the same public address.
    fn needs_address(&self) -> bool {
        false
    }

    /// Whether the service derives keys from the secret of the installation.
    fn needs_secret(&self) -> bool {
        false
    }

    /// How a user of the demo, or with a token of an external issuer, signs in: a line for the start page.
    fn sign_in_help(&self, demo: bool) -> Option<String>;

    /// What signs in to an instance with demo data; none if all its accounts are those of an external issuer.
    fn demo_credentials(&self) -> Option<DemoCredentials>;

    /// The OpenAPI document of an instance at this address, with examples for this time.
    fn openapi(&self, address: &str, now: Timestamp) -> Result<OpenApi, Error>;

    /// Opens an instance.
    fn open(&self, instance: Instance) -> BoxFuture<'_, Result<Box<dyn Running>, Error>>;

    /// Adds a user to an instance.
    fn add_user<'a>(
        &'a self,
        instance: &'a Instance,
        name: &'a str,
        password: SecretString,
    ) -> BoxFuture<'a, Result<(), ChangeError>> {
        Box::pin(async move {
            let accounts = self.description().accounts(instance)?;
            accounts.add(name, password).await.map(drop)
        })
    }

    /// The webhook deliveries of these events.
    fn deliveries<'a>(
        &'a self,
        _db: &'a Db,
        _events: &'a [Uuid],
    ) -> BoxFuture<'a, Result<Vec<Delivery>, db::Error>> {
        std::future::ready(Ok(Vec::new())).boxed()
    }

    /// Adds the accounts of a demo, its API key and its OAuth client to an instance, where they are missing: users can delete their
    /// accounts, and the operator the others.
    fn add_demo_sign_in<'a>(&'a self, instance: &'a Instance) -> BoxFuture<'a, Result<(), Error>>;

    /// Removes a user of an instance, with the user's data.
    fn remove_user<'a>(
        &'a self,
        instance: &'a Instance,
        name: &'a str,
    ) -> BoxFuture<'a, Result<(), ChangeError>>;
}

/// What signs in to an instance with demo data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DemoCredentials {
    pub username: &'static str,
    pub password: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key: Option<&'static str>,
    /// The id of the public OAuth client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<&'static str>,
}

/// A webhook delivery, as a journal shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub event: Uuid,
    pub subscription: Uuid,
    /// `ready`, `sending`, `waiting`, `delivered` or `failed`.
    pub status: String,
    pub attempts: i64,
}

/// An instance of a service that is open.
pub trait Running: Send {
    fn app(&self) -> App;

    /// Runs the background work until `stop` ends, and finishes work in progress.
    fn run(self: Box<Self>, stop: BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;
}
