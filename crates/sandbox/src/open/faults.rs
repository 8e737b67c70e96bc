//! The fault rules of an open sandbox.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use crate::{fault::Rules, store::Sandbox};

/// The fault rules, if there are any.
pub(super) struct Faults {
    rules: RwLock<Option<Arc<Rules>>>,
    /// Whether there are any. Most calls find none, and need no lock for it.
    exist: AtomicBool,
}

impl Faults {
    pub(super) fn new(row: &Sandbox) -> Self {
        let rules = rules(row);
        Faults { exist: AtomicBool::new(rules.is_some()), rules: RwLock::new(rules) }
    }

    pub(super) fn get(&self) -> Option<Arc<Rules>> {
        if !self.exist.load(Ordering::Acquire) {
            return None;
        }
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, row: &Sandbox) {
        let new = rules(row);
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        self.exist.store(new.is_some(), Ordering::Release);
        *rules = new;
    }
}

fn rules(row: &Sandbox) -> Option<Arc<Rules>> {
    let rules = Rules::from_stored(&row.faults).unwrap_or_else(|error| {
        tracing::warn!(sandbox = row.name, %error, "the fault rules of a sandbox cannot be read");
        Rules::default()
    });
    (!rules.is_empty()).then(|| Arc::new(rules))
}
