//! More load than the program can do. The clients send by the clock, not by the answers: a slow answer does not slow them down.
//! A client whose connection still waits for an answer when its turn comes sends as soon as it has the answer, so there are at most as
//! many open calls as connections. Most clients obey `Retry-After`; some send their next request at once.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use testkit::Engine;
use tokio::{
    runtime::Builder,
    task::JoinSet,
    time::{MissedTickBehavior, interval, interval_at, sleep_until, timeout},
};

use crate::{
    Add, Torture,
    abuse::{allow_many_files, percentile, resident},
    installation::{Installation, Service},
    processors::{Processors, schedule},
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
/// The clients start one after the other, spread over this time: it is the rate that is too high, not their number at one moment.
const START: Duration = Duration::from_secs(1);

/// What a client does after a 503.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// It leaves out its turns for the time of `Retry-After`, and for a random part of it, as clients should.
    Waits,
    /// It sends again when its next turn comes. It gets no answer before the time of `Retry-After` is over.
    Ignores,
}

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    allow_many_files();
    let processors = Arc::new(Processors::divided());
    let clients = processors.clone();
    let runtime = Builder::new_multi_thread()
        .worker_threads(processors.of_clients())
        .on_thread_start(move || {
            clients.stay_with_the_clients();
            // The times are those of the service, not those for which a client waits for PostgreSQL. Only some users may have this
            // priority.
            schedule("--rr", "1");
        })
        .enable_all()
        .build()
        .expect("a runtime");
    let engines = torture.size(&[Engine::Sqlite, Engine::Postgres][..], &[Engine::Sqlite]);
    for engine in engines {
        runtime.block_on(on(torture, *engine, &processors, add));
    }
}

async fn on(torture: &Torture, engine: Engine, processors: &Processors, add: Add<'_>) {
    let mut random = torture.random("overload");
    // PostgreSQL has the processors of the clients, as if it were on another machine.
    let restored = processors.run_with_the_clients();
    let installation = Installation::new(torture, engine, "overload", &mut random);
    drop(restored);
    let restored = processors.run_with_the_program();
    let (program, _) = installation.start();
    drop(restored);
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
    let offered = |connections, pause| Offered { address, request: post.clone(), connections, pause };
    // The first calls fill caches, and the program makes its template of sandboxes.
    offered(CONNECTIONS, None).send(Refused::Waits, time / 2, &mut random).await;
    let mut last = offered(CONNECTIONS, None).send(Refused::Waits, time / 4, &mut random).await.peak();
    for connections in torture.size(&[64, 1000, 4000][..], &[16, 64]) {
        // With few connections no request is refused.
        let refused = [Refused::Waits, Refused::Ignores];
        for refused in refused.into_iter().take(1 + usize::from(*connections > CONNECTIONS)) {
            let before = resident(&program);
            let pause = Duration::from_secs_f64(*connections as f64 / (last * TIMES));
            let load = offered(*connections, Some(pause)).send(refused, time, &mut random).await;
            let growth = resident(&program).saturating_sub(before);
            let recovered = recovery(address).await;
            // Before and after, as the machine and the database are not equally fast all the time.
            let next = offered(CONNECTIONS, None).send(Refused::Waits, time / 4, &mut random).await.peak();
            let peak = f64::midpoint(last, next);
            last = next;
            let seen = Seen { engine, connections: *connections, refused, peak, load, growth, recovered };
            add(seen.line(torture));
        }
    }
    assert!(program.terminate().success(), "the program stops after SIGTERM");
}

/// What the clients of a load have seen.
#[derive(Default)]
struct Load {
    /// The time in which requests were sent.
    time: Duration,
    /// The time until the last answer.
    took: Duration,
    accepted: Vec<Duration>,
    /// How many were accepted after the time was over. They are not a part of the rate: clients that ignore `Retry-After` wait for it
    /// until then.
    late: usize,
    refused: Vec<Duration>,
    without_retry_after: usize,
    /// Other answers, by status; 0 for none.
    other: BTreeMap<u16, usize>,
}

impl Load {
    fn rate(&self) -> f64 {
        (self.accepted.len() - self.late) as f64 / self.time.as_secs_f64()
    }

    /// The rate of clients that send again as soon as they have an answer. It includes the last answers: on a slow machine, no answer
    /// may come within a short time.
    fn peak(&self) -> f64 {
        assert!(!self.accepted.is_empty(), "no call was accepted; other answers: {:?}", self.other);
        self.accepted.len() as f64 / self.took.as_secs_f64()
    }

    fn add(&mut self, more: Load) {
        self.accepted.extend(more.accepted);
        self.late += more.late;
        self.refused.extend(more.refused);
        self.without_retry_after += more.without_retry_after;
        for (status, count) in more.other {
            *self.other.entry(status).or_default() += count;
        }
    }
}

/// Requests that are sent over many connections: on each again after a pause, or without one as soon as it was answered.
struct Offered {
    address: SocketAddr,
    request: Arc<[u8]>,
    connections: usize,
    pause: Option<Duration>,
}

impl Offered {
    async fn send(self, refused: Refused, time: Duration, random: &mut StdRng) -> Load {
        // Connected before: it is the requests that are too many.
        let open = (0..self.connections).map(|_| async { Connection::open(self.address).await.ok() });
        let open: Vec<_> = futures_util::stream::iter(open).buffered(CONNECTIONS).collect().await;
        let start = Instant::now();
        let spread = self.pause.map_or(Duration::ZERO, |_| START.min(time / 4));
        let mut clients = JoinSet::new();
        for (number, connection) in open.into_iter().enumerate() {
            let client = Client {
                address: self.address,
                connection,
                request: self.request.clone(),
                refused,
                may_send: start,
                random: StdRng::seed_from_u64(random.random()),
                load: Load::default(),
            };
            let first = start + spread.mul_f64(number as f64 / self.connections as f64);
            clients.spawn(client.run(first, self.pause, start + time));
        }
        let mut all = Load::default();
        while let Some(load) = clients.join_next().await {
            all.add(load.expect("it does not panic"));
        }
        Load { time, took: start.elapsed(), ..all }
    }
}

struct Client {
    address: SocketAddr,
    connection: Option<Connection>,
    request: Arc<[u8]>,
    refused: Refused,
    /// When the time of the last `Retry-After` is over.
    may_send: Instant,
    random: StdRng,
    load: Load,
}

impl Client {
    async fn run(mut self, first: Instant, pause: Option<Duration>, end: Instant) -> Load {
        let mut clock = pause.map(|pause| {
            let mut clock = interval_at(first.into(), pause);
            clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
            clock
        });
        loop {
            if let Some(clock) = &mut clock {
                clock.tick().await;
            }
            let wait = self.call(end).await;
            self.may_send = Instant::now() + wait;
            if self.refused == Refused::Waits && !wait.is_zero() {
                let more = wait.mul_f64(self.random.random());
                sleep_until((self.may_send + more).min(end).into()).await;
            }
            if Instant::now() >= end {
                return self.load;
            }
        }
    }

    /// Sends the request. Returns the time of `Retry-After`.
    async fn call(&mut self, end: Instant) -> Duration {
        let start = Instant::now();
        let open = match self.connection.take() {
            Some(open) => Ok(open),
            None => Connection::open(self.address).await,
        };
        let head = match open {
            Ok(mut open) => open.call(&self.request).await.map(|head| (head, open)),
            Err(error) => Err(error),
        };
        let Ok((head, open)) = head else {
            *self.load.other.entry(0).or_default() += 1;
            return Duration::ZERO;
        };
        if !head.closes() {
            self.connection = Some(open);
        }
        match head.status {
            200 => {
                self.load.accepted.push(start.max(self.may_send).elapsed());
                self.load.late += usize::from(Instant::now() > end);
            }
            503 => {
                self.load.refused.push(start.max(self.may_send).elapsed());
                self.load.without_retry_after += usize::from(head.retry_after.is_none());
            }
            other => *self.load.other.entry(other).or_default() += 1,
        }
        Duration::from_secs(head.retry_after.unwrap_or_default())
    }
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

/// What was seen of a service under a load.
struct Seen {
    engine: Engine,
    connections: usize,
    refused: Refused,
    peak: f64,
    load: Load,
    growth: u64,
    recovered: Option<Duration>,
}

impl Seen {
    fn line(self, torture: &Torture) -> Line {
        let Seen { engine, connections, refused, peak, load, growth, recovered } = self;
        let (good, share) = (load.rate(), load.rate() / peak);
        let number = load.refused.len();
        let (slow_answer, slow_refusal) = (percentile(load.accepted, 0.99), percentile(load.refused, 0.99));
        let mut violations = Vec::new();
        if !load.other.is_empty() {
            violations.push(format!("other answers than 200 and 503, by status (0: none): {:?}", load.other));
        }
        if load.without_retry_after > 0 {
            violations.push(format!("{} answers with 503 have no Retry-After", load.without_retry_after));
        }
        let judged = [
            (share >= 0.9, format!("{good:.0} good answers a second, of {peak:.0} at the peak")),
            (slow_answer <= SLOWEST_ACCEPTED, format!("the p99 of accepted calls is {slow_answer:.0?}")),
            (slow_refusal <= SLOWEST_REFUSED, format!("the p99 of refused calls is {slow_refusal:.1?}")),
            (growth <= GROWTH, format!("the process has {} MB more", growth / 1_000_000)),
            (
                recovered.is_some_and(|time| time <= RECOVERY),
                format!("it is normal again after {recovered:?}"),
            ),
        ];
        violations.extend(judged.into_iter().filter_map(|(is_met, text)| torture.judge(is_met, || text)));
        let (clients, from) = match refused {
            Refused::Waits => ("that obey Retry-After", ""),
            Refused::Ignores => {
                ("that ignore Retry-After", ", from the end of the time of the last Retry-After on")
            }
        };
        Line {
            fault: format!(
                "{TIMES} times the load it can do, {connections} connections of clients {clients}, on {engine:?}"
            ),
            must: format!(
                "0.9 of the peak's good answers; accepted p99 under 250 ms; 503 with Retry-After under 10 ms{from}; under 128 MB more memory; normal within 5 s"
            ),
            measured: format!(
                "{share:.2} of {peak:.0} a second; accepted p99 {slow_answer:.0?}; {number} refused, p99 {slow_refusal:.1?}; {:.1} MB more; \
                 normal after {:.0?}",
                growth as f64 / 1e6,
                recovered.unwrap_or_default()
            ),
            violations,
        }
    }
}
