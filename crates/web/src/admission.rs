//! Admission: how many requests of a listener run at the same time, and how long others may wait.
//!
//! A request is admitted before its body is read and before its credentials are checked. Others wait in the order in which they came.
//! A request whose wait would be too long is refused at once: a refusal is the cheapest answer, and an answer that comes too late has
//! cost as much as one in time.
//!
//! A client that sends its next request at once, in spite of `Retry-After`, would get a refusal for each of them, and the refusals
//! would take the time of the answers. So the next request on the connection of a refused one waits before it is considered, and may
//! then wait longer than others.
//!
//! A request that waits for something else than a processor or a database (its body, a password that is hashed, a delay on purpose)
//! gives its permit back with [`release_admission`] and goes on without one. Otherwise a few slow clients could take all permits.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{
    limits::ConnectionLimits,
    problem::{Problem, UNAVAILABLE},
};

/// The weight of the last request in the usual time: one of this many.
const WEIGHT: u64 = 64;

/// A request may wait this many times longer than was expected, for example because the database stands still.
const PATIENCE: u32 = 4;

/// How long the next request on a connection waits after a refusal.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// How much longer it may wait then.
const LONGER: f64 = 1.5;

/// Marks the answer to a request that was not admitted.
#[derive(Clone, Copy)]
pub(crate) struct Refused;

/// How often the log says that requests are refused.
const REPORT: Duration = Duration::from_secs(10);

/// Admits the requests of a listener.
pub(crate) struct Admission {
    service: &'static str,
    permits: Arc<Semaphore>,
    running: usize,
    longest_wait: Duration,
    waiting: AtomicUsize,
    /// The usual time for which a request has its permit, in nanoseconds.
    usual: AtomicU64,
    start: Instant,
    /// When the log may say again that requests are refused, in milliseconds since the start.
    next_report: AtomicU64,
    refused: metrics::Counter,
}

tokio::task_local! {
    /// The admission of the request that the task answers.
    static ADMITTED: Cell<Option<Admitted>>;
}

/// The permit of a request that runs.
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    start: Instant,
    _permit: OwnedSemaphorePermit,
}

/// Counts a request that waits.
struct Waiting<'a>(&'a AtomicUsize);

impl Admission {
    pub(crate) fn new(service: &'static str, limits: ConnectionLimits) -> Self {
        let refused = metrics::counter!("triptych_requests_refused_total", "service" => service);
        // It exists from the start, so that the first refusal is seen as a change.
        refused.increment(0);
        Admission {
            service,
            permits: Arc::new(Semaphore::new(limits.requests)),
            running: limits.requests,
            longest_wait: limits.request_wait,
            waiting: AtomicUsize::new(0),
            usual: AtomicU64::new(0),
            start: Instant::now(),
            next_report: AtomicU64::new(0),
            refused,
        }
    }

    /// Waits until the request may run, or refuses it. `is_after_refusal` says that the last request of its connection was refused.
    pub(crate) async fn admit(self: &Arc<Self>, is_after_refusal: bool) -> Result<Admitted, Problem> {
        let permit = match self.permits.clone().try_acquire_owned() {
            Ok(permit) => permit,
            // Boxed: otherwise the future of every request would have room for this.
            Err(_) => Box::pin(self.wait(is_after_refusal)).await?,
        };
        Ok(Admitted { admission: self.clone(), start: Instant::now(), _permit: permit })
    }

    async fn wait(&self, is_after_refusal: bool) -> Result<OwnedSemaphorePermit, Problem> {
        let position = self.waiting.fetch_add(1, Relaxed);
        let _waiting = Waiting(&self.waiting);
        let longest = if is_after_refusal { self.longest_wait.mul_f64(LONGER) } else { self.longest_wait };
        if self.expected_wait(position) > longest {
            return Err(self.refuse());
        }
        match timeout(self.longest_wait * PATIENCE, self.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(self.refuse()),
        }
    }

    /// How long a request waits that has this many before it: as many as run give their permits back in the usual time.
    fn expected_wait(&self, position: usize) -> Duration {
        let ahead = position as u64 + 1;
        Duration::from_nanos(self.usual.load(Relaxed).saturating_mul(ahead) / self.running as u64)
    }

    fn refuse(&self) -> Problem {
        self.refused.increment(1);
        let now = self.start.elapsed();
        let due = self.next_report.load(Relaxed);
        let next = (now + REPORT).as_millis() as u64;
        if now.as_millis() as u64 >= due
            && self.next_report.compare_exchange(due, next, Relaxed, Relaxed).is_ok()
        {
            tracing::warn!(service = self.service, "overloaded: requests are refused with 503");
        }
        Problem::new(&UNAVAILABLE, "The service has more requests than it can answer. Try again later.")
            .retry_after(1)
    }

    /// Takes over how long a request had its permit.
    fn measure(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / WEIGHT;
        let usual = self.usual.load(Relaxed);
        // Another request may do the same meanwhile: one of many measurements is lost then.
        self.usual.store(usual - usual / WEIGHT + took, Relaxed);
    }
}

impl Admitted {
    /// Runs the work of the request, which [`release_admission`] can end.
    pub(crate) async fn scope<F: Future>(self, work: F) -> F::Output {
        ADMITTED.scope(Cell::new(Some(self)), work).await
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.admission.measure(self.start.elapsed());
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Lets another request run instead of the one that this task answers, which goes on without a permit: call it before a wait for
/// something else than a processor or a database.
pub fn release_admission() {
    let _ = ADMITTED.try_with(Cell::take);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures_util::{FutureExt, poll};

    use super::*;

    fn admission(requests: usize, request_wait: Duration) -> Arc<Admission> {
        let limits = ConnectionLimits { requests, request_wait, ..ConnectionLimits::default() };
        Arc::new(Admission::new("test", limits))
    }

    #[tokio::test]
    async fn requests_run_in_the_order_in_which_they_came() {
        let admission = admission(2, Duration::from_secs(60));
        let first = admission.admit(false).await.unwrap();
        let _second = admission.admit(false).await.unwrap();
        let (mut third, mut fourth) = (Box::pin(admission.admit(false)), Box::pin(admission.admit(false)));
        assert!(poll!(&mut third).is_pending() && poll!(&mut fourth).is_pending());
        assert_eq!(admission.waiting.load(Relaxed), 2);
        drop(first);
        assert!(poll!(&mut fourth).is_pending());
        let third = third.now_or_never().unwrap().unwrap();
        drop(third);
        assert!(fourth.now_or_never().unwrap().is_ok());
        assert_eq!(admission.waiting.load(Relaxed), 0);
    }

    #[tokio::test]
    async fn request_is_refused_when_those_before_it_take_too_long() {
        let admission = admission(2, Duration::from_millis(100));
        // Two run at the same time, so the first that waits expects half of this.
        admission.usual.store(Duration::from_millis(80).as_nanos() as u64, Relaxed);
        let _running = [admission.admit(false).await.unwrap(), admission.admit(false).await.unwrap()];
        let mut waiting = [Box::pin(admission.admit(false)), Box::pin(admission.admit(false))];
        for waiting in &mut waiting {
            assert!(poll!(waiting).is_pending());
        }
        let refused = admission.admit(false).now_or_never().unwrap().err().unwrap();
        assert_eq!(refused.status(), http::StatusCode::SERVICE_UNAVAILABLE);
        // A client that disconnects makes room.
        let [_, left] = waiting;
        drop(left);
        let mut next = Box::pin(admission.admit(false));
        assert!(poll!(&mut next).is_pending());
    }

    #[tokio::test]
    async fn released_request_lets_another_run() {
        let admission = admission(1, Duration::ZERO);
        let first = admission.admit(false).await.unwrap();
        let other = admission.clone();
        let work = async move {
            assert!(other.admit(false).await.is_err());
            release_admission();
            release_admission();
            other.admit(false).await.map(|admitted| drop(admitted.admission.clone()))
        };
        assert!(first.scope(work).await.is_ok());
        release_admission();
        assert!(admission.admit(false).await.is_ok());
    }

    #[test]
    fn usual_time_follows_the_requests() {
        let admission = admission(1, Duration::ZERO);
        for _ in 0..1000 {
            admission.measure(Duration::from_millis(10));
        }
        let usual = Duration::from_nanos(admission.usual.load(Relaxed));
        assert!((Duration::from_micros(9990)..=Duration::from_millis(10)).contains(&usual), "{usual:?}");
    }
}
