//! Finds stalled connections: no request arrives, or the client stops sending or reading.
//!
//! Progress of a request counts: it begins, a part of its body arrives, a part of its answer is written. Bytes alone do not
//! count, since a client can send HTTP/2 PINGs, or a preface byte by byte, without end.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool, AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::Version;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use crate::{
    admission::{Decision, Refused, release_admission},
    limits::ConnectionLimits,
    observe::ObservedSending,
    size_hint::with_rest,
};

/// The requests of a connection: when one last made progress.
#[derive(Clone)]
pub(super) struct Activity(Arc<Seen>);

struct Seen {
    start: Instant,
    /// In milliseconds since the start; 0 until a request has come.
    last: AtomicU64,
    /// Whether a request has arrived and waits for its turn. What has arrived may be a part of its head, so this is no progress.
    waits: AtomicBool,
    /// How many requests have no complete answer.
    running: AtomicUsize,
    is_http_2: AtomicBool,
    /// Until when the client of the last refused request must wait, in milliseconds since the start; 0 if it has waited.
    refused_until: AtomicU64,
    /// Whether the next request is admitted before it is read.
    admits_early: AtomicBool,
    /// The decision about the next request, until it was read.
    decision: Mutex<Option<Decision>>,
    /// Whether the connection is to be closed after its running requests.
    leaves: AtomicBool,
    waker: AtomicWaker,
}

impl Activity {
    /// The activity, and a future that ends when no request has begun or made progress for too long.
    pub(super) fn new(limits: ConnectionLimits) -> (Self, impl Future<Output = ()>) {
        let activity = Activity(Arc::new(Seen {
            start: Instant::now(),
            last: AtomicU64::new(0),
            waits: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            is_http_2: AtomicBool::new(false),
            refused_until: AtomicU64::new(0),
            admits_early: AtomicBool::new(false),
            decision: Mutex::new(None),
            leaves: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }));
        let watched = activity.clone();
        let shortest = limits.header_time.min(limits.stall_time);
        let stalled = async move {
            loop {
                let due = watched.due(limits.header_time, limits.stall_time);
                let now = Instant::now();
                if now >= due {
                    return;
                }
                // What happens meanwhile may lead to an earlier deadline, but not to one before this.
                tokio::time::sleep_until(due.min(now + shortest)).await;
            }
        };
        (activity, stalled)
    }

    /// When the connection is closed if nothing happens.
    fn due(&self, header_time: Duration, stall_time: Duration) -> Instant {
        let seen = &*self.0;
        if seen.waits.load(Relaxed) {
            return Instant::now() + header_time.min(stall_time);
        }
        let last = seen.last.load(Relaxed);
        let allowed = match last {
            0 => header_time,
            // The head of the next request must arrive.
            _ if seen.running.load(Relaxed) == 0 && !self.is_http_2() => header_time.min(stall_time),
            _ => stall_time,
        };
        seen.start + Duration::from_millis(last) + allowed
    }

    /// A request of this version has begun; it runs until its answer is complete.
    pub(super) fn begin(&self, version: Version) -> Running {
        if version >= Version::HTTP_2 {
            self.0.is_http_2.store(true, Relaxed);
        }
        self.0.running.fetch_add(1, Relaxed);
        self.progress();
        Running(self.clone())
    }

    /// A request has arrived and waits for its turn.
    pub(super) fn wait(&self) -> WaitingRequest {
        self.0.waits.store(true, Relaxed);
        WaitingRequest(self.clone())
    }

    /// Says whether the request after this one is admitted before it is read.
    pub(super) fn admit_next_early(&self, early: bool) {
        self.0.admits_early.store(early, Relaxed);
    }

    /// Whether what arrives next is a request that is to be admitted before it is read.
    pub(super) fn admits_early(&self) -> bool {
        let seen = &*self.0;
        seen.admits_early.load(Relaxed)
            && !seen.waits.load(Relaxed)
            && seen.running.load(Relaxed) == 0
            && self.decision().is_none()
    }

    /// Keeps the decision about the next request until it was read.
    pub(super) fn set_decision(&self, decision: Decision) {
        *self.decision() = Some(decision);
    }

    pub(super) fn take_decision(&self) -> Option<Decision> {
        self.decision().take()
    }

    fn decision(&self) -> MutexGuard<'_, Option<Decision>> {
        self.0.decision.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the connection to be closed after its running requests.
    pub(super) fn leave(&self) {
        self.0.leaves.store(true, Release);
        self.0.waker.wake();
    }

    /// Ends when the connection is to be closed after its running requests. Only one task may wait for it.
    pub(super) fn left(&self) -> impl Future<Output = ()> {
        poll_fn(|cx| {
            self.0.waker.register(cx.waker());
            if self.0.leaves.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
    }

    /// A request was refused because there were too many.
    pub(super) fn refused(&self, refused: Refused) {
        self.0.refused_until.store(self.now() + refused.retry_after * 1000, Relaxed);
    }

    /// Delays a request that comes before the time of a refusal is over, unless the service has room for it. `true` for the first request
    /// after this time.
    pub(super) async fn wait_after_refusal(&self, has_room: impl FnOnce() -> bool) -> bool {
        let until = self.0.refused_until.load(Relaxed);
        if until == 0 {
            return false;
        }
        if has_room() {
            self.0.refused_until.store(0, Relaxed);
            return false;
        }
        tokio::time::sleep_until(self.0.start + Duration::from_millis(until)).await;
        self.0.refused_until.swap(0, Relaxed) > 0
    }

    fn progress(&self) {
        self.0.last.store(self.now(), Relaxed);
    }

    /// In milliseconds since the start, at least 1.
    fn now(&self) -> u64 {
        (self.0.start.elapsed().as_millis() as u64).max(1)
    }

    pub(super) fn start(&self) -> Instant {
        self.0.start
    }

    /// Whether no request has begun.
    pub(super) fn is_unused(&self) -> bool {
        self.0.last.load(Relaxed) == 0
    }

    /// Whether a request of HTTP/2 has begun.
    pub(super) fn is_http_2(&self) -> bool {
        self.0.is_http_2.load(Relaxed)
    }
}

/// A request that waits for its turn.
pub(super) struct WaitingRequest(Activity);

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        self.0.0.waits.store(false, Relaxed);
    }
}

/// A request without a complete answer.
pub(super) struct Running(Activity);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.progress();
        self.0.0.running.fetch_sub(1, Relaxed);
    }
}

/// The largest part of a body, so that a large answer to a slow client makes visible progress.
const PIECE: usize = 128 * 1024;

/// A body whose parts count as progress.
pub(super) struct TrackedBody<B> {
    body: B,
    rest: Bytes,
    activity: Activity,
    /// Set when the body has been read to its end.
    is_read: Option<Arc<AtomicBool>>,
    /// Observes the parts of the answer to an observed request.
    sending: Option<ObservedSending>,
    /// The request that the body answers.
    _running: Option<Running>,
}

impl<B: Body> TrackedBody<B> {
    pub(super) fn new(body: B, activity: &Activity) -> Self {
        let activity = activity.clone();
        TrackedBody { body, rest: Bytes::new(), activity, is_read: None, sending: None, _running: None }
    }

    /// The body of the answer to a request, whose parts may be observed.
    pub(super) fn of_answer(self, running: Running, sending: Option<ObservedSending>) -> Self {
        TrackedBody { sending, _running: Some(running), ..self }
    }

    /// Says, also after the body is dropped, whether it was read to its end.
    pub(super) fn is_read(&mut self) -> Arc<AtomicBool> {
        self.is_read.get_or_insert_default().clone()
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for TrackedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.rest.is_empty() {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
                // A request whose body arrives slowly lets others run.
                release_admission();
                return Poll::Pending;
            };
            self.activity.progress();
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Ok(Err(other))) => return Poll::Ready(Some(Ok(other))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    if let Some(is_read) = &self.is_read {
                        is_read.store(true, Relaxed);
                    }
                    if let Some(sending) = &self.sending {
                        sending.sent(&Bytes::new(), true);
                    }
                    return Poll::Ready(None);
                }
            }
        } else {
            self.activity.progress();
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        let is_end = self.is_end_stream();
        if let Some(sending) = &self.sending {
            sending.sent(&piece, is_end);
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        with_rest(self.body.size_hint(), self.rest.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::pin::pin;

    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn request_before_the_time_of_a_refusal_waits_unless_there_is_room() {
        let (activity, _stalled) = Activity::new(ConnectionLimits::default());
        assert!(!activity.wait_after_refusal(|| false).await);

        activity.refused(Refused { retry_after: 3600 });
        assert!(poll!(pin!(activity.wait_after_refusal(|| false))).is_pending());
        assert!(!activity.wait_after_refusal(|| true).await);
        assert!(!activity.wait_after_refusal(|| false).await, "it was answered since");

        activity.refused(Refused { retry_after: 0 });
        assert!(activity.wait_after_refusal(|| false).await, "the first request after the time");
        assert!(!activity.wait_after_refusal(|| false).await, "the second one is like any other");
    }
}
