//! The newest calls, before they get their numbers.
//!
//! Each thread adds its calls to a batch of its own, since they would wait for each other if all added to the ring.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::{
    memory::JournalMemory,
    packed::{CommonHeaders, PackedCall},
    per_thread::PerThread,
};

/// The bytes of a batch. A call that is longer has a batch of its own.
pub(super) const CHUNK: usize = 16 << 10;

/// Room for the calls of a usual batch.
const USUAL_CALLS: usize = 16;

/// The calls of a thread since its last batch.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) calls: Vec<BatchCall>,
    /// Those of the last call.
    common: CommonHeaders,
}

/// A call of a batch: where its bytes are, and when it ended.
pub(super) struct BatchCall {
    pub(super) ended: Instant,
    pub(super) start: u32,
    pub(super) length: u32,
    pub(super) is_error: bool,
}

/// The batches of a journal. All together have as many bytes as are guaranteed to it.
pub(super) struct Batches {
    batches: PerThread<Mutex<Batch>>,
    memory: JournalMemory,
}

impl Batches {
    pub(super) fn new(memory: JournalMemory) -> Self {
        Batches { batches: PerThread::new(Mutex::default), memory }
    }

    /// Adds a call to the batch of this thread. Gives the batch before it, if that had no room for the call.
    pub(super) fn push(&self, call: &PackedCall<'_>) -> Option<Batch> {
        let length = call.length();
        let mut batch = lock(self.batches.own());
        let has_room = batch.bytes.capacity() - batch.bytes.len() >= length;
        let full = (!has_room).then(|| {
            let bytes = Vec::with_capacity(length.max(CHUNK));
            self.memory.add(bytes.capacity());
            let calls = Vec::with_capacity(USUAL_CALLS);
            std::mem::replace(&mut *batch, Batch { bytes, calls, common: Default::default() })
        });
        let Batch { bytes, calls, common } = &mut *batch;
        let start = call.write(common, bytes);
        let (start, length) = (start as u32, (bytes.len() - start) as u32);
        calls.push(BatchCall { ended: call.ended, start, length, is_error: call.is_error });
        full.filter(|full| !full.calls.is_empty())
    }

    /// Takes all batches that have calls. The memory of their bytes stays counted.
    pub(super) fn take(&self) -> Vec<Batch> {
        // All at once: otherwise the second of two calls could get in here, and the first one, of another thread, not.
        let mut batches: Vec<_> = self.batches.iter().map(lock).collect();
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

fn lock(batch: &Mutex<Batch>) -> MutexGuard<'_, Batch> {
    batch.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Batches {
    fn drop(&mut self) {
        for batch in self.take() {
            self.memory.release(batch.bytes.capacity());
        }
    }
}
