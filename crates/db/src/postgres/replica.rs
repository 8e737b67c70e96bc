//! A replica of the server, for reads that may be stale. The primary runs what fails on the replica.

use std::{sync::Arc, time::Duration};

use metrics::Counter;

use super::{Postgres, pipeline::Pipelines, pool::Pool, server::Server, service::Service};
use crate::{
    error::{Error, OpenError},
    scope::Scope,
    settings::Limits,
    tx::Tx,
    unit,
};

/// The least number of connections, of which one is shared: it shows whether the replica answers.
const LEAST_CONNECTIONS: usize = 8;

/// Which part of the time for an answer the replica has, so that the primary can answer in time after it.
const PART_OF_WAIT: u32 = 4;

/// The connections of this process to a replica.
#[derive(Clone)]
pub(super) struct ReplicaServer {
    pool: Arc<Pool>,
    pipelines: Arc<Pipelines>,
}

impl ReplicaServer {
    /// Connects to a replica, which may be away.
    pub(super) async fn open(url: &str, limits: Limits) -> Result<Self, OpenError> {
        let (connections, wait) = (limits.connections.max(LEAST_CONNECTIONS), limits.wait / PART_OF_WAIT);
        let limits = Limits { connections, wait, ..limits };
        let of_replica = |error: OpenError| OpenError::new(&format!("cannot use the replica: {error}"));
        let server = Arc::new(Server::new(url, wait).map_err(of_replica)?);
        // Whether it is behind a pooler. If it is away, this is not known; what fails then runs on the primary.
        let _ = server.wait_for(Duration::ZERO).await;
        let pool = Pool::start(&server, limits)
            .map_err(|error| OpenError::new(&format!("cannot start the database threads: {error}")))?;
        let pipelines = Pipelines::of_replica(&server, limits);
        pipelines.connect_all().await;
        Ok(ReplicaServer { pool: Arc::new(pool), pipelines })
    }

    /// The schema of a service on the replica.
    pub(super) fn service(&self, service: &Arc<Service>) -> Replica {
        let ReplicaServer { pool, pipelines } = self.clone();
        let counter = |server| metrics::counter!("triptych_db_stale_reads_total", "server" => server);
        let postgres = Postgres {
            service: Arc::clone(service),
            tables: Vec::new(),
            queue: pool.queue.join(None),
            pool,
            pipelines,
            replica: None,
            coordinator: None,
        };
        let (here, on_primary) = (counter("replica"), counter("primary"));
        here.increment(0);
        on_primary.increment(0);
        Replica { postgres, here, on_primary }
    }
}

/// The schema of a service on a replica.
pub(crate) struct Replica {
    postgres: Postgres,
    /// Counts reads that the replica answered.
    here: Counter,
    /// Counts reads that the primary has to answer.
    on_primary: Counter,
}

/// Why a unit did not succeed; `None` if it failed by itself.
struct ReplicaError(Option<Error>);

impl From<Error> for ReplicaError {
    fn from(error: Error) -> Self {
        ReplicaError(Some(error))
    }
}

impl Replica {
    /// Runs a read of one statement; `None` if the primary must run it.
    pub(crate) async fn read<R, E: From<Error>>(
        &self,
        closure: &impl Fn(&mut Tx<'_>) -> Result<R, E>,
    ) -> Option<R> {
        let outcome = self.postgres.read_shared(closure).await;
        self.counted(outcome.and_then(Result::ok))
    }

    /// Runs a read of several statements; `None` if the primary must run it.
    pub(crate) async fn snapshot<R, E, F>(&self, closure: F) -> Option<R>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
    {
        let outcome = if self.postgres.pipelines.is_reachable() { self.run(closure).await } else { None };
        self.counted(outcome)
    }

    async fn run<R, E, F>(&self, closure: F) -> Option<R>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
    {
        let (unit, reply) = unit::read(move |tx| closure(tx).map_err(|_| ReplicaError(None)));
        self.postgres.read(unit, Scope::Transaction).ok()?;
        match reply.await.ok()? {
            Ok(value) => Some(value),
            Err(ReplicaError(error)) => {
                // Until it accepts a new connection, no other read waits for it.
                if let Some(Error::Unavailable(_)) = error {
                    self.postgres.pipelines.release_all();
                }
                None
            }
        }
    }

    fn counted<R>(&self, outcome: Option<R>) -> Option<R> {
        if outcome.is_some() { &self.here } else { &self.on_primary }.increment(1);
        outcome
    }
}
