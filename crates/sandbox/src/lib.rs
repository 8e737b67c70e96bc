//! Sandboxes: isolated instances of all services, each with its own data, clock and controls.
//!
//! A sandbox is addressed by a path prefix on the listener of each service: `/sandbox/ada/v3/pet/1`. [`Sandboxes::app`] stands in
//! front of a service and sends each request to the sandbox that it names, or to the root service. A sandbox is opened when it is
//! first used ([`open`]), and closed when it is idle. The registry ([`store`]) is shared by all processes on one database.

mod api;
mod busy;
mod caller;
mod control;
pub mod fault;
mod front;
mod gate;
mod glob;
pub mod journal;
mod journals;
mod method;
mod name;
mod open;
mod problem;
mod registry;
mod root;
mod service_app;
mod store;
mod template;
mod token;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use busy::Busy;
use db::{Databases, Db, Migrations};
use futures_util::future::BoxFuture;
use http::HeaderMap;
use identity::Hashing;
use jiff::SignedDuration;
use journals::Journals;
pub use method::Method;
pub use name::Name;
pub use open::UNKNOWN;
use open::{OpenSandbox, Opened};
pub use root::{Root, root_clock};
use service::Service;
use template::Template;
pub use token::operator_token;
use trace::Traces;
use web::{App, Clock, InstallationSecret, Random, RequestLimits};

/// The tables of the registry.
pub const MIGRATIONS: &[Migrations] = &[model::migrations!("sandbox")];

/// The name of the registry's database.
pub const DATABASE: &str = "sandbox";

/// How many sandboxes there can be, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many there can be in all.
    pub most: u32,
    /// How many a client address can create in a demo.
    pub per_address: u32,
    /// How many can be open in a process.
    pub open: usize,
    /// After this time without a call, a sandbox is deleted.
    pub lifetime: SignedDuration,
    /// After this time without a call, a sandbox is closed.
    pub idle: Duration,
    /// How many bytes the snapshots of a sandbox can take, over all services.
    pub snapshot_bytes: u64,
    /// Whether calls are recorded in journals.
    pub journal: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            most: 1000,
            per_address: 20,
            open: 100,
            lifetime: SignedDuration::from_hours(24),
            idle: Duration::from_secs(300),
            snapshot_bytes: 256 * 1024 * 1024,
            journal: true,
        }
    }
}

/// What sandboxes are made of.
pub struct Setup {
    pub databases: Databases,
    pub random: Random,
    /// Whether any client can create sandboxes.
    pub demo: bool,
    pub limits: Limits,
    /// The operator's token, which can do everything.
    pub operator_token: String,
    pub services: Vec<ServiceSetup>,
    /// The root services, if they have controls in a demo.
    pub root: Option<Root>,
}

/// A service, and what its instances in sandboxes are opened with.
pub struct ServiceSetup {
    pub service: Arc<dyn Service>,
    /// The public address of the root instance.
    pub address: String,
    pub limits: RequestLimits,
    /// Whether only this machine can reach the service.
    pub is_local: bool,
    pub secret: InstallationSecret,
    pub hashing: Hashing,
    pub traces: Option<Traces>,
}

/// Why sandboxes cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Open(#[from] db::OpenError),
    #[error(transparent)]
    Database(#[from] db::Error),
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
}

/// All sandboxes of a process. Cloning it is cheap.
#[derive(Clone)]
pub struct Sandboxes(Arc<Inner>);

struct Inner {
    setup: Setup,
    registry: Db,
    /// The machine's clock: the registry lives by it.
    clock: Clock,
    opened: Opened,
    journals: Journals,
    /// The root services, in a demo.
    root: OnceLock<Arc<OpenSandbox>>,
    template: Template,
    operator_hash: Vec<u8>,
    /// Held while demo accounts that are missing are added.
    demo_sign_in: tokio::sync::Mutex<()>,
    /// What sandboxes do once at a time.
    busy: Busy,
    /// Held while keys are rotated.
    key_rotation: tokio::sync::Mutex<()>,
    /// Held while a journal is exported, as an archive takes much memory.
    exports: Arc<tokio::sync::Mutex<()>>,
}

impl Sandboxes {
    /// Opens the registry.
    pub async fn open(setup: Setup) -> Result<Self, OpenError> {
        let databases = setup.databases.clone();
        let open = move || databases.open(DATABASE, MIGRATIONS);
        let registry = tokio::task::spawn_blocking(open).await??;
        let sandboxes = Sandboxes(Arc::new(Inner {
            operator_hash: token::hash(&setup.operator_token),
            opened: Opened::new(setup.limits.open),
            journals: Journals::new(),
            root: OnceLock::new(),
            setup,
            registry,
            clock: Clock::system(),
            template: Template::default(),
            busy: Busy::default(),
            demo_sign_in: tokio::sync::Mutex::default(),
            key_rotation: tokio::sync::Mutex::default(),
            exports: Arc::default(),
        }));
        sandboxes.finish_interrupted().await?;
        sandboxes.open_root().await?;
        Ok(sandboxes)
    }

    /// The application of a listener: the sandboxes in front of the root instance of a service.
    pub fn app(&self, service: &str, root: App) -> App {
        match self.position(service) {
            Some(at) => front::app(self, at, root),
            None => root,
        }
    }

    /// Whether a request has the operator's token, as a bearer token.
    pub fn is_operator(&self, headers: &HeaderMap) -> bool {
        token::sent(headers).is_some_and(|hash| hash == self.0.operator_hash)
    }

    /// Which of the services has this name.
    fn position(&self, service: &str) -> Option<usize> {
        self.0.setup.services.iter().position(|setup| setup.service.description().name == service)
    }

    /// Runs the background work until `stop` ends, and closes all sandboxes.
    pub async fn run(self, stop: BoxFuture<'static, ()>) {
        tokio::select! {
            () = self.keep_up() => {}
            () = self.keep_template() => {}
            () = stop => {}
        }
        self.0.opened.close_all().await;
        // Ends those who follow a journal.
        self.0.journals.close_all();
    }
}
