//! The journals of all sandboxes of a process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;

use crate::{
    journal::{Activity, Journal, JournalMemory},
    name::Name,
};

/// The most bytes of all journals together.
const MOST_BYTES: usize = 48 << 20;

/// The journals. One stays while its sandbox is closed because it was idle, as far as there is memory.
pub(crate) struct Journals {
    memory: JournalMemory,
    all: Mutex<HashMap<Name, Kept>>,
}

struct Kept {
    /// When the sandbox was created: one that was deleted and created again is another sandbox.
    created_at: Timestamp,
    journal: Arc<Journal>,
}

impl Journals {
    pub(crate) fn new() -> Self {
        Journals { memory: JournalMemory::new(MOST_BYTES), all: Mutex::default() }
    }

    /// The journal of a sandbox.
    pub(crate) fn of(&self, name: &Name, created_at: Timestamp) -> Arc<Journal> {
        let mut all = self.all();
        if let Some(kept) = all.get(name).filter(|kept| kept.created_at == created_at) {
            return kept.journal.clone();
        }
        let journal = Arc::new(Journal::new(&self.memory));
        if let Some(old) = all.insert(name.clone(), Kept { created_at, journal: journal.clone() }) {
            old.journal.close();
        }
        journal
    }

    /// What the journal of a sandbox says in short; none if this process has no journal of it.
    pub(crate) fn activity(&self, name: &Name) -> Option<Activity> {
        let journal = self.all().get(name).map(|kept| kept.journal.clone());
        journal.map(|journal| journal.activity())
    }

    /// Drops the journal of a sandbox that was deleted.
    pub(crate) fn remove(&self, name: &Name) {
        let removed = self.all().remove(name);
        if let Some(removed) = removed {
            removed.journal.close();
        }
    }

    /// Drops the journals of closed sandboxes, if all journals together have more than they should.
    pub(crate) fn free_memory(&self, is_open: impl Fn(&Name) -> bool) {
        if self.memory.is_exceeded() {
            let mut all = self.all();
            let closed: Vec<_> = all.keys().filter(|name| !is_open(name)).cloned().collect();
            let closed: Vec<_> = closed.iter().filter_map(|name| all.remove(name)).collect();
            drop(all);
            for kept in closed {
                kept.journal.close();
            }
        }
    }

    pub(crate) fn close_all(&self) {
        let all: Vec<_> = self.all().drain().collect();
        for (_, kept) in all {
            kept.journal.close();
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Name, Kept>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
