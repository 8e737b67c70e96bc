//! Starts the services, and stops them so that nothing is lost.

use std::{future::pending, net::SocketAddr, time::Duration};

use axum::Router;
use db::{Databases, Db, Limits, Location, Migrations};
use museum::Museum;
use petstore::Petstore;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
    task::JoinSet,
};
use train::Train;
use web::{Background, Clock, Proxies, Random, Site};

use crate::{
    Failure,
    cli::ServiceName,
    log, metrics, print, secret,
    settings::{self, Settings},
    start_page::{self, Started},
};

/// Runs until it is told to stop. No service named means all of them.
pub(crate) fn run(settings: &Settings, services: &[ServiceName]) -> Result<(), Failure> {
    log::start(settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let wanted = |service| services.is_empty() || services.contains(&service);
    runtime.block_on(async {
        for (service, name) in [(ServiceName::Petstore, "petstore"), (ServiceName::Train, "train")] {
            if wanted(service) {
                settings.check_shared(name)?;
            }
        }
        let mut house = House::new(settings).await?;
        if wanted(ServiceName::Petstore) {
            house.open_petstore().await?;
        }
        if wanted(ServiceName::Train) {
            house.open_train().await?;
        }
        if wanted(ServiceName::Museum) {
            house.open_museum().await?;
        }
        house.serve().await
    })
}

/// The services that run, and what they have in common.
struct House<'s> {
    settings: &'s Settings,
    databases: Databases,
    clock: Clock,
    random: Random,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
    background: JoinSet<()>,
    started: Vec<Started>,
    listening: Vec<(&'static str, SocketAddr)>,
    admin: SocketAddr,
}

impl<'s> House<'s> {
    async fn new(settings: &'s Settings) -> Result<Self, Failure> {
        let mut house = House {
            settings,
            databases: connect(settings.location(), settings.limits.database()).await?,
            clock: Clock::system(),
            random: Random::system(),
            stop: watch::Sender::new(false),
            tasks: JoinSet::new(),
            background: JoinSet::new(),
            started: Vec::new(),
            listening: Vec::new(),
            admin: settings.admin_listen,
        };
        let listener = bind("metrics", "--admin-listen", settings.admin_listen).await?;
        house.admin = listener.local_addr()?;
        let handle = metrics::start()?;
        let upkeep = Background::new("admin", house.clock.clone());
        house.spawn("admin", "", listener, metrics::router(handle.clone(), upkeep.clone()));
        house.background.spawn(async move {
            upkeep.keep("metrics upkeep", pending(), |_| metrics::keep_up(handle.clone())).await;
        });
        Ok(house)
    }

    async fn open_petstore(&mut self) -> Result<(), Failure> {
        let settings = self.settings;
        let listener = bind("the pet store", "--petstore-listen", settings.petstore.listen).await?;
        let address = listener.local_addr()?;
        let db = open(&self.databases, "petstore", petstore::MIGRATIONS).await?;
        warn_of_another(&db, "petstore", &settings.petstore(address).address).await?;
        let petstore =
            Petstore::open(settings.petstore(address), db, self.clock.clone(), self.random.clone()).await?;
        self.spawn(
            "petstore",
            &settings.petstore.address,
            listener,
            petstore.router(settings.limits.request()),
        );
        let (name, password) = petstore::DEMO_USERS[0];
        let key = petstore::DEMO_API_KEY;
        let sign_in = match (settings.petstore.oauth.issuer.as_str(), settings.demo()) {
            ("", demo) => demo.then(|| format!("OAuth or log-in, {name} / {password}; API key, {key}")),
            (issuer, true) => {
                Some(format!("tokens of {issuer}; log-in, {name} / {password}; API key, {key}"))
            }
            (issuer, false) => Some(format!("tokens of {issuer}")),
        };
        let address = settings::address(&settings.petstore.address, address);
        self.started.push(Started { name: "petstore", address, prefix: petstore::PREFIX, sign_in });
        Ok(())
    }

    async fn open_train(&mut self) -> Result<(), Failure> {
        let settings = self.settings;
        let listener = bind("the train service", "--train-listen", settings.train.listen).await?;
        let address = listener.local_addr()?;
        let secret = secret::read(settings, &self.random)?;
        let db = open(&self.databases, "train", train::MIGRATIONS).await?;
        warn_of_another(&db, "train", &settings.train(address).address).await?;
        let of_train = train::Settings { secret, ..settings.train(address) };
        let train = Train::open(of_train, db, self.clock.clone(), self.random.clone()).await?;
        self.spawn("train", &settings.train.address, listener, train.router(settings.limits.request()));
        let stop = self.stopped();
        self.tasks.spawn(train.run(stop));
        let (name, password) = train::DEMO_USERS[0];
        let sign_in = match settings.train.oauth.issuer.as_str() {
            "" => settings.demo().then(|| format!("OAuth, {name} / {password}")),
            issuer => Some(format!("tokens of {issuer}")),
        };
        let address = settings::address(&settings.train.address, address);
        self.started.push(Started { name: "train", address, prefix: train::PREFIX, sign_in });
        Ok(())
    }

    async fn open_museum(&mut self) -> Result<(), Failure> {
        let settings = self.settings;
        let listener = bind("the museum", "--museum-listen", settings.museum.listen).await?;
        let address = listener.local_addr()?;
        let db = open(&self.databases, "museum", museum::MIGRATIONS).await?;
        let demo = settings.demo();
        let museum =
            Museum::open(&settings.museum(), db, demo, self.clock.clone(), self.random.clone()).await?;
        self.spawn("museum", &settings.museum.address, listener, museum.router(settings.limits.request()));
        if demo {
            self.background.spawn(museum.run());
        }
        let (name, password) = museum::DEMO_ACCOUNT;
        let sign_in = demo.then(|| format!("HTTP Basic, {name} / {password}"));
        let address = settings::address(&settings.museum.address, address);
        self.started.push(Started { name: "museum", address, prefix: museum::PREFIX, sign_in });
        Ok(())
    }

    fn spawn(&mut self, name: &'static str, address: &str, listener: TcpListener, router: Router) {
        self.listening.extend(listener.local_addr().map(|listen| (name, listen)));
        let limits = self.settings.limits.connection();
        let stop = self.stopped();
        let proxies = Proxies::new(self.settings.trusted_proxies.clone());
        let site = Site { name, address: address.into(), proxies, limits };
        self.tasks.spawn(web::serve(site, listener, router, self.random.clone(), stop));
    }

    /// Ends when the program is to stop.
    fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let mut stopped = self.stop.subscribe();
        async move {
            // The sender going away means the same.
            let _ = stopped.wait_for(|stop| *stop).await;
        }
    }

    /// Says where everything is, and runs until it is told to stop.
    async fn serve(mut self) -> Result<(), Failure> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let demo = self.settings.demo();
        if let Some(because) = self.settings.opened_by().filter(|_| demo) {
            tracing::warn!(because, "other machines can sign in to the demo, whose passwords are well known");
        }
        // Not earlier: what keeps it from starting is said in one line.
        for (service, listen) in &self.listening {
            tracing::info!(service, %listen, "listening");
        }
        // It serves whether or not anybody reads this.
        let _ = print(&start_page::page(&self.started, self.admin, &self.settings.place(), demo));
        tracing::info!(version = env!("CARGO_PKG_VERSION"), demo, "started");
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping: running requests are finished first");
        self.stop.send_replace(true);
        self.background.shutdown().await;
        tokio::select! {
            () = async { while self.tasks.join_next().await.is_some() {} } => {}
            _ = interrupt.recv() => tracing::warn!("stopping at once"),
        }
        tracing::info!("stopped");
        Ok(())
    }
}

async fn bind(what: &str, flag: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        format!("cannot listen on {address} for {what}: {error} (choose another with {flag})").into()
    })
}

/// Connects to where the databases are, off the threads that serve, since that may wait for the server.
async fn connect(location: Location, limits: Limits) -> Result<Databases, Failure> {
    Ok(tokio::task::spawn_blocking(move || Databases::connect(&location, limits)).await??)
}

/// Opens a service's database, which may wait for another process to migrate it.
async fn open(
    databases: &Databases,
    service: &'static str,
    migrations: &'static [Migrations],
) -> Result<Db, Failure> {
    let databases = databases.clone();
    Ok(tokio::task::spawn_blocking(move || databases.open(service, migrations)).await??)
}

/// Says so if another process was started on a shared database at another address: the two refuse each other's tokens. Only a
/// demo is started without an address on such a database.
async fn warn_of_another(db: &Db, service: &str, address: &str) -> Result<(), Failure> {
    let last = if db.is_shared() { identity::oauth::last_address(db).await? } else { None };
    if let Some(last) = last.filter(|last| last != address) {
        tracing::warn!(
            "{service} was last started at {last} on this database, and now at {address}: tokens of the one are refused by \
             the other (set {service}.address to the same in all processes)"
        );
    }
    Ok(())
}

/// Opens the database of a service that has been started before, for commands: in a folder whose name was mistyped they are to
/// make nothing, and they do not wait for a server that is not there.
pub(crate) async fn open_existing(
    service: &'static str,
    migrations: &'static [Migrations],
    settings: &Settings,
) -> Result<Db, Failure> {
    if settings.has_own_database() && !settings.data.join(format!("{service}.db")).is_file() {
        let said = format!("there is no database of {service} in {}", settings.data.display());
        return Err(format!("{said}: check --data, or start triptych there once, which makes it").into());
    }
    let limits = Limits { connections: 2, start: Duration::ZERO, ..settings.limits.database() };
    open(&connect(settings.location(), limits).await?, service, migrations).await
}
