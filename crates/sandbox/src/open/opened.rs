//! The set of open sandboxes, and of those that are being closed.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use super::OpenSandbox;
use crate::name::Name;

pub(crate) struct Opened {
    pub(super) most: usize,
    pub(super) all: RwLock<HashMap<Name, Arc<OpenSandbox>>>,
    /// Those that were taken out and are not closed yet.
    closing: Mutex<Vec<Arc<OpenSandbox>>>,
    start: Instant,
    /// The number of the last change that was read; held while changes are read.
    pub(super) view: tokio::sync::Mutex<i64>,
    /// When changes were read last, in milliseconds since the start, and 1; 0 before the first time.
    pub(super) seen: AtomicU64,
    /// Wakes the background work when a sandbox was opened.
    pub(super) first: tokio::sync::Notify,
    /// How often a sandbox was taken out; changed while `all` is locked.
    pub(super) removals: AtomicU64,
}

impl Opened {
    pub(crate) fn new(most: usize) -> Self {
        // Shown from the start.
        measure(0);
        Opened {
            most,
            all: RwLock::default(),
            closing: Mutex::default(),
            start: Instant::now(),
            view: tokio::sync::Mutex::default(),
            seen: AtomicU64::new(0),
            first: tokio::sync::Notify::new(),
            removals: AtomicU64::new(0),
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<OpenSandbox>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(super) fn list(&self) -> Vec<Arc<OpenSandbox>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    pub(crate) fn millis(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Closes a sandbox, if it is open, after its running calls. Also waits for one of this name that is being closed: a database that
    /// it opens must not exist again after it was deleted.
    pub(crate) async fn close(&self, name: &Name) {
        self.remove(name);
        let closing = self.closing(|sandbox| sandbox.name == *name);
        self.close_each(closing).await;
    }

    pub(crate) async fn close_all(&self) {
        let names: Vec<_> = self.list().iter().map(|sandbox| sandbox.name.clone()).collect();
        for name in &names {
            self.remove(name);
        }
        let closing = self.closing(|_| true);
        self.close_each(closing).await;
    }

    async fn close_each(&self, sandboxes: Vec<Arc<OpenSandbox>>) {
        for sandbox in sandboxes {
            self.finish_closing(sandbox).await;
        }
    }

    /// Closes a sandbox that was taken out.
    pub(super) async fn finish_closing(&self, sandbox: Arc<OpenSandbox>) {
        sandbox.close().await;
        let mut closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        closing.retain(|other| !Arc::ptr_eq(other, &sandbox));
    }

    /// The sandboxes that are being closed.
    fn closing(&self, wanted: impl Fn(&OpenSandbox) -> bool) -> Vec<Arc<OpenSandbox>> {
        let closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        closing.iter().filter(|sandbox| wanted(sandbox)).cloned().collect()
    }

    /// Takes a sandbox out, for [`Opened::finish_closing`]: no new call uses it.
    pub(super) fn remove(&self, name: &Name) -> Option<Arc<OpenSandbox>> {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        self.removals.fetch_add(1, Ordering::Release);
        let removed = all.remove(name)?;
        measure(all.len());
        self.closing.lock().unwrap_or_else(PoisonError::into_inner).push(removed.clone());
        Some(removed)
    }
}

/// The metric of open sandboxes.
pub(super) fn measure(open: usize) {
    metrics::gauge!("triptych_sandboxes_open").set(open as f64);
}
