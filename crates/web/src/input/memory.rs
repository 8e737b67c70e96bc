//! A limit on the memory of all request bodies of a service: many bodies, each within its own limit, could exceed the memory.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::{Problem, UNAVAILABLE};

/// The memory for the bodies of a service: a permit for each byte.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Semaphore>);

/// The memory of one request; released when it is answered.
#[derive(Clone)]
pub(super) struct RequestMemory {
    memory: Memory,
    permits: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl Memory {
    pub(crate) fn new(bytes: usize) -> Self {
        Memory(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }
}

/// Holds the memory of a request until its answer starts.
pub(crate) async fn hold(State(memory): State<Memory>, mut request: Request, next: Next) -> Response {
    let held = RequestMemory { memory, permits: Arc::default() };
    request.extensions_mut().insert(held.clone());
    let response = next.run(request).await;
    drop(held);
    response
}

impl RequestMemory {
    /// Reserves more bytes for this request, if the limit allows it.
    pub(super) fn keep(&self, bytes: usize) -> Result<(), Problem> {
        let bytes = u32::try_from(bytes).map_err(|_| full())?;
        let more = self.memory.0.clone().try_acquire_many_owned(bytes).map_err(|_| full())?;
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        match permits.as_mut() {
            Some(permits) => permits.merge(more),
            None => *permits = Some(more),
        }
        Ok(())
    }
}

fn full() -> Problem {
    let detail = "The service is reading as many bodies as it can keep in memory. Try again in a moment.";
    Problem::new(&UNAVAILABLE, detail).retry_after(1)
}
