//! The schema of a service, and its statements as they are sent.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::Semaphore;

use super::{
    names::{Qualified, qualify},
    pipeline::IN_FLIGHT,
};
use crate::error::Error;

pub(super) struct Service {
    /// Unique in this process, even among services that were closed.
    pub(super) number: usize,
    pub(super) schema: String,
    tables: HashSet<String>,
    // By address: statements are `&'static str`, so an address identifies its text.
    statements: RwLock<HashMap<(usize, usize), Arc<Qualified>>>,
    /// Permits for reads over shared connections.
    pub(super) shared_reads: Semaphore,
}

impl Service {
    pub(super) fn new(schema: String, tables: HashSet<String>) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Service {
            number,
            schema,
            tables,
            statements: RwLock::default(),
            shared_reads: Semaphore::new(IN_FLIGHT),
        }
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
