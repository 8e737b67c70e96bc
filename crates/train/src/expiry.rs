//! The expiry of holds.
//!
//! An expiry is a write. A request that finds a hold past its time, stored as held, stores its expiry before it answers. So each
//! expiry has one place among the other changes to a trip, for all requests: one whose clock was read a moment before the expiry, and
//! that waited since, can no longer pay for a booking that another request has shown as expired.

use db::{Error, Tx};
use jiff::Timestamp;
use uuid::Uuid;

use crate::{
    Train,
    trip::store::{self, ReadAt},
};

/// Which data a read needs.
#[derive(Clone, Copy)]
pub(crate) enum Freshness {
    Current,
    /// That of a replica, if there is one, which may lag: see [`db::Db::read_stale`].
    MayBeStale,
}

impl Train {
    /// Reads what depends on the holds of trips, after the expiry of holds that are past their time is stored.
    pub(crate) async fn read_holds<R, F>(
        &self,
        freshness: Freshness,
        now: Timestamp,
        query: F,
    ) -> Result<R, Error>
    where
        F: Fn(&mut Tx<'_>) -> Result<ReadAt<R>, Error> + Clone + Send + Sync + 'static,
        R: Send + 'static,
    {
        let ReadAt { found, due } = match freshness {
            Freshness::Current => self.db.read(query.clone()).await?,
            Freshness::MayBeStale => self.db.read_stale(query.clone()).await?,
        };
        if due.is_empty() {
            return Ok(found);
        }
        match self.expire(due, now).await {
            Ok(()) => Ok(self.db.read(query).await?.found),
            // Reads go on while nothing can be written, by the time alone: nothing can be paid for either. The sweeper has a warning in
            // the log.
            Err(error) => {
                tracing::debug!(%error, "the expiry of holds could not be stored");
                Ok(found)
            }
        }
    }

    /// Expires the holds of some trips that are past their time.
    pub(crate) async fn expire(&self, mut trips: Vec<Uuid>, now: Timestamp) -> Result<(), Error> {
        trips.sort_unstable();
        trips.dedup();
        // One transaction for each trip, so that a booking waits for one trip at most.
        for trip in trips {
            self.db.write(move |tx| store::expire(tx, trip, now)).await?;
        }
        Ok(())
    }
}
