//! Recorded spans until they are sent. Their number is limited: above it, new spans are dropped.

use std::sync::{Mutex, MutexGuard, PoisonError};

use metrics::Counter;
use tokio::{
    sync::{Notify, watch},
    time::{Duration, Instant, sleep_until},
};

use crate::recorded::Recorded;

/// How many spans are sent at once.
const BATCH: usize = 512;

/// How long a span waits for others to be sent with it.
const DELAY: Duration = Duration::from_secs(1);

pub(crate) struct Queue {
    spans: Mutex<Spans>,
    /// Wakes the exporter: there is a first span, or a batch.
    filled: Notify,
    most: usize,
    sent: Counter,
    dropped: Counter,
}

#[derive(Default)]
struct Spans {
    waiting: Vec<Recorded>,
    /// How many are being sent.
    in_flight: usize,
}

impl Queue {
    pub(crate) fn new(most: usize) -> Self {
        let counter = |outcome| metrics::counter!("triptych_trace_spans_total", "outcome" => outcome);
        let queue = Queue {
            spans: Mutex::default(),
            filled: Notify::new(),
            most,
            sent: counter("sent"),
            dropped: counter("dropped"),
        };
        // The counters exist from the start, so that the first span is seen as a change.
        queue.sent.increment(0);
        queue.dropped.increment(0);
        queue
    }

    pub(crate) fn push(&self, span: Recorded) {
        let mut spans = self.lock();
        if spans.waiting.len() + spans.in_flight >= self.most {
            drop(spans);
            self.dropped.increment(1);
            return;
        }
        spans.waiting.push(span);
        let waiting = spans.waiting.len();
        drop(spans);
        if waiting == 1 || waiting == BATCH {
            self.filled.notify_one();
        }
    }

    /// Waits until there is a batch, until the first span has waited for its time, or until the program stops.
    pub(crate) async fn wait(&self, stop: &mut watch::Receiver<bool>) {
        while self.waiting() == 0 {
            tokio::select! {
                () = self.filled.notified() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
        let deadline = Instant::now() + DELAY;
        while self.waiting() < BATCH {
            tokio::select! {
                () = self.filled.notified() => {}
                () = sleep_until(deadline) => return,
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
    }

    /// Takes a batch to send it.
    pub(crate) fn take(&self) -> Vec<Recorded> {
        let mut spans = self.lock();
        let number = spans.waiting.len().min(BATCH);
        spans.in_flight = number;
        spans.waiting.drain(..number).collect()
    }

    /// Counts the batch that was taken.
    pub(crate) fn finish(&self, sent: bool) {
        let number = std::mem::take(&mut self.lock().in_flight);
        if sent { &self.sent } else { &self.dropped }.increment(number as u64);
    }

    /// Drops all spans, and gives their number.
    pub(crate) fn drop_all(&self) -> usize {
        let spans = std::mem::take(&mut *self.lock());
        let number = spans.waiting.len() + spans.in_flight;
        self.dropped.increment(number as u64);
        number
    }

    fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, Spans> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
