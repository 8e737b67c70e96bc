//! Reads of one statement that share connections.
//!
//! A thread of the pool waits for each answer, and the two hand-overs between threads cost more than a small read. So a read is
//! sent by the task that needs it, over a connection on which the statements of many tasks follow each other without waiting for
//! the answers (pipelining).
//!
//! This is a fast path, not another pool. After an error, a broken connection or a timeout, the pool runs the unit again, with its
//! retries and deadlines.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::time::timeout;
use tokio_postgres::{Client, Error as PostgresError, Row, Statement};

use super::{
    cancel::Peer,
    connection::borrowed,
    names::Qualified,
    server::{ConnectError, Server},
    service::Service,
    statements::Statements,
};
use crate::{settings::Limits, value::Value};

/// How many of the connections of a process are pipelines: one of this many.
const ONE_OF: usize = 8;

/// The timeout of an answer; shorter if the wait of a unit is short.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(100);

/// The pause after a failed attempt to connect.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Pipelines {
    server: Arc<Server>,
    slots: Vec<Mutex<Slot>>,
    next: AtomicUsize,
    answer_timeout: Duration,
    /// Whether the last attempt to connect to the replica failed; `None` for the primary, about which the pool logs.
    replica_is_away: Option<AtomicBool>,
}

enum Slot {
    /// Without a connection. The next attempt is made at this time at the earliest, if one has failed.
    Empty(Option<Instant>),
    Connecting,
    Ready(Arc<Pipeline>),
}

struct Pipeline {
    client: Client,
    peer: Peer,
    statements: RwLock<Statements<Statement>>,
    /// Whether it has served too many schemas.
    is_worn: AtomicBool,
}

/// How many pipelines a process has, of all its connections.
pub(super) fn number(limits: Limits) -> usize {
    limits.connections / ONE_OF
}

impl Pipelines {
    pub(super) fn new(server: &Arc<Server>, limits: Limits) -> Arc<Self> {
        Pipelines::start(server, limits, ANSWER_TIMEOUT.min(limits.wait / 4), None)
    }

    /// Those to a replica.
    pub(super) fn of_replica(server: &Arc<Server>, limits: Limits) -> Arc<Self> {
        // No pool runs a read that takes longer: the whole time is for the answer.
        Pipelines::start(server, limits, limits.wait, Some(AtomicBool::new(false)))
    }

    fn start(
        server: &Arc<Server>,
        limits: Limits,
        answer_timeout: Duration,
        replica_is_away: Option<AtomicBool>,
    ) -> Arc<Self> {
        Arc::new(Pipelines {
            server: Arc::clone(server),
            slots: (0..number(limits)).map(|_| Mutex::new(Slot::Empty(None))).collect(),
            next: AtomicUsize::new(0),
            answer_timeout,
            replica_is_away,
        })
    }

    /// The rows of a statement; `None` if the pool must run it.
    pub(super) async fn rows(
        self: &Arc<Self>,
        service: &Service,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Option<Vec<Row>> {
        let _permit = service.shared_read()?;
        let qualified = service.statement(sql).ok()?;
        if !qualified.reads || qualified.parameters != params.len() || !self.server.keeps_statements() {
            return None;
        }
        self.with_pipeline(async |pipeline| pipeline.query(service, sql, &qualified, params).await).await
    }

    /// Runs a text that is not prepared, and discards its rows; `None` if the pool must run it.
    pub(super) async fn run(self: &Arc<Self>, service: &Service, sql: &str) -> Option<()> {
        let _permit = service.shared_read()?;
        self.with_pipeline(async |pipeline| pipeline.client.batch_execute(sql).await).await
    }

    async fn with_pipeline<R>(
        self: &Arc<Self>,
        run: impl AsyncFnOnce(&Pipeline) -> Result<R, PostgresError>,
    ) -> Option<R> {
        let slot = self.next_slot()?;
        let pipeline = self.pipeline(slot)?;
        match timeout(self.answer_timeout, run(&pipeline)).await {
            Ok(answer) => {
                if pipeline.is_worn.load(Ordering::Relaxed) {
                    self.release(slot, &pipeline);
                }
                answer.ok()
            }
            Err(_) => {
                self.retire(slot, pipeline);
                None
            }
        }
    }

    fn next_slot(&self) -> Option<usize> {
        self.next.fetch_add(1, Ordering::Relaxed).checked_rem(self.slots.len())
    }

    /// Whether the server answered last. If it did not, a task connects to it for later reads.
    pub(super) fn is_reachable(self: &Arc<Self>) -> bool {
        self.next_slot().is_some_and(|slot| self.pipeline(slot).is_some())
    }

    /// Connects all slots.
    pub(super) async fn connect_all(&self) {
        for slot in 0..self.slots.len() {
            *self.lock(slot) = Slot::Connecting;
            self.connect(slot).await;
        }
    }

    /// Empties all slots.
    pub(super) fn release_all(&self) {
        for slot in 0..self.slots.len() {
            let mut found = self.lock(slot);
            if let Slot::Ready(_) = &*found {
                *found = Slot::Empty(None);
            }
        }
    }

    /// The pipeline of a slot. If it has none, a task connects it for later reads.
    fn pipeline(self: &Arc<Self>, slot: usize) -> Option<Arc<Pipeline>> {
        let mut found = self.lock(slot);
        match &*found {
            Slot::Ready(pipeline) if !pipeline.client.is_closed() => return Some(Arc::clone(pipeline)),
            Slot::Connecting => return None,
            Slot::Empty(Some(time)) if *time > Instant::now() => return None,
            Slot::Ready(_) | Slot::Empty(_) => *found = Slot::Connecting,
        }
        drop(found);
        let pipelines = Arc::clone(self);
        tokio::spawn(async move { pipelines.connect(slot).await });
        None
    }

    async fn connect(&self, slot: usize) {
        let connected = self.server.connect(self.server.deadline()).await;
        self.log_replica(connected.as_ref().err());
        *self.lock(slot) = match connected {
            Ok((client, driver, peer)) => {
                tokio::spawn(driver);
                Slot::Ready(Arc::new(Pipeline {
                    client,
                    peer,
                    statements: RwLock::default(),
                    is_worn: AtomicBool::new(false),
                }))
            }
            Err(_) => Slot::Empty(Some(Instant::now() + PAUSE)),
        };
    }

    /// Logs that the replica is away, or is back.
    fn log_replica(&self, error: Option<&ConnectError>) {
        let Some(is_away) = &self.replica_is_away else { return };
        match (is_away.swap(error.is_some(), Ordering::Relaxed), error) {
            (false, Some(error)) => tracing::warn!("reads go to the primary, not to the replica at {error}"),
            (true, None) => tracing::info!("reads that may be stale go to the replica again"),
            _ => {}
        }
    }

    /// Empties the slot of a pipeline; `false` if another read has done so.
    fn release(&self, slot: usize, pipeline: &Arc<Pipeline>) -> bool {
        let mut found = self.lock(slot);
        let is_there = matches!(&*found, Slot::Ready(other) if Arc::ptr_eq(other, pipeline));
        if is_there {
            *found = Slot::Empty(None);
        }
        is_there
    }

    /// Releases a pipeline whose first statement takes too long, and cancels that statement.
    fn retire(&self, slot: usize, pipeline: Arc<Pipeline>) {
        if !self.release(slot, &pipeline) {
            return;
        }
        if self.server.can_cancel() {
            let server = Arc::clone(&self.server);
            tokio::spawn(async move {
                let request = server.cancel(pipeline.client.cancel_token(), &pipeline.peer);
                let _ = timeout(server.wait, request).await;
            });
        }
    }

    /// Closes the statements of services that were closed.
    pub(super) fn forget_closed(&self) {
        for slot in 0..self.slots.len() {
            if let Slot::Ready(pipeline) = &*self.lock(slot) {
                pipeline.statements.write().unwrap_or_else(PoisonError::into_inner).forget_closed();
            }
        }
    }

    fn lock(&self, slot: usize) -> MutexGuard<'_, Slot> {
        self.slots[slot].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pipeline {
    async fn query(
        &self,
        service: &Service,
        sql: &'static str,
        qualified: &Qualified,
        params: &[Value<'_>],
    ) -> Result<Vec<Row>, PostgresError> {
        let known = self.statements.read().unwrap_or_else(PoisonError::into_inner).get(service, sql).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => {
                let statement = self.client.prepare(&qualified.text).await?;
                let mut statements = self.statements.write().unwrap_or_else(PoisonError::into_inner);
                let statement = statements.insert(service, sql, statement).clone();
                self.is_worn.store(statements.is_worn(), Ordering::Relaxed);
                statement
            }
        };
        self.client.query(&statement, &borrowed(params)).await
    }
}
