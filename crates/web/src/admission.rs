//! Admission control: an adaptive limit on the number of concurrent requests of a listener.
//!
//! A server that starts every request at once answers all of them late when there are too many. The limit follows Little's law: as many
//! requests run as the capacity of the service completes within the target latency. The capacity is the highest rate of answers of
//! the last seconds in which the service was busy: refusals use processor time and lower the rate, and a limit that followed the rate
//! down would refuse even more. The rate of a service that is not busy says nothing about its capacity.
//! A request above the limit is refused before its body is read and its credentials are checked, since a refusal is the cheapest
//! answer.
//!
//! A client that ignores `Retry-After` and sends its next request at once would get a refusal for each of them, and the refusals would
//! use the processor time of the answers. So the next request on a connection is delayed after a refusal, and its limit is a quarter
//! higher.
//!
//! A request that waits for something else than a processor or a database (its body, a password hash, an injected delay) calls
//! [`release_admission`], and no longer counts. Otherwise a few slow clients could use up the limit.

use std::{
    cell::Cell,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::{
    limits::ConnectionLimits,
    problem::{Problem, UNAVAILABLE},
};

/// How long the next request on a connection is delayed after a refusal.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// The rate of answers is measured over at least this time.
const WINDOW: Duration = Duration::from_millis(50);

/// The capacity of a service that was not busy yet, in answers per second.
const INITIAL: f64 = 10_000.0;

/// After this time a capacity that a busy service did not reach again counts half.
const HALF_LIFE: Duration = Duration::from_secs(2);

/// The end of the window is checked once for this many answers.
const ANSWERS: usize = 32;

/// How often the log says that requests are refused.
const REPORT: Duration = Duration::from_secs(10);

/// Admits the requests of a listener.
pub(crate) struct Admission {
    service: &'static str,
    /// The lowest value of the limit.
    least: usize,
    /// The target latency.
    latency: Duration,
    running: AtomicUsize,
    /// How many requests may run.
    limit: AtomicUsize,
    answered: AtomicUsize,
    window: Mutex<Window>,
    start: Instant,
    /// When the log may say again that requests are refused, in milliseconds since the start.
    next_report: AtomicU64,
    refused: metrics::Counter,
}

/// Since when answers are counted, how many there were before, and the capacity in answers per second.
struct Window {
    start: Instant,
    answered: usize,
    capacity: f64,
}

tokio::task_local! {
    /// The admission of the request that the task answers.
    static ADMITTED: Cell<Option<Admitted>>;
}

/// A request that runs.
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    /// Whether its end is a part of the capacity.
    counts: bool,
}

/// Marks the answer to a request that was not admitted.
#[derive(Clone, Copy)]
pub(crate) struct Refused;

impl Admission {
    pub(crate) fn new(service: &'static str, limits: ConnectionLimits) -> Self {
        let refused = metrics::counter!("triptych_requests_refused_total", "service" => service);
        // It exists from the start, so that the first refusal is seen as a change.
        refused.increment(0);
        let start = Instant::now();
        Admission {
            service,
            least: limits.requests,
            latency: limits.latency,
            running: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit(INITIAL, limits.latency, limits.requests)),
            answered: AtomicUsize::new(0),
            window: Mutex::new(Window { start, answered: 0, capacity: INITIAL }),
            start,
            next_report: AtomicU64::new(0),
            refused,
        }
    }

    /// Lets a request run, or refuses it. `is_after_refusal` says that the last request of its connection was refused.
    pub(crate) fn admit(self: &Arc<Self>, is_after_refusal: bool) -> Result<Admitted, Problem> {
        let limit = self.limit.load(Relaxed);
        let limit = if is_after_refusal { limit + limit / 4 } else { limit };
        if self.running.fetch_add(1, Relaxed) < limit {
            return Ok(Admitted { admission: self.clone(), counts: true });
        }
        self.end(false);
        Err(self.refuse())
    }

    fn refuse(&self) -> Problem {
        self.refused.increment(1);
        let now = self.start.elapsed();
        let (due, next) = (self.next_report.load(Relaxed), (now + REPORT).as_millis() as u64);
        let is_due = now.as_millis() as u64 >= due;
        if is_due && self.next_report.compare_exchange(due, next, Relaxed, Relaxed).is_ok() {
            tracing::warn!(service = self.service, "overloaded: requests are refused with 503");
        }
        Problem::new(&UNAVAILABLE, "The service has more requests than it can answer. Try again later.")
            .retry_after(1)
    }

    /// Counts a request that does not run any more. A refusal is not a part of the capacity.
    fn end(&self, counts: bool) {
        self.running.fetch_sub(1, Relaxed);
        if !counts {
            return;
        }
        let answered = self.answered.fetch_add(1, Relaxed) + 1;
        if answered.is_multiple_of(ANSWERS)
            && let Ok(mut window) = self.window.try_lock()
        {
            self.measure(&mut window, answered, Instant::now());
        }
    }

    /// Sets the limit by the capacity, which follows from the rate of answers since the start of the window.
    fn measure(&self, window: &mut Window, answered: usize, now: Instant) {
        let took = now.duration_since(window.start);
        if took >= WINDOW {
            let rate = answered.wrapping_sub(window.answered) as f64 / took.as_secs_f64();
            let is_busy = self.running.load(Relaxed) >= self.limit.load(Relaxed) / 2;
            let decay = if is_busy { 0.5_f64.powf(took.div_duration_f64(HALF_LIFE)) } else { 1.0 };
            let capacity = rate.max(window.capacity * decay);
            self.limit.store(limit(capacity, self.latency, self.least), Relaxed);
            *window = Window { start: now, answered, capacity };
        }
    }
}

/// As many requests as are answered within the target latency.
fn limit(capacity: f64, latency: Duration, least: usize) -> usize {
    least.max((capacity * latency.as_secs_f64()) as usize)
}

impl Admitted {
    /// Runs the work of the request, during which [`release_admission`] can end the admission.
    pub(crate) async fn scope<F: Future>(self, work: F) -> F::Output {
        ADMITTED.scope(Cell::new(Some(self)), work).await
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.admission.end(self.counts);
    }
}

/// Lets another request run instead of the one that this task answers, which goes on: call it before a wait for something else than a
/// processor or a database.
pub fn release_admission() {
    let _ = ADMITTED.try_with(Cell::take);
}

/// Says that the request that this task answers is refused after all, as by a database with too much to do.
pub(crate) fn refuse_admitted() {
    if let Some(mut admitted) = ADMITTED.with(Cell::take) {
        admitted.counts = false;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn admission(requests: usize, latency: Duration) -> Arc<Admission> {
        let limits = ConnectionLimits { requests, latency, ..ConnectionLimits::default() };
        Arc::new(Admission::new("test", limits))
    }

    #[test]
    fn request_above_the_limit_is_refused_until_another_ends() {
        let admission = admission(2, Duration::ZERO);
        let (first, _second) = (admission.admit(false).unwrap(), admission.admit(false).unwrap());
        let refused = admission.admit(false).err().unwrap();
        assert_eq!(refused.status(), http::StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(admission.running.load(Relaxed), 2);
        assert_eq!(admission.answered.load(Relaxed), 0);
        drop(first);
        assert_eq!(admission.answered.load(Relaxed), 1);
        assert!(admission.admit(false).is_ok());
    }

    #[test]
    fn request_after_a_refused_one_has_a_higher_limit() {
        let admission = admission(4, Duration::ZERO);
        let _running: Vec<_> = (0..4).map(|_| admission.admit(false).unwrap()).collect();
        assert!(admission.admit(false).is_err());
        let _more = admission.admit(true).unwrap();
        assert!(admission.admit(true).is_err());
    }

    #[test]
    fn as_many_run_as_are_answered_in_time() {
        let admission = admission(10, Duration::from_millis(100));
        assert_eq!(admission.limit.load(Relaxed), 1000);
        let mut window = admission.window.lock().unwrap();
        let mut now = window.start;
        let mut limit_after = |milliseconds: u64, answered: usize| {
            now += Duration::from_millis(milliseconds);
            let total = window.answered + answered;
            admission.measure(&mut window, total, now);
            admission.limit.load(Relaxed)
        };
        // 20,000 a second.
        assert_eq!(limit_after(50, 1000), 2000);
        // Too early to say.
        assert_eq!(limit_after(10, 10), 2000);
        // A service with little to do still has its capacity.
        assert_eq!(limit_after(60_000, 60), 2000);
        admission.running.store(1000, Relaxed);
        // 3,000 a second: the capacity is still nearly the one of before.
        assert_eq!(limit_after(100, 300), 1931);
        assert_eq!(limit_after(2000, 6000), 965);
        // A slow service may always do some at once.
        assert_eq!(limit_after(20_000, 300), 10);
        admission.running.store(0, Relaxed);
    }

    #[tokio::test]
    async fn request_that_is_refused_after_all_is_no_answer() {
        let admission = admission(1, Duration::ZERO);
        admission.admit(false).unwrap().scope(async { refuse_admitted() }).await;
        assert_eq!((admission.running.load(Relaxed), admission.answered.load(Relaxed)), (0, 0));
        admission.admit(false).unwrap().scope(async {}).await;
        assert_eq!((admission.running.load(Relaxed), admission.answered.load(Relaxed)), (0, 1));
    }

    #[tokio::test]
    async fn released_request_lets_another_run() {
        let admission = admission(1, Duration::ZERO);
        let other = admission.clone();
        let work = async move {
            assert!(other.admit(false).is_err());
            release_admission();
            release_admission();
            other.admit(false).is_ok()
        };
        assert!(admission.admit(false).unwrap().scope(work).await);
        release_admission();
        assert_eq!(admission.running.load(Relaxed), 0);
    }
}
