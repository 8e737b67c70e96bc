//! Admission control: an adaptive limit on the number of requests that a listener has taken on.
//!
//! A server that starts every request at once answers all of them late when there are too many. So a fixed number run at the same time,
//! as many as keep the processors and the database busy; others wait for their turn in the order of their arrival, so that all wait
//! for the same time. The limit on both together follows Little's law: as many as the capacity of the service completes within the
//! target latency. The capacity is the highest rate of answers of the last seconds in which the service was busy: refusals use processor
//! time and lower the rate, and a limit that followed the rate down would refuse even more. The rate of a service that is not busy says
//! nothing about its capacity.
//! A request above the limit is refused before its body is read and its credentials are checked, since a refusal is the cheapest
//! answer.
//!
//! Refusals use the processor time of answers. So a client that ignores `Retry-After` gains nothing: its next request on the connection
//! is delayed until then, unless the service has room for it. The first request after that time has a limit that is a quarter higher.
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

use tokio::sync::Semaphore;

use crate::{
    limits::ConnectionLimits,
    problem::{Problem, UNAVAILABLE},
};

/// The rate of answers is measured over at least this time.
const WINDOW: Duration = Duration::from_millis(50);

/// The assumed capacity of a service that was not busy yet, in answers per second.
const INITIAL: f64 = 10_000.0;

/// After this time a capacity that a busy service did not reach again counts half.
const HALF_LIFE: Duration = Duration::from_secs(2);

/// After how many seconds a refused client may try again.
const RETRY_AFTER: u64 = 1;

/// The end of the window is checked once for this many answers.
const ANSWERS: usize = 32;

/// How often the log says that requests are refused.
const REPORT: Duration = Duration::from_secs(10);

/// Admits the requests of a listener.
pub(crate) struct Admission {
    service: &'static str,
    /// How many requests run at the same time: the lowest value of the limit.
    least: usize,
    /// The target latency.
    latency: Duration,
    /// Permits to run, which are given in the order of arrival.
    permits: Semaphore,
    /// How many requests run or wait for a permit.
    admitted: AtomicUsize,
    /// How many may.
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
    /// Whether the capacity is a rate that was measured, and not assumed.
    is_measured: bool,
    /// Whether the service was busy at the start.
    was_busy: bool,
}

tokio::task_local! {
    /// The admission of the request that the task answers.
    static ADMITTED: Cell<Option<Admitted>>;
}

/// A request that runs or waits for its turn.
pub(crate) struct Admitted {
    admission: Arc<Admission>,
    has_permit: bool,
    /// Whether its end is a part of the capacity: from the start of its work on.
    counts: bool,
}

/// How the edge gets the admission of a request.
pub(crate) enum Entry {
    /// It was decided before the request was read.
    Decided(Decision),
    /// It is to be decided. `is_after_refusal` as for [`Admission::admit`].
    Open { is_after_refusal: bool },
}

/// Whether a request was admitted, and when it arrived.
pub(crate) struct Decision {
    pub(crate) arrival: Instant,
    pub(crate) admitted: Result<Admitted, Refused>,
}

/// Marks the answer to a request that was not admitted: after so many seconds the client may try again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused {
    pub(crate) retry_after: u64,
}

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
            permits: Semaphore::new(limits.requests),
            admitted: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit(INITIAL, limits.latency, limits.requests)),
            answered: AtomicUsize::new(0),
            window: Mutex::new(Window {
                start,
                answered: 0,
                capacity: INITIAL,
                is_measured: false,
                was_busy: false,
            }),
            start,
            next_report: AtomicU64::new(0),
            refused,
        }
    }

    /// Whether a request would be admitted now.
    pub(crate) fn has_room(&self) -> bool {
        self.admitted.load(Relaxed) < self.limit.load(Relaxed)
    }

    /// Waits until it is the turn of a request, or refuses it at once. `is_after_refusal` says that it is the first of its connection
    /// after the time of a refusal.
    pub(crate) async fn admit(self: Arc<Self>, is_after_refusal: bool) -> Result<Admitted, Refused> {
        let limit = self.limit.load(Relaxed);
        let limit = if is_after_refusal { limit + limit / 4 } else { limit };
        if self.admitted.fetch_add(1, Relaxed) >= limit {
            self.admitted.fetch_sub(1, Relaxed);
            return Err(self.refuse());
        }
        // Counted before the wait: the client may disconnect meanwhile.
        let mut admitted = Admitted { admission: self.clone(), has_permit: false, counts: false };
        // The semaphore is never closed.
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
            admitted.has_permit = true;
        }
        Ok(admitted)
    }

    fn refuse(&self) -> Refused {
        self.refused.increment(1);
        let now = self.start.elapsed();
        let (due, next) = (self.next_report.load(Relaxed), (now + REPORT).as_millis() as u64);
        let is_due = now.as_millis() as u64 >= due;
        if is_due && self.next_report.compare_exchange(due, next, Relaxed, Relaxed).is_ok() {
            tracing::warn!(service = self.service, "overloaded: requests are refused with 503");
        }
        Refused { retry_after: RETRY_AFTER }
    }

    /// Counts an answer.
    fn answer(&self) {
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
            // When all permits are taken, requests wait.
            let is_busy = self.admitted.load(Relaxed) >= self.least.min(self.limit.load(Relaxed) / 2);
            let known = match (is_busy && window.was_busy, window.is_measured) {
                (true, true) => window.capacity * 0.5_f64.powf(took.div_duration_f64(HALF_LIFE)),
                // A slow service would have admitted several times too many until the assumed capacity had decayed.
                (true, false) => 0.0,
                (false, _) => window.capacity,
            };
            let capacity = rate.max(known);
            self.limit.store(limit(capacity, self.latency, self.least), Relaxed);
            let is_measured = window.is_measured || rate >= known;
            *window = Window { start: now, answered, capacity, is_measured, was_busy: is_busy };
        }
    }
}

/// As many requests as are answered within the target latency, and at least those that run at the same time.
fn limit(capacity: f64, latency: Duration, least: usize) -> usize {
    least.max((capacity * latency.as_secs_f64()) as usize)
}

impl Refused {
    pub(crate) fn problem(self) -> Problem {
        Problem::new(&UNAVAILABLE, "The service has more requests than it can answer. Try again later.")
            .retry_after(self.retry_after)
    }
}

impl Admitted {
    /// Runs the work of the request, during which [`release_admission`] can end the admission.
    pub(crate) async fn scope<F: Future>(mut self, work: F) -> F::Output {
        self.counts = true;
        ADMITTED.scope(Cell::new(Some(self)), work).await
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.admission.admitted.fetch_sub(1, Relaxed);
        if self.has_permit {
            self.admission.permits.add_permits(1);
        }
        if self.counts {
            self.admission.answer();
        }
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
    use std::pin::pin;

    use futures_util::{FutureExt, poll};

    use super::*;

    fn admission(requests: usize, latency: Duration) -> Arc<Admission> {
        let limits = ConnectionLimits { requests, latency, ..ConnectionLimits::default() };
        Arc::new(Admission::new("test", limits))
    }

    /// A request that is admitted or refused without a wait, and then works.
    fn at_once(admission: &Arc<Admission>, is_after_refusal: bool) -> Result<Admitted, Refused> {
        let mut admitted = admission.clone().admit(is_after_refusal).now_or_never().unwrap()?;
        admitted.counts = true;
        Ok(admitted)
    }

    #[test]
    fn request_above_the_limit_is_refused_until_another_ends() {
        let admission = admission(2, Duration::ZERO);
        let (first, _second) = (at_once(&admission, false).unwrap(), at_once(&admission, false).unwrap());
        let refused = at_once(&admission, false).err().unwrap();
        assert_eq!(refused.retry_after, 1);
        assert_eq!(refused.problem().status(), http::StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(admission.admitted.load(Relaxed), 2);
        assert_eq!(admission.answered.load(Relaxed), 0);
        drop(first);
        assert_eq!(admission.answered.load(Relaxed), 1);
        assert!(at_once(&admission, false).is_ok());
    }

    #[tokio::test]
    async fn requests_that_wait_run_in_the_order_of_their_arrival() {
        // 10,000 a second are assumed: one runs, and two wait.
        let admission = admission(1, Duration::from_micros(350));
        let running = at_once(&admission, false).unwrap();
        let (mut first, mut second) =
            (pin!(admission.clone().admit(false)), pin!(admission.clone().admit(false)));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        assert!(at_once(&admission, false).is_err());
        drop(running);
        assert!(poll!(&mut second).is_pending());
        let running = first.now_or_never().unwrap();
        assert!(poll!(&mut second).is_pending());
        drop(running);
        assert!(second.now_or_never().is_some());
        // The other two did not work.
        assert_eq!((admission.admitted.load(Relaxed), admission.answered.load(Relaxed)), (0, 1));
    }

    #[tokio::test]
    async fn request_whose_client_disconnects_no_longer_waits() {
        let admission = admission(1, Duration::from_micros(200));
        let running = at_once(&admission, false).unwrap();
        let mut waiting = Box::pin(admission.clone().admit(false));
        assert!(poll!(&mut waiting).is_pending());
        assert!(!admission.has_room());
        drop(waiting);
        assert!(admission.has_room());
        drop(running);
        assert_eq!((admission.admitted.load(Relaxed), admission.answered.load(Relaxed)), (0, 1));
        assert!(at_once(&admission, false).is_ok());
    }

    #[tokio::test]
    async fn request_after_a_refused_one_has_a_higher_limit() {
        let admission = admission(4, Duration::ZERO);
        let _running: Vec<_> = (0..4).map(|_| at_once(&admission, false).unwrap()).collect();
        assert!(at_once(&admission, false).is_err());
        let mut more = pin!(admission.clone().admit(true));
        assert!(poll!(&mut more).is_pending());
        assert!(at_once(&admission, true).is_err());
    }

    /// Measures after some time with this number of answers, and gives the limit.
    fn limit_after(admission: &Admission, milliseconds: u64, answered: usize) -> usize {
        let mut window = admission.window.lock().unwrap();
        let (total, now) = (window.answered + answered, window.start + Duration::from_millis(milliseconds));
        admission.measure(&mut window, total, now);
        admission.limit.load(Relaxed)
    }

    #[test]
    fn as_many_are_admitted_as_are_answered_in_time() {
        let admission = admission(10, Duration::from_millis(100));
        assert_eq!(admission.limit.load(Relaxed), 1000);
        // 20,000 a second.
        assert_eq!(limit_after(&admission, 50, 1000), 2000);
        // Too early to say.
        assert_eq!(limit_after(&admission, 10, 10), 2000);
        // A service with little to do still has its capacity.
        assert_eq!(limit_after(&admission, 60_000, 60), 2000);
        admission.admitted.store(1000, Relaxed);
        // For a part of this time it had little to do.
        assert_eq!(limit_after(&admission, 10_000, 300), 2000);
        // 3,000 a second: the capacity is still nearly the one of before.
        assert_eq!(limit_after(&admission, 100, 300), 1931);
        assert_eq!(limit_after(&admission, 2000, 6000), 965);
        // A slow service may always do some at once.
        assert_eq!(limit_after(&admission, 20_000, 300), 10);
        admission.admitted.store(0, Relaxed);
    }

    #[test]
    fn assumed_capacity_ends_with_the_first_measurement() {
        let admission = admission(10, Duration::from_millis(100));
        // 10,000 a second are assumed.
        assert_eq!(limit_after(&admission, 100, 32), 1000);
        admission.admitted.store(10, Relaxed);
        assert_eq!(limit_after(&admission, 1000, 2000), 1000);
        assert_eq!(limit_after(&admission, 50, 100), 200);
        // From now on it falls slowly.
        assert_eq!(limit_after(&admission, 2000, 32), 100);
        admission.admitted.store(0, Relaxed);
    }

    #[tokio::test]
    async fn request_that_is_refused_after_all_is_no_answer() {
        let admission = admission(1, Duration::ZERO);
        at_once(&admission, false).unwrap().scope(async { refuse_admitted() }).await;
        assert_eq!((admission.admitted.load(Relaxed), admission.answered.load(Relaxed)), (0, 0));
        at_once(&admission, false).unwrap().scope(async {}).await;
        assert_eq!((admission.admitted.load(Relaxed), admission.answered.load(Relaxed)), (0, 1));
    }

    #[tokio::test]
    async fn released_request_lets_another_run() {
        let admission = admission(1, Duration::ZERO);
        let other = admission.clone();
        let work = async move {
            assert!(at_once(&other, false).is_err());
            release_admission();
            release_admission();
            at_once(&other, false).is_ok()
        };
        assert!(at_once(&admission, false).unwrap().scope(work).await);
        release_admission();
        assert_eq!(admission.admitted.load(Relaxed), 0);
    }
}
