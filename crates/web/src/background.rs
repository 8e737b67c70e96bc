//! Background tasks of a service. A task that panics or ends is restarted, and the service is not ready until then.

use std::{
    collections::BTreeSet,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{FutureExt, future::BoxFuture};
use jiff::SignedDuration;
use tokio::sync::watch;

use crate::{
    clock::Clock,
    panic::panic_message,
    problem::{Problem, Result, UNAVAILABLE},
};

/// How long a task stays down the first time. Twice as long each time after that, up to the longest.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// A task that has run for as long as this has recovered: its next pause is the first again.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// The background tasks of a service. Cloning it is cheap.
#[derive(Clone)]
pub struct Background {
    service: &'static str,
    clock: Clock,
    /// Counts the pauses: a task of a service whose clock is frozen is started again as well.
    machine: Clock,
    down: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Background {
    pub fn new(service: &'static str, clock: Clock) -> Self {
        Background { service, machine: clock.of_machine(), clock, down: Arc::default() }
    }

    /// Keeps a task running until `stop` comes. The work is handed a future that ends then, and may finish what it is doing;
    /// if it ends before, it is started again.
    pub async fn keep<W: Future<Output = ()>>(
        &self,
        task: &'static str,
        stop: impl Future<Output = ()>,
        mut work: impl FnMut(BoxFuture<'static, ()>) -> W,
    ) {
        let restarts = metrics::counter!(
            "triptych_background_restarts_total", "service" => self.service, "task" => task,
        );
        // Shown from the start, so that a first restart is seen as a change.
        restarts.increment(0);
        let stopping = watch::Sender::new(false);
        let is_stopping = || *stopping.borrow();
        let stop = async {
            stop.await;
            stopping.send_replace(true);
        };
        let mut stop = std::pin::pin!(stop.fuse());
        let mut pause = FIRST_PAUSE;
        loop {
            let began = self.machine.now();
            let told = until_true(stopping.subscribe());
            let mut running = std::pin::pin!(AssertUnwindSafe(async { work(told).await }).catch_unwind());
            let ended = loop {
                tokio::select! {
                    biased;
                    () = &mut stop, if !is_stopping() => {}
                    ended = &mut running => break ended,
                }
            };
            if is_stopping() {
                return;
            }
            let cause = match &ended {
                Ok(()) => "it ended",
                Err(panic) => panic_message(panic.as_ref()),
            };
            let now = self.machine.now();
            if now.duration_since(began) >= LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            self.down().insert(task);
            tracing::error!(
                service = self.service,
                task,
                cause,
                seconds = pause.as_secs(),
                "a background task is down; it is started again after these seconds"
            );
            tokio::select! {
                biased;
                () = &mut stop => {}
                () = self.machine.wait_until(now + pause) => {}
            }
            self.down().remove(task);
            if is_stopping() {
                return;
            }
            restarts.increment(1);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The service's clock.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Refuses while a task is down.
    pub fn check(&self) -> Result<()> {
        let down = self.down().iter().copied().collect::<Vec<_>>().join(", ");
        if down.is_empty() {
            return Ok(());
        }
        let detail = format!("A background task of this service is down, and is started again: {down}.");
        Err(Problem::new(&UNAVAILABLE, detail).retry_after(5))
    }

    fn down(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.down.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn until_true(mut said: watch::Receiver<bool>) -> BoxFuture<'static, ()> {
    async move {
        // The sender lives as long as the work.
        let _ = said.wait_for(|said| *said).await;
    }
    .boxed()
}
