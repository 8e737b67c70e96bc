//! The schema of a service, and its statements as they are sent.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::names::{Qualified, qualify};
use crate::error::Error;

/// How many reads of a service may be in flight over shared connections. Further reads go through the pool.
pub(super) const IN_FLIGHT: usize = 256;

pub(super) struct Service {
    /// Unique in this process, even among services that were closed.
    pub(super) number: usize,
    pub(super) schema: String,
    tables: HashSet<String>,
    // By address: statements are `&'static str`, so an address identifies its text.
    statements: RwLock<HashMap<(usize, usize), Arc<Qualified>>>,
    /// Whether its database was closed, so that no connection keeps its statements.
    pub(super) is_closed: Arc<AtomicBool>,
    /// Permits for reads over shared connections.
    shared_reads: Semaphore,
    /// Permits of all groups for such reads, if it is of a group.
    group_reads: Option<Arc<Semaphore>>,
}

impl Service {
    pub(super) fn new(schema: String, tables: HashSet<String>, group_reads: Option<Arc<Semaphore>>) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Service {
            number,
            schema,
            tables,
            statements: RwLock::default(),
            is_closed: Arc::default(),
            shared_reads: Semaphore::new(if group_reads.is_some() { IN_FLIGHT / 4 } else { IN_FLIGHT }),
            group_reads,
        }
    }

    /// A permit for a read over a shared connection.
    pub(super) fn shared_read(&self) -> Option<(SemaphorePermit<'_>, Option<SemaphorePermit<'_>>)> {
        let own = self.shared_reads.try_acquire().ok()?;
        let of_groups = self.group_reads.as_ref().map(|all| all.try_acquire()).transpose().ok()?;
        Some((own, of_groups))
    }

    /// A statement with its schema, which is added once.
    pub(super) fn statement(&self, sql: &'static str) -> Result<Arc<Qualified>, Error> {
        let key = (sql.as_ptr() as usize, sql.len());
        let known = self.statements.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let qualified = Arc::new(qualify(sql, &self.schema, &self.tables).map_err(Error::Engine)?);
        let mut statements = self.statements.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(statements.entry(key).or_insert(qualified)))
    }
}
