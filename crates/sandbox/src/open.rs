//! The sandboxes that are open in this process.

mod faults;
mod opened;
mod upkeep;

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use faults::Faults;
use futures_util::FutureExt;
pub(crate) use opened::Opened;
use opened::measure;
use service::Instance;
use tokio::{
    sync::{OnceCell, OwnedSemaphorePermit, Semaphore, TryAcquireError, watch},
    task::JoinHandle,
};
use web::{
    App, Clock, ClockState, ControlState, Controls, Problem, Result,
    problem::{NOT_FOUND, UNAVAILABLE},
};

use crate::{
    Sandboxes,
    fault::Rules,
    journal::{Journal, PerThread, Recorder},
    name::Name,
    registry::unavailable,
    store::{self, Sandbox},
};

/// How many calls of a sandbox can run at the same time.
const CALLS: u32 = 1000;

/// How many calls of its controls can run at the same time.
const CONTROL_CALLS: u32 = 50;

/// How many of its calls can wait on purpose.
const DELAYED: usize = 200;

/// How many databases of a sandbox can be opened at the same time.
const OPENINGS: u32 = 16;

/// For how long a sandbox that is deleted waits for its running calls.
const CLOSING: Duration = Duration::from_secs(5);

/// How often the use of a sandbox is noted in the registry.
const NOTED: Duration = Duration::from_secs(60);

/// A sandbox that is open.
pub(crate) struct OpenSandbox {
    pub(crate) name: Name,
    row: RwLock<Arc<Sandbox>>,
    /// In front of all its paths; empty at the root.
    pub(crate) path: Box<str>,
    pub(crate) clock: Clock,
    pub(crate) controls: Controls,
    faults: Faults,
    pub(crate) journal: Arc<Journal>,
    /// Record the calls of each service in the journal.
    pub(crate) recorders: Vec<PerThread<Arc<Recorder>>>,
    /// Set when it is closed.
    closing: watch::Sender<bool>,
    calls: Arc<Semaphore>,
    control_calls: Arc<Semaphore>,
    delayed: Arc<Semaphore>,
    openings: Arc<Semaphore>,
    services: Vec<OnceCell<OpenService>>,
    pub(crate) control: OnceCell<App>,
    /// When it was last used, and when that was last noted, in milliseconds since the start.
    used: AtomicU64,
    noted: AtomicU64,
}

/// What a sandbox is opened with.
pub(crate) struct Parts {
    pub(crate) clock: Clock,
    pub(crate) controls: Controls,
    pub(crate) journal: Arc<Journal>,
    /// The names of the services.
    pub(crate) services: Vec<&'static str>,
    /// Milliseconds since the start.
    pub(crate) now: u64,
}

/// A service of a sandbox that is open.
pub(crate) struct OpenService {
    pub(crate) app: App,
    pub(crate) instance: Instance,
    stop: watch::Sender<bool>,
    background: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

impl OpenService {
    /// A service of the root, which another part of the program runs.
    pub(crate) fn of_root(app: App, instance: Instance) -> Self {
        OpenService {
            app,
            instance,
            stop: watch::Sender::new(false),
            background: tokio::sync::Mutex::new(None),
        }
    }
}

impl OpenSandbox {
    pub(crate) fn new(name: &Name, row: Sandbox, parts: Parts) -> Self {
        let path: Box<str> = name.path().into();
        let recorder =
            |service| PerThread::new(|| Arc::new(Recorder::new(parts.journal.clone(), service, &path)));
        OpenSandbox {
            name: name.clone(),
            clock: parts.clock,
            controls: parts.controls,
            faults: Faults::new(&row),
            recorders: parts.services.iter().map(|name| recorder(name)).collect(),
            journal: parts.journal,
            closing: watch::Sender::new(false),
            path,
            row: RwLock::new(Arc::new(row)),
            calls: Arc::new(Semaphore::new(CALLS as usize)),
            control_calls: Arc::new(Semaphore::new(CONTROL_CALLS as usize)),
            delayed: Arc::new(Semaphore::new(DELAYED)),
            openings: Arc::new(Semaphore::new(OPENINGS as usize)),
            services: parts.services.iter().map(|_| OnceCell::new()).collect(),
            control: OnceCell::new(),
            used: AtomicU64::new(parts.now),
            noted: AtomicU64::new(0),
        }
    }

    /// The fault rules, if there are any.
    pub(crate) fn faults(&self) -> Option<Arc<Rules>> {
        self.faults.get()
    }

    /// Ends when the sandbox is closed.
    pub(crate) async fn closing(&self) {
        // A closed channel means the same.
        let _ = self.watch_closing().wait_for(|closing| *closing).await;
    }

    /// Whether the sandbox is being closed, or is closed.
    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Becomes true when the sandbox is closed.
    pub(crate) fn watch_closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Serves an open service of the root.
    pub(crate) fn set_service(&self, at: usize, service: OpenService) {
        let _ = self.services[at].set(service);
    }

    pub(crate) fn row(&self) -> Arc<Sandbox> {
        self.row.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes over a changed row.
    pub(crate) fn apply(&self, row: Sandbox) {
        if let Err(error) = self.clock.set_state(clock_state(&row)) {
            tracing::warn!(sandbox = row.name, %error, "the clock of a sandbox was not set");
        }
        let controls = control_state(&row);
        if controls != self.controls.get() {
            self.controls.set(controls);
        }
        self.faults.set(&row);
        *self.row.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(row);
    }

    /// A permit for a call.
    pub(crate) fn enter(&self) -> Result<OwnedSemaphorePermit> {
        permit(&self.calls, "Too many calls of this sandbox are running. Try again in a moment.")
    }

    /// A permit for a call of a control: calls of the services cannot take it.
    pub(crate) fn enter_control(&self) -> Result<OwnedSemaphorePermit> {
        permit(&self.control_calls, "Too many controls of this sandbox are running. Try again in a moment.")
    }

    /// A permit for a call that waits on purpose.
    pub(crate) fn wait_on_purpose(&self) -> Result<OwnedSemaphorePermit> {
        permit(&self.delayed, "Too many calls of this sandbox wait on purpose. Try again later.")
    }

    /// Whether no call runs.
    fn is_idle(&self) -> bool {
        self.calls.available_permits() == CALLS as usize
            && self.control_calls.available_permits() == CONTROL_CALLS as usize
    }

    /// A service, if it is open.
    pub(crate) fn open_service(&self, at: usize) -> Option<&OpenService> {
        self.services[at].get()
    }

    /// The services that are open.
    pub(crate) fn open_services(&self) -> impl Iterator<Item = &OpenService> {
        self.services.iter().filter_map(OnceCell::get)
    }

    /// Ends the background work and waits for the running calls.
    pub(crate) async fn close(&self) {
        self.closing.send_replace(true);
        let stop = || {
            for service in self.open_services() {
                service.stop.send_replace(true);
            }
        };
        stop();
        // A client that reads or sends slowly cannot hold up the closing for long.
        let ended = async {
            tokio::join!(self.calls.acquire_many(CALLS), self.control_calls.acquire_many(CONTROL_CALLS))
        };
        let _all = tokio::time::timeout(CLOSING, ended).await;
        self.calls.close();
        self.control_calls.close();
        // A database whose opening ended after the sandbox was deleted would exist again. Openings end by themselves.
        let _none = self.openings.acquire_many(OPENINGS).await;
        self.openings.close();
        // Also those that a running call has opened meanwhile.
        stop();
        for service in self.open_services() {
            // The lock is held during the wait, so that each caller that closes the sandbox waits.
            let mut background = service.background.lock().await;
            if let Some(running) = background.as_mut() {
                let _ = running.await;
                *background = None;
            }
        }
    }
}

fn permit(semaphore: &Arc<Semaphore>, too_many: &'static str) -> Result<OwnedSemaphorePermit> {
    semaphore.clone().try_acquire_owned().map_err(|error| match error {
        TryAcquireError::Closed => unknown(),
        TryAcquireError::NoPermits => Problem::new(&UNAVAILABLE, too_many).retry_after(1),
    })
}

pub(crate) fn clock_state(row: &Sandbox) -> ClockState {
    serde_json::from_str(&row.clock).unwrap_or_default()
}

pub(crate) fn control_state(row: &Sandbox) -> ControlState {
    serde_json::from_str(&row.controls).unwrap_or_default()
}

/// The first sentence of the problem for a name that no sandbox has.
pub const UNKNOWN: &str = "There is no sandbox with this name.";

/// The problem for a name that no sandbox has.
pub(crate) fn unknown() -> Problem {
    Problem::new(&NOT_FOUND, format!("{UNKNOWN} Create it with POST /sandboxes."))
}

/// The problem for a call whose sandbox is closed while it runs.
pub(crate) fn being_closed() -> Problem {
    Problem::new(&UNAVAILABLE, "The sandbox is being closed. Try again in a moment.")
}

impl Sandboxes {
    /// A sandbox, opened if it is not yet.
    pub(crate) async fn get(&self, name: &Name) -> Result<Arc<OpenSandbox>> {
        self.refresh().await?;
        if name.is_root() {
            return self.0.root.get().cloned().ok_or_else(unknown);
        }
        let opened = &self.0.opened;
        let sandbox = match opened.find(name.as_str()) {
            Some(sandbox) => sandbox,
            None => self.open_sandbox(name).await?,
        };
        self.note_use(&sandbox);
        Ok(sandbox)
    }

    async fn open_sandbox(&self, name: &Name) -> Result<Arc<OpenSandbox>> {
        let opened = &self.0.opened;
        loop {
            let removals = opened.removals.load(Ordering::Acquire);
            let Some(row) = self.row(name).await? else {
                self.0.journals.remove(name);
                return Err(unknown());
            };
            if self.make_room()? {
                continue;
            }
            let parts = Parts {
                clock: Clock::adjustable(clock_state(&row)),
                controls: Controls::new(control_state(&row)),
                journal: self.0.journals.of(name, row.created_at),
                services: self.service_names(),
                now: opened.millis(),
            };
            let new = Arc::new(OpenSandbox::new(name, row, parts));
            let mut all = opened.all.write().unwrap_or_else(PoisonError::into_inner);
            // One that was deleted since its row was read must not be opened: that would make its databases again.
            if opened.removals.load(Ordering::Acquire) == removals {
                opened.first.notify_one();
                let opened = all.entry(name.clone()).or_insert(new).clone();
                measure(all.len());
                return Ok(opened);
            }
        }
    }

    pub(crate) fn service_names(&self) -> Vec<&'static str> {
        self.0.setup.services.iter().map(|setup| setup.service.description().name).collect()
    }

    /// A sandbox that is open, or the root.
    pub(crate) fn find(&self, name: &Name) -> Option<Arc<OpenSandbox>> {
        if name.is_root() { self.0.root.get().cloned() } else { self.0.opened.find(name.as_str()) }
    }

    /// A sandbox that is open, if the view of the registry is not too old to use it.
    pub(crate) fn find_fresh(&self, name: &str) -> Option<Arc<OpenSandbox>> {
        let sandbox = self.0.opened.find(name).filter(|_| self.is_fresh())?;
        self.note_use(&sandbox);
        Some(sandbox)
    }

    /// Notes the use of a sandbox, in the registry at most once a minute.
    fn note_use(&self, sandbox: &OpenSandbox) {
        let now = self.0.opened.millis();
        // Not stored again within a millisecond: each store takes the cache line from the other processors.
        if sandbox.used.load(Ordering::Relaxed) != now {
            sandbox.used.store(now, Ordering::Relaxed);
        }
        let noted = sandbox.noted.load(Ordering::Relaxed);
        if noted != 0 && now - noted < NOTED.as_millis() as u64 {
            return;
        }
        if sandbox.noted.compare_exchange(noted, now.max(1), Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let (registry, name, now) =
                (self.0.registry.clone(), sandbox.name.to_string(), self.0.clock.now());
            tokio::spawn(async move {
                let noted: Result<(), db::Error> =
                    registry.write(move |tx| store::touch(tx, &name, now)).await;
                if let Err(error) = noted {
                    tracing::warn!(%error, "the use of a sandbox was not noted");
                }
            });
        }
    }

    /// A service of a sandbox for a call without a permit: it opens none while the sandbox is closed, whose databases may be deleted then.
    pub(crate) async fn service_of<'s>(
        &self,
        sandbox: &'s OpenSandbox,
        at: usize,
    ) -> Result<&'s OpenService> {
        let _permit = match sandbox.services[at].get() {
            Some(service) => return Ok(service),
            None => sandbox.enter()?,
        };
        self.service(sandbox, at).await
    }

    /// A service of a sandbox, opened if it is not yet. The caller has a permit.
    pub(crate) async fn service<'s>(&self, sandbox: &'s OpenSandbox, at: usize) -> Result<&'s OpenService> {
        sandbox.services[at].get_or_try_init(|| self.open_service(sandbox, at)).await
    }

    async fn open_service(&self, sandbox: &OpenSandbox, at: usize) -> Result<OpenService> {
        let setup = &self.0.setup.services[at];
        let opening = sandbox.openings.clone().try_acquire_owned().map_err(|_| being_closed())?;
        let db = self.open_database(sandbox.name.as_str(), setup.service.description(), opening).await;
        let db = db.map_err(unavailable)?;
        let (clock, controls) = (sandbox.clock.clone(), sandbox.controls.clone());
        let gate = self.delivery_gate(&sandbox.name, setup.service.description().name);
        let instance = Instance {
            delivery_gate: Some(gate),
            ..setup.instance(db, sandbox.name.as_str(), clock, controls, self)
        };
        let running = setup.service.open(instance.clone()).await.map_err(Problem::internal)?;
        let (stop, mut stopped) = watch::channel(false);
        let app = running.app();
        // A closed channel means the same.
        let until = async move { stopped.wait_for(|stop| *stop).await.map_or((), drop) };
        let background = tokio::spawn(running.run(until.boxed()));
        Ok(OpenService { app, instance, stop, background: tokio::sync::Mutex::new(Some(background)) })
    }

    /// Closes the idle sandbox that was not used for the longest time, if as many are open as can be. Tells whether one was closed.
    fn make_room(&self) -> Result<bool> {
        let opened = &self.0.opened;
        let open = opened.list();
        if open.len() < opened.most {
            return Ok(false);
        }
        let idle = open.iter().filter(|sandbox| sandbox.is_idle());
        let oldest = idle.min_by_key(|sandbox| sandbox.used.load(Ordering::Relaxed)).ok_or_else(|| {
            Problem::new(&UNAVAILABLE, "As many sandboxes as can be open are in use. Try again in a moment.")
                .retry_after(1)
        })?;
        self.close_in_background(&oldest.name);
        Ok(true)
    }

    /// Takes a sandbox out, and closes it after its running calls, without waiting for them.
    pub(crate) fn close_in_background(&self, name: &Name) {
        if let Some(sandbox) = self.0.opened.remove(name) {
            let sandboxes = self.clone();
            tokio::spawn(async move { sandboxes.0.opened.finish_closing(sandbox).await });
        }
    }
}
