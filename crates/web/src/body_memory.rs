//! A limit on the memory of all request bodies of a service: many bodies, each within its own limit, could exceed the memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Problem, UNAVAILABLE};

/// The memory for the bodies of a service: a permit for each byte.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Semaphore>);

impl Memory {
    pub(crate) fn new(bytes: usize) -> Self {
        Memory(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    /// The permits for so many bytes, if there is room for them.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let bytes = u32::try_from(bytes).map_err(|_| full())?;
        self.0.clone().try_acquire_many_owned(bytes).map_err(|_| full())
    }
}

fn full() -> Problem {
    let detail = "The service is reading as many bodies as it can keep in memory. Try again in a moment.";
    Problem::new(&UNAVAILABLE, detail).retry_after(1)
}
