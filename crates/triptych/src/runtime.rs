//! The threads that answer requests.

use std::{io, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// How long a thread for work that blocks waits for more. It keeps the memory that it has used, as for a large body.
const IDLE_THREAD: Duration = Duration::from_secs(2);

/// A worker thread takes every second task from the global queue of the runtime, if there is one. Requests whose database work is done
/// are woken through this queue. Tokio's default is about every 61st task while the local queue is not empty: under overload, finished
/// requests would wait behind new ones, most of which are refused.
const GLOBAL_QUEUE_INTERVAL: u32 = 2;

/// After so many tasks a worker thread looks for sockets with something to read or write. Tokio's default is 61: where clients keep many
/// connections busy, another client would wait for that many of them.
const EVENT_INTERVAL: u32 = 8;

pub(crate) fn new() -> io::Result<Runtime> {
    builder().build()
}

fn builder() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder
        .enable_all()
        .thread_keep_alive(IDLE_THREAD)
        .global_queue_interval(GLOBAL_QUEUE_INTERVAL)
        .event_interval(EVENT_INTERVAL);
    builder
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        future::poll_fn,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::Relaxed},
            mpsc,
        },
        task::Poll,
    };

    use super::*;

    #[test]
    fn busy_worker_also_runs_tasks_of_the_global_queue() {
        let runtime = builder().worker_threads(1).build().unwrap();
        let (runs, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(100)));
        let (blocked, is_blocked) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let (of_the_thread, of_others) = (runs.clone(), left.clone());
        let thread = runtime.spawn(async move {
            // Tasks in the local queue of the worker, which are always ready.
            for _ in 0..100 {
                let (runs, left) = (of_the_thread.clone(), of_others.clone());
                tokio::spawn(poll_fn(move |cx| {
                    if left.load(Relaxed) == 0 {
                        return Poll::Ready(());
                    }
                    runs.fetch_add(1, Relaxed);
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }));
            }
            blocked.send(()).unwrap();
            released.recv().unwrap();
        });
        is_blocked.recv().unwrap();
        for _ in 0..100 {
            let left = left.clone();
            runtime.spawn(async move { left.fetch_sub(1, Relaxed) });
        }
        release.send(()).unwrap();
        runtime.block_on(thread).unwrap();
        let (ended, is_ended) = mpsc::channel();
        runtime.spawn(async move { ended.send(()) });
        is_ended.recv().unwrap();
        assert!(runs.load(Relaxed) <= 200, "{runs:?} local tasks ran before 100 of the global queue");
    }
}
