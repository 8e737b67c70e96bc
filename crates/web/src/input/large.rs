//! Bodies that take long to parse.

use std::{
    io::{self, Read},
    panic::resume_unwind,
    sync::LazyLock,
    thread::{available_parallelism, yield_now},
};

use bytes::Bytes;
use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::admission::release_admission;

/// From this size on, a body may take milliseconds to parse.
const LARGE: usize = 64 << 10;

/// Permits to parse a large body: for half of the processors, so that the others answer small requests.
static PERMITS: LazyLock<Semaphore> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, usize::from);
    Semaphore::new((processors / 2).max(1))
});

/// Parses a body. A large one is parsed by a thread that answers no requests; the memory that it needs is released when the thread ends.
pub(super) async fn parse<R: Send + 'static>(
    bytes: Bytes,
    work: impl FnOnce(&[u8]) -> R + Send + 'static,
) -> R {
    if bytes.len() < LARGE {
        return work(&bytes);
    }
    // A body that waits for its turn must not use up the limit of running requests. The memory of bodies limits how many wait.
    release_admission();
    let permit = PERMITS.acquire().await;
    let work = move || {
        let _permit = permit;
        work(&bytes)
    };
    spawn_blocking(work).await.unwrap_or_else(|failed| resume_unwind(failed.into_panic()))
}

/// After so many bytes of a large body, the thread lets others run that wait for its processor. Otherwise the system may let them wait
/// until the end of a time slice, some milliseconds later.
const TURN: usize = 16 << 10;

/// How many bytes a thread has read in its turn.
#[derive(Default)]
pub(super) struct Turn(usize);

impl Turn {
    /// Counts bytes that were read, and ends the turn after so many.
    pub(super) fn read(&mut self, bytes: usize) {
        self.0 += bytes;
        if self.0 >= TURN {
            self.0 = 0;
            yield_now();
        }
    }
}

/// The bytes of a large body, which are read in turns.
pub(super) struct Turns<'a> {
    rest: &'a [u8],
    turn: Turn,
}

impl<'a> Turns<'a> {
    /// `None` for a body that is not large.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        (bytes.len() >= LARGE).then_some(Turns { rest: bytes, turn: Turn::default() })
    }
}

impl Read for Turns<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(buffer)?;
        self.turn.read(read);
        Ok(read)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use serde_json::{Value, from_reader, from_slice};
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn other_requests_are_answered_while_a_large_body_is_parsed() {
        let (begin, began) = oneshot::channel();
        let (answer, answered) = mpsc::channel();
        let parsing = tokio::spawn(async move {
            let work = move |bytes: &[u8]| {
                begin.send(()).unwrap();
                answered.recv_timeout(Duration::from_secs(60)).map(|()| bytes.len())
            };
            parse(vec![0; LARGE].into(), work).await
        });
        let other = tokio::spawn(async move {
            began.await.unwrap();
            answer.send(()).unwrap();
        });
        assert_eq!(parsing.await.unwrap(), Ok(LARGE));
        other.await.unwrap();
    }

    #[tokio::test]
    async fn panic_in_the_parser_is_a_panic_of_the_request() {
        let parsing =
            tokio::spawn(parse(vec![0; LARGE].into(), |_: &[u8]| -> () { panic!("in a large body") }));
        let panic = parsing.await.unwrap_err().into_panic();
        assert_eq!(panic.downcast_ref(), Some(&"in a large body"));
    }

    #[test]
    fn large_json_is_read_like_a_small_one() {
        let items = r#"{"name": "a\u00e9é", "id": 12345678901234567890.5},"#.repeat(LARGE / 50);
        for json in [
            format!("[\n{items} 1]"),
            format!("[\n{items} 01]"),
            format!("[\n{items}"),
            format!("[{items} 1]]"),
        ] {
            let in_turns: Result<Value, _> = from_reader(Turns::of(json.as_bytes()).unwrap());
            let at_once: Result<Value, _> = from_slice(json.as_bytes());
            assert_eq!(
                in_turns.map_err(|error| error.to_string()),
                at_once.map_err(|error| error.to_string())
            );
        }
        assert!(Turns::of(b"[]").is_none());
    }
}
