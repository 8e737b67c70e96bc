//! The threads that answer requests.

use std::{io, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// How long a thread for work that blocks waits for more. It keeps the memory that it has used, as for a large body.
const IDLE_THREAD: Duration = Duration::from_secs(2);

/// A thread runs at least one of so many tasks from the queue of all threads, where the writer of the database puts the requests whose
/// work is done. Tokio itself takes one of 61 while sockets have something to read: under overload, requests that were done would wait
/// behind new ones, most of which are refused.
const SHARED_QUEUE: u32 = 2;

pub(crate) fn new() -> io::Result<Runtime> {
    builder().build()
}

fn builder() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.enable_all().thread_keep_alive(IDLE_THREAD).global_queue_interval(SHARED_QUEUE);
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
    fn thread_with_much_to_do_also_runs_tasks_of_other_threads() {
        let runtime = builder().worker_threads(1).build().unwrap();
        let (runs, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(100)));
        let (blocked, is_blocked) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let (of_the_thread, of_others) = (runs.clone(), left.clone());
        let thread = runtime.spawn(async move {
            // Tasks of this thread that always have something to do.
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
        assert!(runs.load(Relaxed) <= 200, "{runs:?} tasks of the thread ran before 100 of others");
    }
}
