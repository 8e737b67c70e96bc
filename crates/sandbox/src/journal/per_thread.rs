//! A value for each thread, so that threads do not wait for memory that is in the cache of another processor.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// The most values. With more threads, several share one.
const MOST: usize = 4;

/// A value for each thread that serves connections.
pub(crate) struct PerThread<T>(Box<[Aligned<T>]>);

/// A value in cache lines that have nothing else.
#[repr(align(128))]
struct Aligned<T>(T);

impl<T> PerThread<T> {
    pub(crate) fn new(value: impl Fn() -> T) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST);
        PerThread((0..threads).map(|_| Aligned(value())).collect())
    }

    /// The value of this thread.
    pub(crate) fn own(&self) -> &T {
        &self.0[thread_number() % self.0.len()].0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|Aligned(value)| value)
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
