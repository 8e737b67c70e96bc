//! The entries of a journal, bounded by number and by bytes.

use std::collections::VecDeque;

use super::{
    MOST_BYTES, MOST_ENTRIES,
    batch::{Batch, BatchCall},
    memory::{GUARANTEED, JournalMemory},
    packed,
};

/// How many entries are copied at once, and about how many bytes of them, so that no call waits long for the lock.
const BATCH: usize = 32;
const BATCH_BYTES: usize = 64 << 10;

/// Packed entries with consecutive numbers, the oldest first.
pub(super) struct Ring {
    /// Batches that are full. Their calls get their numbers when the ring is read: only then do calls of other threads matter, which
    /// ended before and are in batches that are not full.
    full: VecDeque<Batch>,
    /// How many calls they have.
    full_calls: usize,
    chunks: VecDeque<Chunk>,
    /// How many chunks were dropped.
    dropped_chunks: u64,
    slots: VecDeque<Slot>,
    /// The number of the last entry that was added.
    last: u64,
    /// The number of the last entry when the ring was cleared.
    cleared: u64,
    /// How many entries since then were errors.
    errors: u64,
    /// The memory of all chunks and full batches.
    bytes: usize,
    closed: bool,
    memory: JournalMemory,
}

/// The bytes of a batch.
pub(super) struct Chunk {
    bytes: Vec<u8>,
    /// How many of its entries were not dropped.
    entries: usize,
}

/// Where an entry is.
struct Slot {
    /// Counted from the first chunk that the ring ever had.
    chunk: u64,
    start: u32,
    length: u32,
}

/// An entry as bytes, with its number.
pub(super) type Packed = (u64, Vec<u8>);

/// Memory that is freed when this is dropped, which must not happen while the ring is locked.
pub(super) type Dropped = VecDeque<Chunk>;

/// What a follower finds at its position.
pub(super) enum Next {
    Entry(Vec<u8>),
    /// So many entries were dropped.
    Skipped(u64),
    Nothing,
    Closed,
}

impl Ring {
    pub(super) fn new(memory: JournalMemory) -> Self {
        Ring {
            full: VecDeque::new(),
            full_calls: 0,
            chunks: VecDeque::new(),
            dropped_chunks: 0,
            slots: VecDeque::new(),
            last: 0,
            cleared: 0,
            errors: 0,
            bytes: 0,
            closed: false,
            memory,
        }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// How many entries were added since the ring was cleared, also those that were dropped, and how many of them were errors.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.last - self.cleared, self.errors)
    }

    /// Adds a full batch, to be read later. Gives whether there are too many bytes, so that [`Ring::add`] must drop the oldest entries.
    pub(super) fn add_later(&mut self, batch: Batch) -> bool {
        self.push(batch);
        self.drop_entries(MOST_ENTRIES.saturating_sub(self.full_calls));
        // Calls of other threads that ended before those of a batch that is dropped here will be dropped too.
        while let Some(oldest) = self.full.front()
            && self.full_calls - oldest.calls.len() >= MOST_ENTRIES
        {
            self.drop_batch();
        }
        self.has_too_many_bytes()
    }

    /// Adds a batch, unless the ring is closed: then its calls are only counted.
    fn push(&mut self, batch: Batch) {
        self.bytes += batch.bytes.capacity();
        self.full_calls += batch.calls.len();
        self.full.push_back(batch);
        if self.closed {
            self.drop_batch();
        }
    }

    /// Drops the oldest batch. There must be no entries, since those are older.
    fn drop_batch(&mut self) {
        let Some(batch) = self.full.pop_front() else { return };
        self.full_calls -= batch.calls.len();
        self.count(&batch);
        self.bytes -= batch.bytes.capacity();
        self.memory.release(batch.bytes.capacity());
    }

    fn count(&mut self, batch: &Batch) {
        self.last += batch.calls.len() as u64;
        self.errors += batch.calls.iter().filter(|call| call.is_error).count() as u64;
    }

    /// Adds the calls of full batches and of these, in the order in which they ended.
    pub(super) fn add(&mut self, batches: Vec<Batch>) {
        for batch in batches {
            self.push(batch);
        }
        let mut added = Vec::with_capacity(self.full_calls);
        self.full_calls = 0;
        for batch in std::mem::take(&mut self.full) {
            self.count(&batch);
            let Batch { bytes, calls, .. } = batch;
            let chunk = self.dropped_chunks + self.chunks.len() as u64;
            let slot =
                |BatchCall { start, length, .. }: &BatchCall| Slot { chunk, start: *start, length: *length };
            added.extend(calls.iter().map(|call| (call.ended, slot(call))));
            self.chunks.push_back(Chunk { bytes, entries: calls.len() });
        }
        added.sort_by_key(|(ended, _)| *ended);
        self.slots.extend(added.into_iter().map(|(_, slot)| slot));
        self.drop_entries(MOST_ENTRIES);
        while !self.slots.is_empty() && self.has_too_many_bytes() {
            self.drop_entries(self.slots.len() - 1);
        }
    }

    fn has_too_many_bytes(&self) -> bool {
        self.bytes > MOST_BYTES || (self.bytes > GUARANTEED && self.memory.is_exceeded())
    }

    /// Drops the oldest entries, until no more than these are left.
    fn drop_entries(&mut self, most: usize) {
        while self.slots.len() > most {
            let Some(oldest) = self.slots.pop_front() else { break };
            let at = usize::try_from(oldest.chunk - self.dropped_chunks).unwrap_or(usize::MAX);
            if let Some(chunk) = self.chunks.get_mut(at) {
                chunk.entries -= 1;
            }
            while self.chunks.front().is_some_and(|chunk| chunk.entries == 0) {
                let Some(chunk) = self.chunks.pop_front() else { break };
                self.dropped_chunks += 1;
                self.bytes -= chunk.bytes.capacity();
                self.memory.release(chunk.bytes.capacity());
            }
        }
    }

    pub(super) fn get(&self, number: u64) -> Option<Vec<u8>> {
        let slot = self.slots.get(self.position(number)?)?;
        let chunk = self.chunks.get(usize::try_from(slot.chunk - self.dropped_chunks).ok()?)?;
        let start = slot.start as usize;
        packed::copy(&chunk.bytes, start..start + slot.length as usize)
    }

    /// Some of the entries with numbers between these two, the newest first; none if there are no more.
    pub(super) fn newest_between(&self, after: u64, before: u64) -> Vec<Packed> {
        let newest = before.saturating_sub(1).min(self.last);
        let oldest = self.oldest().max(after.saturating_add(1));
        let mut bytes = 0;
        let numbers = (oldest..=newest).rev().take(BATCH);
        let entries = numbers.map_while(|number| Some((number, self.get(number)?)));
        entries
            .take_while(|(_, packed)| {
                let fits = bytes < BATCH_BYTES;
                bytes += packed.len();
                fits
            })
            .collect()
    }

    /// What a follower reads next, from this number on.
    pub(super) fn next(&self, number: u64) -> Next {
        if self.closed {
            return Next::Closed;
        }
        if number > self.last {
            return Next::Nothing;
        }
        match self.get(number) {
            Some(entry) => Next::Entry(entry),
            None => Next::Skipped(self.oldest().saturating_sub(number)),
        }
    }

    /// Drops all entries; the ring has been read.
    pub(super) fn clear(&mut self) -> Dropped {
        self.cleared = self.last;
        self.errors = 0;
        self.memory.release(self.bytes);
        self.bytes = 0;
        self.slots.clear();
        self.dropped_chunks += self.chunks.len() as u64;
        std::mem::take(&mut self.chunks)
    }

    pub(super) fn close(&mut self) -> Dropped {
        self.closed = true;
        self.clear()
    }

    /// The number of the oldest entry, or of the next one if there is none.
    fn oldest(&self) -> u64 {
        self.last + 1 - self.slots.len() as u64
    }

    fn position(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.oldest())?).ok()
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
