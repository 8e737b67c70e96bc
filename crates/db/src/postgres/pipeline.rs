//! Reads of one statement that share connections.
//!
//! A thread of the pool waits for each answer, and the two hand-overs between threads cost more than a small read. So a read is
//! sent by the task that needs it, over a connection on which the statements of many tasks follow each other without waiting for
//! the answers (pipelining).
//!
//! This is a fast way for the usual case, not another pool. Anything but an answer within a moment (an error, a broken
//! connection, a server that does not answer) is left to the pool, which runs the unit again with its retries and deadlines.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::time::timeout;
use tokio_postgres::{Client, Error as PostgresError, Row, Statement};

use super::{cancel::Peer, connection::borrowed, names::Qualified, server::Server, service::Service};
use crate::{settings::Limits, value::Value};

/// How many of the connections of a process are pipelines: one of this many.
const ONE_OF: usize = 8;

/// How many reads of a service may be on their way. The next ones take their turn in the pool.
const MOST: usize = 256;

/// How long an answer may take; less if the whole wait of a unit is short.
const PATIENCE: Duration = Duration::from_millis(100);

/// The pause after a failed attempt to connect.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Pipelines {
    server: Arc<Server>,
    places: Vec<Mutex<Place>>,
    next: AtomicUsize,
    patience: Duration,
}

enum Place {
    /// There is no connection; not before this time, if there is one, another attempt is made.
    Empty(Option<Instant>),
    Connecting,
    Ready(Arc<Pipeline>),
}

struct Pipeline {
    client: Client,
    peer: Peer,
    // By service and address: statements are `&'static str`, so an address identifies its text.
    statements: RwLock<HashMap<(usize, usize, usize), Statement>>,
}

/// How many pipelines a process has, of all its connections.
pub(super) fn number(limits: Limits) -> usize {
    limits.connections / ONE_OF
}

impl Pipelines {
    pub(super) fn new(server: &Arc<Server>, limits: Limits) -> Arc<Self> {
        Arc::new(Pipelines {
            server: Arc::clone(server),
            places: (0..number(limits)).map(|_| Mutex::new(Place::Empty(None))).collect(),
            next: AtomicUsize::new(0),
            patience: PATIENCE.min(limits.wait / 4),
        })
    }

    /// The rows of a statement; `None` if the pool must run it.
    pub(super) async fn rows(
        self: &Arc<Self>,
        service: &Service,
        sql: &'static str,
        params: &[Value<'_>],
    ) -> Option<Vec<Row>> {
        let _place = service.reads.take(MOST)?;
        let qualified = service.statement(sql).ok()?;
        if !qualified.reads || qualified.parameters != params.len() || !self.server.keeps_statements() {
            return None;
        }
        let place = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(self.places.len())?;
        let pipeline = self.pipeline(place)?;
        match timeout(self.patience, pipeline.query(service, sql, &qualified, params)).await {
            Ok(rows) => rows.ok(),
            Err(_) => {
                self.give_up(place, pipeline);
                None
            }
        }
    }

    /// The pipeline at a place. If there is none, it will be there for later reads.
    fn pipeline(self: &Arc<Self>, place: usize) -> Option<Arc<Pipeline>> {
        let mut found = self.lock(place);
        match &*found {
            Place::Ready(pipeline) if !pipeline.client.is_closed() => return Some(Arc::clone(pipeline)),
            Place::Connecting => return None,
            Place::Empty(Some(time)) if *time > Instant::now() => return None,
            Place::Ready(_) | Place::Empty(_) => *found = Place::Connecting,
        }
        drop(found);
        let pipelines = Arc::clone(self);
        tokio::spawn(async move {
            let connected = pipelines.server.connect(pipelines.server.deadline()).await;
            *pipelines.lock(place) = match connected {
                Ok((client, driver, peer)) => {
                    tokio::spawn(driver);
                    Place::Ready(Arc::new(Pipeline { client, peer, statements: RwLock::default() }))
                }
                // The pool logs why.
                Err(_) => Place::Empty(Some(Instant::now() + PAUSE)),
            };
        });
        None
    }

    /// Replaces a pipeline whose first statement takes too long, and cancels that statement.
    fn give_up(&self, place: usize, pipeline: Arc<Pipeline>) {
        let mut found = self.lock(place);
        match &*found {
            Place::Ready(other) if Arc::ptr_eq(other, &pipeline) => *found = Place::Empty(None),
            // Another read of this pipeline has done so.
            _ => return,
        }
        drop(found);
        if self.server.can_cancel() {
            let server = Arc::clone(&self.server);
            tokio::spawn(async move {
                let request = server.cancel(pipeline.client.cancel_token(), &pipeline.peer);
                let _ = timeout(server.wait, request).await;
            });
        }
    }

    fn lock(&self, place: usize) -> MutexGuard<'_, Place> {
        self.places[place].lock().unwrap_or_else(PoisonError::into_inner)
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
        let key = (service.number, sql.as_ptr() as usize, sql.len());
        let known = self.statements.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let statement = match known {
            Some(statement) => statement,
            None => {
                let statement = self.client.prepare(&qualified.text).await?;
                let mut statements = self.statements.write().unwrap_or_else(PoisonError::into_inner);
                statements.entry(key).or_insert(statement).clone()
            }
        };
        self.client.query(&statement, &borrowed(params)).await
    }
}

/// How many reads of a service are on their way.
#[derive(Default)]
pub(super) struct Reads(AtomicUsize);

pub(super) struct Reading<'r>(&'r Reads);

impl Reads {
    fn take(&self, most: usize) -> Option<Reading<'_>> {
        let reading = Reading(self);
        (self.0.fetch_add(1, Ordering::Relaxed) < most).then_some(reading)
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
