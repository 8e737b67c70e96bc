//! The journal of a sandbox: its last calls, in memory.
//!
//! - [`Recorder`]: the observer of an instance, which records its calls. [`NewCall`] is a call, and [`Entry`] what is kept of it.
//! - [`Filter`]: which entries are listed or followed; [`JournalQuery`] is how a client states it.
//! - [`Follower`]: new entries as they are recorded, for Server-Sent Events.
//! - [`CallSummary`], [`JournalCall`]: entries as JSON; [`Activity`] is a journal in short; [`har`] and [`curl`] export them.
//!
//! A journal is bounded by entries and by bytes, and all journals of a process together by [`JournalMemory`]; the oldest entries
//! are dropped first.

mod batch;
mod body;
mod call;
mod curl;
mod entry;
mod filter;
mod follow;
mod har;
mod headers;
mod memory;
mod observed;
mod packed;
mod per_thread;
mod ring;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use batch::{Batches, CHUNK};
use packed::{PackedCall, unpack};
use ring::Ring;

pub use body::RecordedBody;
pub use call::{Activity, CallSummary, Caller, Header, JournalCall, RecordedDelivery, RecordedMessage};
pub use curl::curl;
pub use entry::{Entry, Message, NewCall};
pub use filter::{Filter, JournalQuery, StatusFilter};
pub use follow::{Followed, Follower, MOST_FOLLOWERS};
pub use har::{Har, har};
pub use memory::JournalMemory;
pub use observed::Recorder;
pub(crate) use per_thread::PerThread;

/// The most entries of a journal.
pub const MOST_ENTRIES: usize = 1000;

/// The most bytes of a journal.
pub const MOST_BYTES: usize = 8 << 20;

/// How much of a body is kept, in bytes.
pub const MOST_BODY_BYTES: usize = 16 << 10;

/// The journal of a sandbox.
pub struct Journal {
    /// The calls that are not in the ring yet.
    batches: Batches,
    ring: Mutex<Ring>,
    /// The number of the last entry; changes wake the followers.
    last: watch::Sender<u64>,
}

impl Journal {
    pub fn new(memory: &JournalMemory) -> Self {
        Journal {
            batches: Batches::new(memory.clone()),
            ring: Mutex::new(Ring::new(memory.clone())),
            last: watch::Sender::new(0),
        }
    }

    /// Adds a call. Readers hold the lock of the ring while they copy a few kilobytes, so that a call does not wait.
    pub fn record(&self, call: &NewCall<'_>) {
        let packed = PackedCall::new(call);
        let too_many_bytes = self.batches.push(&packed).is_some_and(|full| self.locked().add_later(full));
        if too_many_bytes || packed.length() > CHUNK {
            drop(self.ring());
        }
        // A follower that comes after this check finds the entry in the ring.
        if self.last.receiver_count() > 0 {
            let number = self.ring().last();
            self.last.send_if_modified(|last| {
                let is_newer = number > *last;
                *last = number.max(*last);
                is_newer
            });
        }
    }

    /// The entries that pass a filter, the newest first.
    pub fn list(&self, filter: &Filter) -> Vec<Entry> {
        let mut before = u64::MAX;
        let mut found = Vec::new();
        loop {
            let batch = self.ring().newest_between(filter.since.unwrap_or_default(), before);
            let Some((oldest, _)) = batch.last() else { return found };
            before = *oldest;
            let entries = batch.iter().filter_map(|(number, packed)| unpack(*number, packed));
            found.extend(entries.filter(|entry| filter.passes(entry)).take(filter.limit - found.len()));
            if found.len() == filter.limit {
                return found;
            }
        }
    }

    /// What the journal says in short.
    pub fn activity(&self) -> Activity {
        let (counts, last) = {
            let ring = self.ring();
            (ring.counts(), ring.get(ring.last()).map(|packed| (ring.last(), packed)))
        };
        let last = last.and_then(|(number, packed)| unpack(number, &packed));
        Activity::new(counts, last.as_ref())
    }

    pub fn get(&self, number: u64) -> Option<Entry> {
        let packed = self.ring().get(number)?;
        unpack(number, &packed)
    }

    /// Drops all entries. The numbers go on.
    pub fn clear(&self) {
        let dropped = self.ring().clear();
        drop(dropped);
    }

    /// Ends all followers, and records no more calls.
    pub fn close(&self) {
        let dropped = self.ring().close();
        self.last.send_modify(|_| {});
        drop(dropped);
    }

    /// The new entries that pass a filter. With `since`, those after that number come first, as far as the journal has them.
    /// `None` when there are [`MOST_FOLLOWERS`] already.
    pub fn follow(self: &Arc<Self>, filter: Filter) -> Option<Follower> {
        Follower::new(self, filter)
    }

    /// The ring with all calls. The lock order is: the ring, then the batches.
    fn ring(&self) -> MutexGuard<'_, Ring> {
        let mut ring = self.locked();
        ring.add(self.batches.take());
        ring
    }

    fn locked(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
