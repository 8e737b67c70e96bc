//! The turns of the connections of a thread.

use std::{
    future::poll_fn,
    task::{Context, Poll},
    thread,
};

/// How many bytes of a connection are read before other connections of the thread have their turn. A client can send frames of HTTP/2
/// that need no answer faster than they are read; so many take about a millisecond.
pub(super) const READ_TURN: usize = 8 * 1024;

/// How many bytes of a rejected body are discarded before others have their turn. Bytes that are not parsed take less time.
pub(super) const DISCARD_TURN: usize = 128 * 1024;

/// Lets other connections of this thread have their turn, and other threads.
pub(super) fn end_turn<T>(cx: &mut Context<'_>) -> Poll<T> {
    cx.waker().wake_by_ref();
    // Another thread of the service may wait for this processor: without this, until the time slice ends, some milliseconds later.
    thread::yield_now();
    Poll::Pending
}

/// Lets the tasks of this thread that are ready have their turn first.
pub(super) async fn next_turn() {
    let mut is_next = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_next, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
