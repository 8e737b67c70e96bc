//! Admits a request before it is read.
//!
//! A request that was read has some kilobytes of state. If a thousand of them waited for their turn, this memory would be in no cache
//! of the processor when the turn comes. So the next request of a connection waits in the buffer of the kernel, also until the
//! `Retry-After` of a refusal is over. The first one is read at once, since it may use HTTP/2, which has many requests at the same time
//! on one connection; the edge admits those.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use tokio::{io::ReadBuf, net::TcpStream};

use super::activity::{Activity, WaitingRequest};
use crate::admission::{Admission, Admitted, Decision, Refused};

pub(super) struct EarlyAdmission {
    admission: Arc<Admission>,
    activity: Activity,
    waiting: Option<Waiting>,
}

/// A request that has arrived and waits for its turn.
struct Waiting {
    arrival: Instant,
    admit: Pin<Box<dyn Future<Output = Result<Admitted, Refused>> + Send>>,
    _request: WaitingRequest,
}

impl EarlyAdmission {
    pub(super) fn new(admission: Arc<Admission>, activity: Activity) -> Self {
        EarlyAdmission { admission, activity, waiting: None }
    }

    /// Ready when the stream can be read: at once while a request is being read or answered.
    pub(super) fn poll_turn(&mut self, stream: &TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            None => {
                if !self.activity.admits_early() {
                    return Poll::Ready(());
                }
                if ready!(stream.poll_read_ready(cx)).is_err() {
                    // Reading it says why.
                    return Poll::Ready(());
                }
                let mut waiting = Waiting::new(self.admission.clone(), self.activity.clone());
                if let Poll::Ready(decision) = waiting.poll(cx) {
                    self.activity.set_decision(decision);
                    return Poll::Ready(());
                }
                // A client that has disconnected needs no turn.
                let mut byte = [0];
                if !matches!(ready!(stream.poll_peek(cx, &mut ReadBuf::new(&mut byte))), Ok(1)) {
                    return Poll::Ready(());
                }
                self.waiting.insert(waiting)
            }
        };
        let decision = ready!(waiting.poll(cx));
        self.waiting = None;
        self.activity.set_decision(decision);
        Poll::Ready(())
    }

    /// Releases the admission of a request of which no more has arrived.
    pub(super) fn release(&self) {
        self.activity.take_decision();
    }
}

impl Waiting {
    fn new(admission: Arc<Admission>, activity: Activity) -> Self {
        let request = activity.wait();
        let admit = Box::pin(async move {
            let is_after_refusal = activity.wait_after_refusal(|| admission.has_room()).await;
            admission.admit(is_after_refusal).await
        });
        Waiting { arrival: Instant::now(), admit, _request: request }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Decision> {
        let admitted = ready!(self.admit.as_mut().poll(cx));
        Poll::Ready(Decision { arrival: self.arrival, admitted })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{future::poll_fn, time::Duration};

    use futures_util::FutureExt;
    use http::Version;
    use tokio::{io::AsyncWriteExt, net::TcpListener};

    use super::*;
    use crate::limits::ConnectionLimits;

    struct Connection {
        client: TcpStream,
        stream: TcpStream,
        activity: Activity,
        early: EarlyAdmission,
        admission: Arc<Admission>,
    }

    impl Connection {
        /// One whose first request was answered. One request may run, and the others of this number wait.
        async fn after_a_request(requests: u64) -> Self {
            let latency = Duration::from_micros(requests * 100);
            let limits = ConnectionLimits { requests: 1, latency, ..ConnectionLimits::default() };
            let admission = Arc::new(Admission::new("test", limits));
            let (activity, _) = Activity::new(limits);
            drop(activity.begin(Version::HTTP_11));
            activity.admit_next_early(true);
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let stream = listener.accept().await.unwrap().0;
            // All of the first request was read.
            assert!(stream.try_read(&mut [0]).is_err());
            let early = EarlyAdmission::new(admission.clone(), activity.clone());
            Connection { client, stream, activity, early, admission }
        }

        async fn arrives(&mut self) {
            self.client.write_all(b"GET").await.unwrap();
            self.stream.readable().await.unwrap();
        }

        async fn turn(&mut self) {
            poll_fn(|cx| self.early.poll_turn(&self.stream, cx)).await;
        }

        async fn runs(&self) -> Admitted {
            self.admission.clone().admit(false).await.ok().unwrap()
        }

        /// Whether another request would run at once.
        fn is_free(&self) -> bool {
            self.admission.clone().admit(false).now_or_never().is_some_and(|admitted| admitted.is_ok())
        }
    }

    #[tokio::test]
    async fn request_waits_for_its_turn_before_it_is_read() {
        let mut connection = Connection::after_a_request(3).await;
        let other = connection.runs().await;
        connection.arrives().await;
        assert!(connection.turn().now_or_never().is_none());
        assert!(!connection.activity.admits_early(), "a request waits");
        let waits = Instant::now();
        drop(other);
        connection.turn().await;
        assert!(!connection.is_free());
        let decision = connection.activity.take_decision().unwrap();
        assert!(decision.arrival <= waits);
        let admitted = decision.admitted.ok().unwrap();
        let _running = connection.activity.begin(Version::HTTP_11);
        drop(admitted);
        assert!(connection.is_free());
        // While a request runs, what arrives is its body.
        let _other = connection.runs().await;
        connection.turn().now_or_never().unwrap();
    }

    #[tokio::test]
    async fn connection_without_a_request_takes_no_turn() {
        let mut connection = Connection::after_a_request(3).await;
        assert!(connection.turn().now_or_never().is_none());
        assert!(connection.is_free());
        connection.arrives().await;
        connection.turn().await;
        assert!(!connection.is_free());
        // The rest of the head has not arrived.
        connection.early.release();
        assert!(connection.is_free());
    }

    #[tokio::test]
    async fn request_above_the_limit_is_read_and_refused() {
        let mut connection = Connection::after_a_request(1).await;
        let _other = connection.runs().await;
        connection.arrives().await;
        connection.turn().now_or_never().unwrap();
        assert_eq!(connection.activity.take_decision().unwrap().admitted.err().unwrap().retry_after, 1);
    }

    #[tokio::test]
    async fn request_before_the_time_of_a_refusal_is_not_read() {
        let mut connection = Connection::after_a_request(1).await;
        let _other = connection.runs().await;
        connection.activity.refused(Refused { retry_after: 3600 });
        connection.arrives().await;
        assert!(connection.turn().now_or_never().is_none());
    }

    #[tokio::test]
    async fn client_that_has_disconnected_does_not_wait() {
        let mut connection = Connection::after_a_request(3).await;
        let _other = connection.runs().await;
        connection.client.shutdown().await.unwrap();
        connection.stream.readable().await.unwrap();
        connection.turn().now_or_never().unwrap();
        assert!(connection.activity.take_decision().is_none());
    }

    #[tokio::test]
    async fn client_that_disconnects_takes_no_turn() {
        let mut connection = Connection::after_a_request(3).await;
        let other = connection.runs().await;
        connection.arrives().await;
        assert!(connection.turn().now_or_never().is_none());
        let Connection { early, stream, activity, admission, .. } = connection;
        drop((early, stream, activity, other));
        assert!(admission.admit(false).now_or_never().unwrap().is_ok());
    }
}
