//! Reads that take long: they must not hold up the threads that serve.

use std::{num::NonZero, sync::Arc, thread::available_parallelism};

use tokio::{runtime::Handle, sync::Semaphore, task::spawn_blocking};

use crate::{Db, Engine, Error, Tx, ended};

/// How many run at once on SQLite. Each takes a core; half of them stay for everything else.
pub(crate) fn permits() -> Arc<Semaphore> {
    let cores = available_parallelism().map_or(1, NonZero::get);
    Arc::new(Semaphore::new((cores / 2).clamp(1, 4)))
}

impl Db {
    /// Runs a unit that reads much, as [`Db::read`] does: many statements, or rows of many kilobytes. On SQLite it runs on
    /// a thread beside those that serve, and waits for its turn if there are too many.
    pub async fn read_long<R, E, F>(&self, work: F) -> Result<R, E>
    where
        F: Fn(&mut Tx<'_>) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        if let Engine::Postgres(_) = &self.0.engine {
            return self.read(work).await;
        }
        let Ok(turn) = self.0.long_reads.clone().acquire_owned().await else { return Err(ended().into()) };
        let db = self.clone();
        let read = spawn_blocking(move || {
            // Held until it is done, also when the caller has gone.
            let _turn = turn;
            Handle::current().block_on(db.read(work))
        });
        read.await.unwrap_or_else(|_| Err(ended().into()))
    }
}
