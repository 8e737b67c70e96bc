//! A client that behaves well, next to those that do not.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{task::JoinHandle, time::interval};

use crate::wire::Connection;

/// How often it calls.
const PAUSE: Duration = Duration::from_millis(5);

/// A client that calls until it is stopped.
pub(crate) struct Healthy {
    ended: Arc<AtomicBool>,
    task: JoinHandle<Seen>,
}

/// What a healthy client has seen.
#[derive(Default)]
pub(crate) struct Seen {
    times: Vec<Duration>,
    pub(crate) errors: Vec<String>,
}

impl Healthy {
    /// Starts it on a connection that it keeps.
    pub(crate) async fn start(address: SocketAddr) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let is_ended = ended.clone();
        let mut connection = Connection::open(address).await.expect("the service accepts");
        let request = format!("GET /v3/pet/1 HTTP/1.1\r\nHost: {address}\r\napi_key: special-key\r\n\r\n");
        let task = tokio::spawn(async move {
            let (mut seen, mut pause) = (Seen::default(), interval(PAUSE));
            while !is_ended.load(Ordering::Relaxed) {
                pause.tick().await;
                let start = Instant::now();
                match connection.call(request.as_bytes()).await {
                    Ok(answer) if answer.status == 200 => seen.times.push(start.elapsed()),
                    Ok(answer) => seen.errors.push(format!("a healthy client got {}", answer.status)),
                    Err(error) => {
                        seen.errors.push(format!("a healthy client got no answer: {error}"));
                        break;
                    }
                }
            }
            seen
        });
        Healthy { ended, task }
    }

    pub(crate) async fn stop(self) -> Seen {
        self.ended.store(true, Ordering::Relaxed);
        self.task.await.expect("it does not panic")
    }
}

impl Seen {
    /// The time within which 99 of 100 calls were answered.
    pub(crate) fn p99(&self) -> Duration {
        percentile(self.times.clone(), 0.99)
    }
}

/// The time within which this share was done.
pub(crate) fn percentile(mut times: Vec<Duration>, share: f64) -> Duration {
    times.sort_unstable();
    let index = (times.len() as f64 * share) as usize;
    times.get(index.min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}
