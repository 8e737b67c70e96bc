//! Limits on long reads on SQLite, so that they leave cores for other requests.

use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{error::Error, settings::Limits};

/// How many run at once, of all services together. Each uses a core; half of the cores are left for other requests.
pub(crate) fn permits() -> Arc<Semaphore> {
    let cores = available_parallelism().map_or(1, NonZero::get);
    Arc::new(Semaphore::new((cores / 2).clamp(1, 4)))
}

/// The queue of a service's long reads that wait for a permit.
pub(crate) struct LongReads {
    permits: Arc<Semaphore>,
    positions: Semaphore,
    wait: Duration,
}

impl LongReads {
    pub(crate) fn new(permits: Arc<Semaphore>, limits: Limits) -> Self {
        let positions = Semaphore::new(limits.queue.min(Semaphore::MAX_PERMITS));
        LongReads { permits, positions, wait: limits.wait }
    }

    pub(crate) async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        // Succeeds only while no other read waits: a permit that is returned goes to the first in the queue.
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let _position = self.positions.try_acquire().map_err(|_| Error::Busy)?;
        match timeout(self.wait, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(permit) => permit.map_err(|_| Error::closed()),
            Err(_) => Err(Error::Busy),
        }
    }
}
