//! The workers of Citus: connections straight to the server that has the rows of a schema.
//!
//! Through the coordinator, each statement is planned twice and takes one more hop. A worker accepts all statements except those that
//! create, change or drop a table. After a schema was moved to another worker, the one that had it forwards its statements.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio_postgres::Client;

use super::{block_on, pipeline::Pipelines, pool::Pool, schemas::texts, server::Server};
use crate::{
    catalog,
    error::{OpenError, with_source},
    settings::Limits,
};

/// The host and the port of a worker.
pub(super) type Node = (String, u16);

/// The connections of this process to the workers, which all schemas of a worker share.
pub(super) struct Workers {
    pub(super) limits: Limits,
    connections: Mutex<HashMap<Node, WorkerServer>>,
}

#[derive(Clone)]
pub(super) struct WorkerServer {
    pub(super) pool: Arc<Pool>,
    pub(super) pipelines: Arc<Pipelines>,
}

impl Workers {
    pub(super) fn new(limits: Limits) -> Self {
        Workers { limits, connections: Mutex::default() }
    }

    /// The connections to a worker. The first call waits so long for the worker.
    pub(super) fn at(
        &self,
        coordinator: &Server,
        node: Node,
        max_wait: Duration,
    ) -> Result<WorkerServer, OpenError> {
        if let Some(known) = self.connections().get(&node) {
            return Ok(known.clone());
        }
        let server = Arc::new(coordinator.at(&node));
        let unreachable = |error| {
            OpenError::new(&format!(
                "{error}; with database_workers, a process connects to the workers by the names that Citus has for them"
            ))
        };
        block_on(|| server.wait_for(max_wait)).map_err(unreachable)?;
        let pool = Pool::start(&server, self.limits)
            .map_err(|error| OpenError::new(&format!("cannot start the database threads: {error}")))?;
        let worker = WorkerServer { pool: Arc::new(pool), pipelines: Pipelines::new(&server, self.limits) };
        // Another schema may have been faster.
        Ok(self.connections().entry(node).or_insert(worker).clone())
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<Node, WorkerServer>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The worker that has the rows of a schema; `None` if Citus has not distributed it.
pub(super) async fn find(client: &Client, schema: &str) -> Result<Option<Node>, String> {
    let found = client.simple_query(&catalog::worker(schema)).await;
    let found = found.map_err(|error| {
        format!("database_workers cannot find the worker in the tables of Citus: {}", with_source(&error))
    })?;
    let mut nodes = texts(&found).into_iter().filter_map(|row| {
        let [host, port] = <[String; 2]>::try_from(row).ok()?;
        Some((host, port.parse().ok()?))
    });
    Ok(nodes.next())
}
