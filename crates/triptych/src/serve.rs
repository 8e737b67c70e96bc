//! Starts the services, and stops them so that nothing is lost.

use std::{
    future::pending, hint::black_box, io, net::SocketAddr, panic::resume_unwind, thread, time::Duration,
};

use db::Databases;
use futures_util::{FutureExt, future::BoxFuture};
use sandbox::{Root, Sandboxes, ServiceSetup, Setup};
use service::{Description, Instance, Running, Scheme, Service, public_address};
use tokio::{
    net::TcpListener,
    runtime::{Handle, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::{oneshot, watch},
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep_until},
};
use trace::Traces;
use web::{
    App, Background, Clock, ClockState, Controls, InstallationSecret, Phase, Proxies, Random, Site, Tls,
};

use crate::{
    Failure,
    console::{Console, ConsoleService, Running as ConsoleRunning},
    listen::bind,
    log, metrics,
    open::{connect_for_services, open},
    print,
    ready_file::{Ready, ReadyFile},
    retention, runtime, secret,
    serve_arguments::ServeArguments,
    service_manager,
    settings::Settings,
    start_page::{self, Started},
};

/// Runs until a signal stops it. No service named means all of them.
pub(crate) fn run(settings: &Settings, arguments: &ServeArguments) -> Result<(), Failure> {
    run_on(runtime::new()?, settings, arguments, None)
}

/// The same on a runtime. Signals that are awaited already stop the start, too; otherwise they end the process at once.
pub(crate) fn run_on(
    runtime: Runtime,
    settings: &Settings,
    arguments: &ServeArguments,
    signals: Option<Signals>,
) -> Result<(), Failure> {
    let _flush = log::start(settings)?;
    let named = &arguments.services;
    let is_named = |service: &&dyn Service| {
        named.is_empty() || named.iter().any(|name| name == service.description().name)
    };
    let services: Vec<_> = settings.services().into_iter().filter(is_named).collect();
    let mut ready_file = arguments.ready_file.as_deref().map(ReadyFile::new).transpose()?;
    let served = runtime.block_on(async {
        for service in &services {
            settings.check_shared(*service)?;
        }
        let start = async {
            let mut program = Program::new(settings).await?;
            program.open(&services).await?;
            Ok::<_, Failure>(program)
        };
        let (program, signals) = match signals {
            None => (start.await?, Signals::new()?),
            Some(mut signals) => tokio::select! {
                program = start => (program?, signals),
                () = signals.stop() => return Ok(()),
            },
        };
        program.serve(signals, ready_file.as_mut()).await
    });
    drop(runtime);
    served
}

/// The signals that stop the program.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Must be called within the runtime.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Ends when one of them arrives.
    async fn stop(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The services that run, and what they share.
struct Program<'s> {
    settings: &'s Settings,
    /// The certificate of the services. The admin listener has no TLS.
    tls: Option<Tls>,
    databases: Databases,
    /// The clock and the controls of the root services.
    root: Root,
    random: Random,
    phase: watch::Sender<Phase>,
    tasks: JoinSet<()>,
    background: JoinSet<()>,
    started: Vec<Started>,
    operator_token: Option<String>,
    listening: Vec<(&'static str, SocketAddr)>,
    admin: SocketAddr,
    console: Console,
    console_services: Vec<ConsoleService>,
    /// The tasks of the admin listener.
    upkeep: Background,
    traces: Option<Traces>,
    exporter: Option<Exporter>,
}

/// Sends the spans of traces until it is told to stop, when all else has stopped.
struct Exporter {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl<'s> Program<'s> {
    async fn new(settings: &'s Settings) -> Result<Self, Failure> {
        let handle = metrics::start()?;
        let random = Random::system();
        let (traces, exporter) = start_traces(settings, &random)?.unzip();
        let mut program = Program {
            settings,
            tls: settings.tls()?,
            databases: connect_for_services(settings).await?,
            root: root(settings),
            random,
            phase: watch::Sender::new(Phase::Serving),
            tasks: JoinSet::new(),
            background: JoinSet::new(),
            started: Vec::new(),
            operator_token: None,
            listening: Vec::new(),
            admin: settings.admin_listen,
            console: Console::default(),
            console_services: Vec::new(),
            upkeep: Background::new("admin", Clock::system()),
            traces,
            exporter,
        };
        let listener = bind("the console and metrics", "--admin-listen", settings.admin_listen)?;
        program.admin = listener.local_addr()?;
        let upkeep = program.upkeep.clone();
        let admin = program.console.clone().app(metrics::router(handle.clone(), upkeep.clone()));
        program.spawn("admin", "", listener, admin, (None, None));
        program.background.spawn(async move {
            let memory = upkeep.keep("memory upkeep", pending(), |_| free_memory());
            let metrics = upkeep.keep("metrics upkeep", pending(), |_| metrics::keep_up(handle.clone()));
            let watchdog = upkeep.keep("watchdog", pending(), |_| service_manager::keep_watchdog());
            tokio::join!(memory, metrics, watchdog);
        });
        Ok(program)
    }

    /// Opens the services and listens for them. At the first start, keys and the hashes of passwords take most of the time, so
    /// each service makes its own on a separate thread.
    async fn open(&mut self, services: &[&'s dyn Service]) -> Result<(), Failure> {
        let mut prepared = Vec::new();
        for service in services {
            prepared.push((*service, self.prepare(*service).await?));
        }
        let sandboxes = self.open_sandboxes(&prepared).await?;
        if let Some(sandboxes) = &sandboxes {
            for (service, (_, instance)) in &mut prepared {
                instance.delivery_gate = sandboxes.root_delivery_gate(service.description().name);
            }
        }
        let runtime = Handle::current();
        let opened: Vec<_> = thread::scope(|scope| {
            let open = |(service, (listener, instance)): (&'s dyn Service, (TcpListener, Instance))| {
                let runtime = runtime.clone();
                scope.spawn(move || {
                    let running = runtime.block_on(service.open(instance.clone()));
                    (service, listener, instance, running)
                })
            };
            let opening: Vec<_> = prepared.into_iter().map(open).collect();
            opening.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        for opened in opened {
            let (service, listener, instance, running) = opened.unwrap_or_else(|panic| resume_unwind(panic));
            self.start(service, (listener, instance), running?, sandboxes.as_ref()).await?;
        }
        self.console.start(ConsoleRunning {
            demo: self.settings.demo(),
            sandboxes: sandboxes.clone().zip(self.operator_token.clone()),
            services: std::mem::take(&mut self.console_services),
        });
        if let Some(sandboxes) = sandboxes {
            let stop = self.stopped();
            self.tasks.spawn(sandboxes.run(stop));
        }
        // The last step: a start that fails says why in one line.
        let databases = self.databases.clone();
        tokio::task::spawn_blocking(move || databases.check_durability()).await??;
        Ok(())
    }

    /// The sandboxes in front of the services, if there are any.
    async fn open_sandboxes(
        &mut self,
        prepared: &[(&'s dyn Service, (TcpListener, Instance))],
    ) -> Result<Option<Sandboxes>, Failure> {
        let settings = self.settings;
        if !settings.sandboxes.enabled {
            return Ok(None);
        }
        let mut services = Vec::new();
        for (service, (listener, instance)) in prepared {
            let Instance { limits, is_local, secret, hashing, traces, .. } = instance.clone();
            let address = public_address(service.address(), settings.scheme(), listener.local_addr()?);
            services.push(ServiceSetup {
                service: service.shared(),
                address,
                limits,
                is_local,
                secret,
                hashing,
                traces,
            });
        }
        let operator_token = sandbox::operator_token(&secret::read(settings, &self.random)?);
        self.operator_token = Some(operator_token.clone());
        let setup = Setup {
            databases: self.databases.clone(),
            random: self.random.clone(),
            demo: settings.demo(),
            limits: settings.sandboxes.limits(),
            operator_token,
            services,
            root: Some(self.root.clone()),
        };
        Ok(Some(Sandboxes::open(setup).await?))
    }

    /// The listener of a service, and what it is opened with.
    async fn prepare(&mut self, service: &dyn Service) -> Result<(TcpListener, Instance), Failure> {
        let settings = self.settings;
        let Description { name, title_in_a_sentence, .. } = *service.description();
        let listener = bind(title_in_a_sentence, &format!("--{name}-listen"), service.listen())?;
        let listening = listener.local_addr()?;
        let secret = match service.needs_secret() {
            true => secret::read(settings, &self.random)?,
            // The service derives no key from it.
            false => InstallationSecret::new(&[]),
        };
        let instance = Instance {
            db: open(&self.databases, service.description()).await?,
            clock: self.root.clock.clone(),
            random: self.random.clone(),
            address: service.instance_address(settings.scheme(), listening),
            limits: settings.limits.request(),
            demo: settings.demo(),
            is_local: settings.opened_by().is_none(),
            hashing: identity::Hashing::default(),
            controls: self.root.controls.clone(),
            delivery_gate: None,
            traces: self.traces.clone(),
            secret,
        };
        if service.oauth().is_some() {
            warn_of_another(&instance, name).await?;
        }
        Ok((listener, instance))
    }

    /// Serves an open service.
    async fn start(
        &mut self,
        service: &dyn Service,
        (listener, instance): (TcpListener, Instance),
        running: Box<dyn Running>,
        sandboxes: Option<&Sandboxes>,
    ) -> Result<(), Failure> {
        let Description { name, prefix, .. } = *service.description();
        let listening = listener.local_addr()?;
        let root = running.app();
        let app = match sandboxes {
            Some(sandboxes) => {
                sandboxes.add_root(name, root.clone(), instance.clone()).await?;
                sandboxes.app(name, root)
            }
            None => root,
        };
        self.spawn(name, service.address(), listener, app.clone(), (self.tls.clone(), self.traces.clone()));
        let stop = self.stopped();
        self.tasks.spawn(running.run(stop));
        let started = Started {
            name,
            address: public_address(service.address(), self.settings.scheme(), listening),
            prefix,
            sign_in: service.sign_in_help(self.settings.demo()),
            demo: service.demo_credentials().filter(|_| self.settings.demo()),
        };
        let (upkeep, description) = (self.upkeep.clone(), service.description());
        let (db, clock) = (instance.db.clone(), instance.clock.clone());
        if !description.gauges.is_empty() {
            self.background.spawn(async move {
                let read = |_| metrics::keep_gauges(description, db.clone(), clock.clone());
                upkeep.keep("figures", pending(), read).await;
            });
        }
        let (upkeep, retention) = (self.upkeep.clone(), self.settings.retention.clone());
        if retention::applies_to(description, &retention) {
            let (db, clock) = (instance.db.clone(), instance.clock.clone());
            self.background.spawn(async move {
                let delete = |_| retention::keep(description, db.clone(), clock.clone(), retention.clone());
                upkeep.keep("retention", pending(), delete).await;
            });
        }
        self.console_services.push(ConsoleService::new(started.clone(), service.shared(), instance, app));
        self.started.push(started);
        Ok(())
    }

    fn spawn(
        &mut self,
        name: &'static str,
        address: &str,
        listener: TcpListener,
        app: impl Into<App>,
        (tls, traces): (Option<Tls>, Option<Traces>),
    ) {
        self.listening.extend(listener.local_addr().map(|listen| (name, listen)));
        let limits = self.settings.limits.connection();
        let phase = self.phase.subscribe();
        let proxies = Proxies::new(self.settings.trusted_proxies.clone());
        let site = Site { name, address: address.into(), proxies, limits, tls, traces };
        self.tasks.spawn(web::serve(site, listener, app.into(), self.random.clone(), phase));
    }

    /// Ends when the program stops.
    fn stopped(&self) -> BoxFuture<'static, ()> {
        let mut phase = self.phase.subscribe();
        async move {
            // A closed channel means the same.
            let _ = phase.wait_for(|phase| *phase == Phase::Stopping).await;
        }
        .boxed()
    }

    /// Writes the ready file, prints the start page, and runs until a signal stops it.
    async fn serve(
        mut self,
        mut signals: Signals,
        ready_file: Option<&mut ReadyFile>,
    ) -> Result<(), Failure> {
        if let Some(file) = ready_file {
            file.write(&self.ready())?;
        }
        let demo = self.settings.demo();
        if let Some(because) = self.settings.opened_by().filter(|_| demo) {
            tracing::warn!(because, "other machines can sign in to the demo, whose passwords are well known");
        }
        // Not earlier: an error at start is one line, without log lines before it.
        if self.root.clock.state() != ClockState::default() {
            let time = self.root.clock.now();
            match demo {
                true => tracing::info!(%time, "the clock of the services is set"),
                false => tracing::warn!(%time, "the clock of the services is set, outside of a demo"),
            }
        }
        for (service, listen) in &self.listening {
            tracing::info!(service, %listen, "listening");
        }
        // It serves even if standard output is closed.
        let _ = print(&start_page::page(&self.started, self.admin, &self.settings.data_location(), demo));
        tracing::info!(version = env!("CARGO_PKG_VERSION"), demo, "started");
        service_manager::say_ready();
        signals.stop().await;
        service_manager::say_stopping();
        tokio::select! {
            () = self.stop() => {}
            _ = signals.interrupt.recv() => tracing::warn!("stopping at once"),
        }
        tracing::info!("stopped");
        Ok(())
    }

    async fn stop(&mut self) {
        let seconds = self.settings.limits.drain_seconds;
        if seconds > 0 {
            tracing::info!(seconds, "draining: clients are asked to close their connections");
            self.phase.send_replace(Phase::Draining);
            sleep_until(Instant::now() + Duration::from_secs(seconds)).await;
        }
        tracing::info!("stopping: running requests are finished first");
        self.phase.send_replace(Phase::Stopping);
        self.background.shutdown().await;
        while self.tasks.join_next().await.is_some() {}
        if let Some(Exporter { stop, task }) = self.exporter.take() {
            let _ = stop.send(());
            let _ = task.await;
        }
    }

    fn ready(&self) -> Ready<'_> {
        let first = self.started.first().filter(|_| self.operator_token.is_some());
        Ready {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            admin: public_address("", Scheme::Http, self.admin),
            operator_token: self.operator_token.as_deref(),
            sandboxes_url: first.map(|service| format!("{}/sandboxes", service.address)),
            services: self.started.iter().map(Into::into).collect(),
        }
    }
}

/// Starts to record traces, if there is a collector.
fn start_traces(settings: &Settings, random: &Random) -> Result<Option<(Traces, Exporter)>, Failure> {
    let Some(collector) = settings.traces.collector()? else { return Ok(None) };
    let random = random.clone();
    let (traces, exporter) = Traces::start(collector, move |bytes| random.fill(bytes))?;
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(exporter.run(async {
        // A closed channel means the same.
        let _ = stopped.await;
    }));
    Ok(Some((traces, Exporter { stop, task })))
}

/// The clock and the controls of the root services. In a demo with sandboxes they can be changed.
fn root(settings: &Settings) -> Root {
    let is_controlled = settings.demo() && settings.sandboxes.enabled;
    let state = settings.clock_at(Clock::machine_time());
    let is_set = state != ClockState::default();
    let clock = if is_controlled || is_set { Clock::adjustable(state) } else { Clock::system() };
    Root { clock, controls: Controls::default() }
}

/// A size that the allocator calls large.
const LARGE: usize = 4 * 1024 * 1024;

/// Frees the memory of password checks some seconds after the last one.
async fn free_memory() {
    let mut every = tokio::time::interval(Duration::from_secs(2));
    loop {
        every.tick().await;
        identity::free_unused_buffers();
        // The allocator gives memory back to the system some time after it was freed, at the next free of a large block,
        // which an idle server would not have.
        drop(black_box(Vec::<u8>::with_capacity(LARGE)));
    }
}

/// Warns if another process was started on a shared database at another address: the two refuse each other's tokens. Only a
/// demo is started without an address on such a database.
async fn warn_of_another(instance: &Instance, service: &str) -> Result<(), Failure> {
    let Instance { db, address, .. } = instance;
    let last = if db.is_shared() { identity::oauth::last_address(db).await? } else { None };
    if let Some(last) = last.filter(|last| last != address) {
        tracing::warn!(
            "{service} was last started at {last} on this database, and now at {address}: tokens of the one are refused by \
             the other (set {service}.address to the same in all processes)"
        );
    }
    Ok(())
}
