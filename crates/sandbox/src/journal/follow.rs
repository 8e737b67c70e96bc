//! Following a journal while calls are recorded.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Entry, Filter, Journal, packed::unpack, ring::Next};

/// The most followers of a journal.
pub const MOST_FOLLOWERS: usize = 16;

/// A reader of new entries. It holds a position and no entries: one that is slower than the calls finds its next entry dropped,
/// skips to the oldest one that the journal has, and says how many it skipped.
pub struct Follower {
    journal: Arc<Journal>,
    filter: Filter,
    /// The number of the entry to be read next.
    next: u64,
    last: watch::Receiver<u64>,
}

/// What a follower reads.
#[derive(Debug)]
pub enum Followed {
    Call(Box<Entry>),
    /// So many entries were dropped before they were read; it is not known which of them the filter would have passed.
    Skipped(u64),
}

impl Follower {
    pub(super) fn new(journal: &Arc<Journal>, mut filter: Filter) -> Option<Self> {
        // The lock makes the count and the subscription one step.
        let ring = journal.ring();
        if journal.last.receiver_count() >= MOST_FOLLOWERS {
            return None;
        }
        // A number that this journal has not reached is of an earlier process, and says nothing about the calls of this one.
        let since = filter.since.take().map_or(ring.last(), |since| since.min(ring.last()));
        let last = journal.last.subscribe();
        Some(Follower { journal: journal.clone(), filter, next: since + 1, last })
    }

    /// Waits for the next entry; `None` when the journal is closed. It can be cancelled without losing an entry.
    pub async fn next(&mut self) -> Option<Followed> {
        loop {
            // Before the ring is read, so that an entry that comes in between is noticed.
            self.last.borrow_and_update();
            let next = self.journal.ring().next(self.next);
            match next {
                Next::Entry(packed) => {
                    let entry = unpack(self.next, &packed).filter(|entry| self.filter.passes(entry));
                    self.next += 1;
                    if let Some(entry) = entry {
                        return Some(Followed::Call(Box::new(entry)));
                    }
                }
                Next::Skipped(entries) => {
                    self.next += entries;
                    return Some(Followed::Skipped(entries));
                }
                Next::Nothing => self.last.changed().await.ok()?,
                Next::Closed => return None,
            }
        }
    }
}
