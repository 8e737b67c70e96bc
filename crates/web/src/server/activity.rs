//! Notices a connection on which nothing moves: an idle one, one whose client stopped reading, one that never
//! says what it wants.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::time::Instant;

/// When a byte last moved on a connection.
pub(super) struct Activity {
    start: Instant,
    last: Arc<AtomicU64>,
}

impl Activity {
    /// The record, and a future that ends when no byte has moved for `patience`.
    pub(super) fn new(patience: Duration) -> (Self, impl Future<Output = ()>) {
        let start = Instant::now();
        let last = Arc::new(AtomicU64::new(0));
        let activity = Activity { start, last: last.clone() };
        let stalled = async move {
            loop {
                let seen = Duration::from_millis(last.load(Relaxed));
                let due = start + seen + patience;
                if Instant::now() >= due {
                    return;
                }
                tokio::time::sleep_until(due).await;
            }
        };
        (activity, stalled)
    }

    pub(super) fn moved(&self) {
        self.last.store(self.start.elapsed().as_millis() as u64, Relaxed);
    }
}
