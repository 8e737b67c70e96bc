//! The newest calls, before they get their numbers.
//!
//! Each thread adds its calls to a batch of its own. If all threads added to the ring, each would wait for memory that is in the cache
//! of another processor.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use super::{memory::JournalMemory, packed::PackedCall};

/// The bytes of a batch. A call that is longer has a batch of its own.
pub(super) const CHUNK: usize = 16 << 10;

/// Room for the calls of a usual batch.
const USUAL_CALLS: usize = 16;

/// The most batches of a journal: all together have as many bytes as are guaranteed to it.
const MOST_BATCHES: usize = 4;

/// The calls of a thread since its last batch.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) calls: Vec<BatchCall>,
}

/// A call of a batch: where its bytes are, and when it ended.
pub(super) struct BatchCall {
    pub(super) ended: Instant,
    pub(super) start: u32,
    pub(super) length: u32,
    pub(super) is_error: bool,
}

/// The batches of a journal.
pub(super) struct Batches {
    batches: Box<[Aligned]>,
    memory: JournalMemory,
}

/// A batch in cache lines that have nothing else.
#[derive(Default)]
#[repr(align(128))]
struct Aligned(Mutex<Batch>);

impl Batches {
    pub(super) fn new(memory: JournalMemory) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_BATCHES);
        Batches { batches: (0..threads).map(|_| Aligned::default()).collect(), memory }
    }

    /// Adds a call to the batch of this thread; `false` if it has no room, and the batches must be taken before.
    pub(super) fn push(&self, call: &PackedCall<'_>) -> bool {
        let length = call.length();
        let mut batch = self.batches[thread_number() % self.batches.len()].lock();
        if batch.calls.is_empty() {
            batch.bytes = Vec::with_capacity(length.max(CHUNK));
            batch.calls.reserve(USUAL_CALLS);
            self.memory.add(batch.bytes.capacity());
        } else if batch.bytes.capacity() - batch.bytes.len() < length {
            return false;
        }
        let (start, length) = (batch.bytes.len() as u32, length as u32);
        batch.calls.push(BatchCall { ended: call.ended, start, length, is_error: call.is_error });
        call.write(&mut batch.bytes);
        true
    }

    /// Takes all batches that have calls. The memory of their bytes stays counted.
    pub(super) fn take(&self) -> Vec<Batch> {
        // All at once: otherwise the second of two calls could get in here, and the first one, of another thread, not.
        let mut batches: Vec<_> = self.batches.iter().map(Aligned::lock).collect();
        let with_calls = batches.iter_mut().filter(|batch| !batch.calls.is_empty());
        let mut taken: Vec<_> = with_calls.map(|batch| std::mem::take(&mut **batch)).collect();
        drop(batches);
        for Batch { bytes, .. } in &mut taken {
            if bytes.len() < bytes.capacity() / 2 {
                self.memory.release(bytes.capacity());
                bytes.shrink_to_fit();
                self.memory.add(bytes.capacity());
            }
        }
        taken
    }
}

impl Aligned {
    fn lock(&self) -> MutexGuard<'_, Batch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        for batch in self.take() {
            self.memory.release(batch.bytes.capacity());
        }
    }
}

/// A number that each thread keeps.
fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}
