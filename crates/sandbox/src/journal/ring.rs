//! The entries of a journal, bounded by number and by bytes.

use std::{collections::VecDeque, sync::Arc};

use super::{
    Entry, MOST_BYTES, MOST_ENTRIES,
    memory::{GUARANTEED, JournalMemory},
};

/// Entries with consecutive numbers, the oldest first.
pub(super) struct Ring {
    slots: VecDeque<Slot>,
    /// The number of the last entry that was added.
    last: u64,
    bytes: usize,
    closed: bool,
    memory: JournalMemory,
}

struct Slot {
    entry: Arc<Entry>,
    size: usize,
}

/// Entries that are freed when this is dropped, which must not happen while the ring is locked.
pub(super) type Dropped = Vec<Arc<Entry>>;

/// What a follower finds at its position.
pub(super) enum Next {
    Entry(Arc<Entry>),
    /// So many entries were dropped.
    Skipped(u64),
    Nothing,
    Closed,
}

impl Ring {
    pub(super) fn new(memory: JournalMemory) -> Self {
        Ring { slots: VecDeque::new(), last: 0, bytes: 0, closed: false, memory }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Gives an entry its number and adds it.
    pub(super) fn push(&mut self, mut entry: Entry) -> (u64, Dropped) {
        self.last += 1;
        entry.number = self.last;
        if self.closed {
            return (self.last, vec![Arc::new(entry)]);
        }
        let size = entry.size();
        self.slots.push_back(Slot { entry: Arc::new(entry), size });
        self.bytes += size;
        self.memory.add(size);
        (self.last, self.drop_oldest())
    }

    fn drop_oldest(&mut self) -> Dropped {
        let mut dropped = Vec::new();
        while self.slots.len() > MOST_ENTRIES
            || self.bytes > MOST_BYTES
            || (self.bytes > GUARANTEED && self.memory.is_exceeded())
        {
            let Some(oldest) = self.slots.pop_front() else { break };
            self.bytes -= oldest.size;
            self.memory.release(oldest.size);
            dropped.push(oldest.entry);
        }
        dropped
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<Entry>> {
        self.slots.get(self.position(number)?).map(|slot| slot.entry.clone())
    }

    /// The entries after a number.
    pub(super) fn newest_first(&self, since: Option<u64>) -> Vec<Arc<Entry>> {
        let newest = self.slots.iter().rev().map(|slot| &slot.entry);
        newest.take_while(|entry| since.is_none_or(|since| entry.number > since)).cloned().collect()
    }

    /// What a follower reads next, from this number on.
    pub(super) fn next(&self, number: u64) -> Next {
        if self.closed {
            return Next::Closed;
        }
        if number > self.last {
            return Next::Nothing;
        }
        let oldest = self.slots.front().map_or(self.last + 1, |slot| slot.entry.number);
        match self.get(number) {
            Some(entry) => Next::Entry(entry),
            None => Next::Skipped(oldest.saturating_sub(number)),
        }
    }

    pub(super) fn clear(&mut self) -> Dropped {
        self.memory.release(self.bytes);
        self.bytes = 0;
        self.slots.drain(..).map(|slot| slot.entry).collect()
    }

    pub(super) fn close(&mut self) -> Dropped {
        self.closed = true;
        self.clear()
    }

    fn position(&self, number: u64) -> Option<usize> {
        let oldest = self.slots.front()?.entry.number;
        usize::try_from(number.checked_sub(oldest)?).ok()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.memory.release(self.bytes);
    }
}
