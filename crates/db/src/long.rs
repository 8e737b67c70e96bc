//! Reads that take long: they must not hold up the threads that serve.

use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};

use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::timeout,
};

use crate::{Db, Engine, Error, Limits, Tx, ended};

/// How many run at once on SQLite, of all services together. Each takes a core; half of them stay for everything else.
pub(crate) fn permits() -> Arc<Semaphore> {
    let cores = available_parallelism().map_or(1, NonZero::get);
    Arc::new(Semaphore::new((cores / 2).clamp(1, 4)))
}

/// The long reads of a service that wait for a permit: so many, each for so long.
pub(crate) struct Queue {
    permits: Arc<Semaphore>,
    positions: Semaphore,
    wait: Duration,
}

impl Queue {
    pub(crate) fn new(permits: Arc<Semaphore>, limits: Limits) -> Self {
        let positions = Semaphore::new(limits.queue.min(Semaphore::MAX_PERMITS));
        Queue { permits, positions, wait: limits.wait }
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        // Succeeds only while no other read waits: a permit that is returned goes to the first in the queue.
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(permit);
        }
        let _position = self.positions.try_acquire().map_err(|_| Error::Busy)?;
        match timeout(self.wait, Arc::clone(&self.permits).acquire_owned()).await {
            Ok(permit) => permit.map_err(|_| ended()),
            Err(_) => Err(Error::Busy),
        }
    }
}

impl Db {
    /// Runs a unit that reads much, as [`Db::snapshot`] does: many statements, or rows of many kilobytes. On SQLite it runs on
    /// a thread beside those that serve, and waits for a permit if too many run already.
    pub async fn read_long<R, E, F>(&self, work: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        if let Engine::Postgres(_) = &self.0.engine {
            return self.snapshot(work).await;
        }
        let permit = self.0.long_reads.permit().await?;
        let db = self.clone();
        let read = spawn_blocking(move || {
            // Held until it is done, also when the caller has gone.
            let _permit = permit;
            Handle::current().block_on(db.snapshot(work))
        });
        read.await.unwrap_or_else(|_| Err(ended().into()))
    }
}
