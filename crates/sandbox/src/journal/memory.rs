//! The memory of all journals of a process.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// How many bytes a journal can have although all journals together have more than they should.
pub(super) const GUARANTEED: usize = 64 << 10;

/// A limit on the memory of all journals together. A journal that records beyond it drops its own oldest entries, until it has
/// 64 KiB.
#[derive(Debug, Clone)]
pub struct JournalMemory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    used: AtomicUsize,
    limit: usize,
}

impl JournalMemory {
    pub fn new(limit: usize) -> Self {
        JournalMemory(Arc::new(Shared { used: AtomicUsize::new(0), limit }))
    }

    /// The bytes of all entries.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    pub(crate) fn is_exceeded(&self) -> bool {
        self.used() > self.0.limit
    }

    pub(super) fn add(&self, bytes: usize) {
        self.0.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn release(&self, bytes: usize) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
