//! Sends recorded spans to a collector.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use url::Url;

use crate::{otlp, queue::Queue, span::Traces};

/// The timeout of a request to the collector.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The pauses after failed requests. The last one is repeated.
const PAUSES: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(15),
];

/// How long a stop waits for the spans that are left. With the time for running requests, it is within what a service manager is
/// told to wait.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Where spans are sent, and how many.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The collector's address for traces, as in `http://127.0.0.1:4318/v1/traces`.
    pub address: Url,
    /// Headers of each request to it.
    pub headers: HeaderMap,
    /// Which part of the traces that start here is recorded, from 0 to 1.
    pub sample_ratio: f64,
    /// The most spans that wait to be sent, or are being sent.
    pub queue: usize,
}

/// Sends recorded spans while it runs.
pub struct Exporter {
    queue: Arc<Queue>,
    http: reqwest::Client,
    address: Url,
    headers: HeaderMap,
    /// Whether the last request failed.
    is_away: bool,
}

/// The result of a request.
enum Sent {
    Done,
    /// A retry may succeed.
    Failed(String),
    /// The collector does not take these spans.
    Rejected(String),
}

impl Traces {
    /// Traces, and what sends them. The random source fills bytes.
    pub fn start(
        settings: Settings,
        random: impl Fn(&mut [u8]) + Send + Sync + 'static,
    ) -> Result<(Traces, Exporter), reqwest::Error> {
        let Settings { address, mut headers, sample_ratio, queue } = settings;
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .user_agent(concat!("triptych/", env!("CARGO_PKG_VERSION")))
            .build()?;
        let queue = Arc::new(Queue::new(queue));
        let traces = Traces::new(sample_ratio, queue.clone(), random);
        Ok((traces, Exporter { queue, http, address, headers, is_away: false }))
    }
}

impl Exporter {
    /// Sends spans until `stop` completes, and then for a limited time those that are left.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let queue = self.queue.clone();
        let (stopping, stopped) = watch::channel(false);
        let end = async {
            stop.await;
            stopping.send_replace(true);
            sleep_until(Instant::now() + STOP_TIMEOUT).await;
        };
        tokio::select! {
            () = self.send_all(stopped) => {}
            () = end => {}
        }
        let spans = queue.drop_all();
        if spans > 0 {
            tracing::warn!(spans, "the last spans could not be sent to the collector");
        }
    }

    /// Sends batches until the program stops and none is left, or the collector is away.
    async fn send_all(&mut self, mut stop: watch::Receiver<bool>) {
        loop {
            self.queue.wait(&mut stop).await;
            let spans = self.queue.take();
            if !spans.is_empty() {
                match self.send_batch(otlp::encode(&spans).into(), &mut stop).await {
                    Some(sent) => self.queue.finish(sent),
                    None => return,
                }
            } else if *stop.borrow() {
                return;
            }
        }
    }

    /// Sends a batch, again and again while the collector is away. Gives whether it took the batch; `None` if it is away when the
    /// program stops.
    async fn send_batch(&mut self, body: Bytes, stop: &mut watch::Receiver<bool>) -> Option<bool> {
        for failures in 0.. {
            match self.send(body.clone()).await {
                Sent::Done => {
                    if std::mem::take(&mut self.is_away) {
                        tracing::info!("spans are sent to the collector again");
                    }
                    return Some(true);
                }
                Sent::Rejected(error) => {
                    tracing::warn!(error, "the collector rejected spans");
                    return Some(false);
                }
                Sent::Failed(error) => {
                    if !std::mem::replace(&mut self.is_away, true) {
                        tracing::warn!(error, "spans cannot be sent to the collector; retrying");
                    }
                }
            }
            if *stop.borrow() {
                return None;
            }
            let pause = PAUSES[failures.min(PAUSES.len() - 1)];
            tokio::select! {
                () = sleep_until(Instant::now() + pause) => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
        None
    }

    async fn send(&self, body: Bytes) -> Sent {
        let request = self.http.post(self.address.clone()).headers(self.headers.clone()).body(body);
        match request.send().await {
            Ok(response) => match response.status() {
                status if status.is_success() => Sent::Done,
                status if is_transient(status) => Sent::Failed(format!("it answered {status}")),
                status => Sent::Rejected(format!("it answered {status}")),
            },
            Err(error) if error.is_timeout() => Sent::Failed("it did not answer in time".into()),
            Err(error) if error.is_connect() => Sent::Failed("it cannot be reached".into()),
            Err(_) => Sent::Failed("the connection broke".into()),
        }
    }
}

/// Whether OTLP says that a request with this answer can be repeated.
fn is_transient(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}
