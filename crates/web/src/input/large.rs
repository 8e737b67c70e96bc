//! Bodies that take long to parse.

use std::{sync::LazyLock, thread::available_parallelism};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
    task::block_in_place,
};

use crate::admission::release_admission;

/// From this size on, a body may take milliseconds to parse.
const LARGE: usize = 64 << 10;

/// Permits to parse a large body: for half of the processors, so that the others answer small requests.
static PERMITS: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, usize::from);
    Semaphore::new((processors / 2).max(1))
});

/// Parses a body. While a large one is parsed, another thread answers the requests of this one.
pub(super) async fn parse<R>(bytes: &[u8], work: impl FnOnce(&[u8]) -> R) -> R {
    let has_threads = || Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
    if bytes.len() < LARGE || !has_threads() {
        return work(bytes);
    }
    // A body that waits for its turn must not use up the limit of running requests. The memory of bodies limits how many wait.
    release_admission();
    let _permit = PERMITS.acquire().await;
    block_in_place(|| work(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_requests_are_answered_while_a_large_body_is_parsed() {
        let (begin, began) = oneshot::channel();
        let (answer, answered) = mpsc::channel();
        let parsing = tokio::spawn(async move {
            let work = move |_: &[u8]| {
                begin.send(()).unwrap();
                answered.recv_timeout(Duration::from_secs(60))
            };
            parse(&[0; LARGE], work).await
        });
        let other = tokio::spawn(async move {
            began.await.unwrap();
            answer.send(()).unwrap();
        });
        parsing.await.unwrap().unwrap();
        other.await.unwrap();
    }

    #[tokio::test]
    async fn body_is_parsed_where_there_is_one_thread() {
        assert_eq!(parse(&[1; LARGE], <[u8]>::len).await, LARGE);
    }
}
