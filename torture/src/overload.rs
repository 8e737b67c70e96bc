//! More load than the program can do. The clients send by the clock, not by the answers: a slow answer does not slow them down.
//! A client whose connection still waits for an answer when its turn comes sends as soon as it has the answer, so there are at most as
//! many open calls as connections.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use testkit::Engine;
use tokio::{
    runtime::Builder,
    task::JoinSet,
    time::{MissedTickBehavior, interval, interval_at, timeout},
};

use crate::{
    Add, Torture,
    abuse::{allow_many_files, percentile, resident},
    installation::{Installation, Service},
    processors::Processors,
    report::Line,
    wire::Connection,
};

/// How much more than the peak is sent.
const TIMES: f64 = 5.0;
/// The connections with which the peak is measured.
const CONNECTIONS: usize = 64;
const SLOWEST_ACCEPTED: Duration = Duration::from_millis(250);
const SLOWEST_REFUSED: Duration = Duration::from_millis(10);
const GROWTH: u64 = 128 * 1024 * 1024;
const RECOVERY: Duration = Duration::from_secs(5);

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    allow_many_files();
    let processors = Arc::new(Processors::divided());
    let clients = processors.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(processors.of_clients())
        .on_thread_start(move || clients.run_with_the_clients())
        .enable_all()
        .build()
        .expect("a runtime");
    let _restored = processors.run_with_the_program();
    let engines = torture.size(&[Engine::Sqlite, Engine::Postgres][..], &[Engine::Sqlite]);
    for engine in engines {
        runtime.block_on(on(torture, *engine, add));
    }
}

async fn on(torture: &Torture, engine: Engine, add: Add<'_>) {
    let mut random = torture.random("overload");
    let installation = Installation::new(torture, engine, "overload", &mut random);
    let (program, _) = installation.start();
    let address = installation.client(Service::Petstore).address();
    let body = r#"{"name":"Torture","photoUrls":[],"status":"available","tags":[{"id":1,"name":"tag1"}]}"#;
    let post: Arc<[u8]> = format!(
        "POST /v3/pet HTTP/1.1\r\nHost: {address}\r\nAuthorization: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        installation.authorization(Service::Petstore),
        body.len()
    )
    .into_bytes()
    .into();
    let time = torture.size(Duration::from_secs(10), Duration::from_secs(1));
    // The first calls fill caches.
    load(address, &post, CONNECTIONS, None, time / 4).await;
    let peak = load(address, &post, CONNECTIONS, None, time).await.rate();
    for connections in torture.size(&[64, 1000, 4000][..], &[16, 64]) {
        let before = resident(&program);
        let pause = Duration::from_secs_f64(*connections as f64 / (peak * TIMES));
        let load = load(address, &post, *connections, Some(pause), time).await;
        let growth = resident(&program).saturating_sub(before);
        let recovered = recovery(address).await;
        add(line(torture, engine, *connections, peak, &load, growth, recovered));
    }
    assert!(program.terminate().success(), "the program stops after SIGTERM");
}

/// What the clients of a load have seen.
#[derive(Default)]
struct Load {
    took: Duration,
    accepted: Vec<Duration>,
    refused: Vec<Duration>,
    without_retry_after: usize,
    /// Other answers, by status; 0 for none.
    other: BTreeMap<u16, usize>,
}

impl Load {
    fn rate(&self) -> f64 {
        self.accepted.len() as f64 / self.took.as_secs_f64()
    }

    fn add(&mut self, more: Load) {
        self.accepted.extend(more.accepted);
        self.refused.extend(more.refused);
        self.without_retry_after += more.without_retry_after;
        for (status, count) in more.other {
            *self.other.entry(status).or_default() += count;
        }
    }
}

/// Sends this request over many connections: on each again after a pause, or without one as soon as it was answered.
async fn load(
    address: SocketAddr,
    request: &Arc<[u8]>,
    connections: usize,
    pause: Option<Duration>,
    time: Duration,
) -> Load {
    // Connected before: it is the requests that are too many.
    let open = (0..connections).map(|_| async { Connection::open(address).await.ok() });
    let open: Vec<_> = futures_util::stream::iter(open).buffered(CONNECTIONS).collect().await;
    let start = Instant::now();
    let mut clients = JoinSet::new();
    for (number, connection) in open.into_iter().enumerate() {
        // They start one after the other, spread over a pause.
        let first = start + pause.unwrap_or_default().mul_f64(number as f64 / connections as f64);
        clients.spawn(client(address, connection, request.clone(), first, pause, start + time));
    }
    let mut all = Load::default();
    while let Some(load) = clients.join_next().await {
        all.add(load.expect("it does not panic"));
    }
    Load { took: start.elapsed(), ..all }
}

async fn client(
    address: SocketAddr,
    mut connection: Option<Connection>,
    request: Arc<[u8]>,
    first: Instant,
    pause: Option<Duration>,
    end: Instant,
) -> Load {
    let mut load = Load::default();
    let mut clock = pause.map(|pause| {
        let mut clock = interval_at(first.into(), pause);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        clock
    });
    while Instant::now() < end {
        if let Some(clock) = &mut clock {
            clock.tick().await;
        }
        let start = Instant::now();
        let open = match connection.take() {
            Some(open) => Ok(open),
            None => Connection::open(address).await,
        };
        let Ok(mut open) = open else {
            *load.other.entry(0).or_default() += 1;
            continue;
        };
        match open.call(&request).await {
            Err(_) => *load.other.entry(0).or_default() += 1,
            Ok(head) => {
                match head.status {
                    200 => load.accepted.push(start.elapsed()),
                    503 => {
                        load.refused.push(start.elapsed());
                        load.without_retry_after += usize::from(!head.has_retry_after);
                    }
                    other => *load.other.entry(other).or_default() += 1,
                }
                if !head.closes() {
                    connection = Some(open);
                }
            }
        }
    }
    load
}

/// How long it takes until twenty calls in a row are answered at once.
async fn recovery(address: SocketAddr) -> Option<Duration> {
    let request = format!("GET /v3/pet/1 HTTP/1.1\r\nHost: {address}\r\napi_key: special-key\r\n\r\n");
    let start = Instant::now();
    let calls = async {
        let (mut in_a_row, mut pause) = (0, interval(Duration::from_millis(10)));
        while in_a_row < 20 {
            pause.tick().await;
            let called = Instant::now();
            let answer = match Connection::open(address).await {
                Ok(mut connection) => connection.call(request.as_bytes()).await,
                Err(error) => Err(error),
            };
            let is_normal =
                answer.is_ok_and(|head| head.status == 200) && called.elapsed() < SLOWEST_ACCEPTED;
            in_a_row = if is_normal { in_a_row + 1 } else { 0 };
        }
    };
    timeout(Duration::from_secs(60), calls).await.ok().map(|()| start.elapsed())
}

fn line(
    torture: &Torture,
    engine: Engine,
    connections: usize,
    peak: f64,
    load: &Load,
    growth: u64,
    recovered: Option<Duration>,
) -> Line {
    let (good, share) = (load.rate(), load.rate() / peak);
    let accepted = percentile(load.accepted.clone(), 0.99);
    let refused = percentile(load.refused.clone(), 0.99);
    let mut violations = Vec::new();
    if !load.other.is_empty() {
        violations.push(format!("other answers than 200 and 503, by status (0: none): {:?}", load.other));
    }
    if load.without_retry_after > 0 {
        violations.push(format!("{} answers with 503 have no Retry-After", load.without_retry_after));
    }
    let judged = [
        (share >= 0.9, format!("{good:.0} good answers a second, of {peak:.0} at the peak")),
        (accepted <= SLOWEST_ACCEPTED, format!("the p99 of accepted calls is {accepted:.0?}")),
        (refused <= SLOWEST_REFUSED, format!("the p99 of refused calls is {refused:.0?}")),
        (growth <= GROWTH, format!("the process has {} MB more", growth / 1_000_000)),
        (recovered.is_some_and(|time| time <= RECOVERY), format!("it is normal again after {recovered:?}")),
    ];
    violations.extend(judged.into_iter().filter_map(|(is_met, text)| torture.judge(is_met, || text)));
    Line {
        fault: format!("{TIMES} times the load it can do, {connections} connections, on {engine:?}"),
        must: "0.9 of the peak's good answers; accepted p99 under 250 ms; 503 with Retry-After under 10 ms; under 128 MB more \
               memory; normal within 5 s"
            .to_owned(),
        measured: format!(
            "{share:.2} of {peak:.0} a second; accepted p99 {accepted:.0?}; {} refused, p99 {refused:.1?}; {:.1} MB more; normal after {:.0?}",
            load.refused.len(),
            growth as f64 / 1e6,
            recovered.unwrap_or_default()
        ),
        violations,
    }
}
