//! Clients that take and do not give: silent, slow, flooding, malformed. A healthy client next to them goes on.

mod forms;
mod healthy;
mod http2;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use healthy::Healthy;
pub(crate) use healthy::percentile;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testkit::{Client, Engine, Program};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::{Builder, Handle, Runtime},
    task::JoinSet,
    time::{interval, timeout},
};

use crate::{
    Add, Torture,
    installation::{Installation, Service},
    processors::schedule,
    report::Line,
};

/// The times of the limits, shorter than usual so that the row ends soon.
const LIMITS: [(&str, &str); 4] = [
    ("TRIPTYCH_LIMITS_CONNECTIONS", "11000"),
    ("TRIPTYCH_LIMITS_HEADER_SECONDS", "3"),
    ("TRIPTYCH_LIMITS_BODY_SECONDS", "3"),
    ("TRIPTYCH_LIMITS_STALL_SECONDS", "4"),
];
/// Within this time the service has closed every connection that breaks such a limit, on a slow machine as well.
const CLOSED: Duration = Duration::from_secs(30);
/// How much more memory the process may have.
const GROWTH: u64 = 64 * 1024 * 1024;
/// How long a flood goes on, so that a healthy client has enough calls for a percentile.
const FLOOD: Duration = Duration::from_secs(2);

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    allow_many_files();
    // On another machine, the clients that abuse the service would not use its processors. With the lowest nice value they would still
    // end a time slice of some milliseconds first.
    let attackers = runtime(|| assert!(schedule("--idle", "0"), "chrt (package util-linux) fails"));
    // Nor would the healthy client wait for a processor. Only some users may have this priority.
    let healthy = runtime(|| _ = schedule("--rr", "1"));
    healthy.block_on(on(torture, attackers.handle(), add));
}

fn runtime(on_start: fn()) -> Runtime {
    Builder::new_multi_thread().enable_all().on_thread_start(on_start).build().expect("a runtime")
}

/// As many open files as the system allows, for this process and the program that it starts.
pub(crate) fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
        .expect("the hard limit is allowed");
}

async fn on(torture: &Torture, attackers: &Handle, add: Add<'_>) {
    let mut random = torture.random("abuse");
    let installation = Installation::new(torture, Engine::Sqlite, "abuse", &mut random);
    let program = Program::start(installation.command(&["serve"]).envs(LIMITS));
    let address = installation.client(Service::Petstore).address();
    let authorization = installation.authorization(Service::Petstore);
    let mut abuse = Abuse { torture, program, address, calm: Duration::ZERO, attackers, add };
    abuse.calm = abuse.calm_p99().await;

    let connections = torture.size(10_000, 200);
    let fault = format!("{connections} silent connections");
    abuse.line(&fault, "each is closed after limits.header_seconds", silent(address, connections)).await;
    let slow = torture.size(500, 20);
    let head = format!("GET /v3/pet/1 HTTP/1.1\r\nHost: {address}\r\nX-Slow: ");
    let second_head =
        format!("GET /v3/pet/1 HTTP/1.1\r\nHost: {address}\r\napi_key: special-key\r\n\r\n{head}");
    for (which, start) in [("a", head), ("their second", second_head)] {
        let fault = format!("{slow} clients that send {which} head byte by byte");
        let must = "each is closed after limits.header_seconds";
        abuse.line(&fault, must, drip(address, slow, start, None)).await;
    }
    let body = format!(
        "POST /v3/store/order HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    );
    let fault = format!("{slow} clients that send a body byte by byte");
    abuse
        .line(&fault, "each gets 408 after limits.body_seconds", drip(address, slow, body, Some("408")))
        .await;
    let readers = torture.size(200, 5);
    let fault = format!("{readers} clients that ask for much and stop reading");
    abuse.line(&fault, "each is closed after limits.stall_seconds", stopped_readers(address, readers)).await;
    for flood in http2::floods(torture.size(http2::FRAMES, 5000)) {
        let fault = format!("{}: {} frames on a connection, again and again", flood.name, flood.frames.len());
        let duration = torture.size(FLOOD, Duration::ZERO);
        abuse.line(&fault, "the service goes on", flooded(address, flood, duration)).await;
    }
    let forms = forms::smuggling(&address.to_string());
    let fault = format!("{} requests with more than one reading", forms.len());
    abuse.line(&fault, "each gets one answer, 400 to 501, and is closed", smuggled(address, forms)).await;
    let bodies = forms::expensive();
    let fault = format!("{} bodies that are expensive to read", bodies.len());
    abuse
        .line(
            &fault,
            "each gets a 4xx",
            expensive(address, authorization, bodies, torture.size((10, FLOOD), (1, Duration::ZERO))),
        )
        .await;

    let log = abuse.program.whole_log();
    assert!(!log.contains("panicked"), "a handler panicked: {log}");
}

struct Abuse<'a> {
    torture: &'a Torture,
    program: Program,
    address: SocketAddr,
    /// The 99th percentile of a healthy client without abuse.
    calm: Duration,
    /// Runs the clients that abuse the service.
    attackers: &'a Handle,
    add: Add<'a>,
}

impl Abuse<'_> {
    async fn calm_p99(&self) -> Duration {
        let healthy = Healthy::start(self.address).await;
        let mut pause = interval(self.torture.size(Duration::from_secs(5), Duration::from_millis(500)));
        pause.tick().await;
        pause.tick().await;
        healthy.stop().await.p99()
    }

    /// How much more memory the process has when it has had some time to give it back.
    async fn growth_that_stays(&self, before: u64) -> u64 {
        let mut pause = interval(Duration::from_millis(500));
        for _ in 0..20 {
            pause.tick().await;
            if resident(&self.program).saturating_sub(before) <= GROWTH {
                break;
            }
        }
        resident(&self.program).saturating_sub(before)
    }

    /// Runs an abuse next to a healthy client.
    async fn line(
        &mut self,
        fault: &str,
        must: &str,
        abuse: impl Future<Output = Vec<String>> + Send + 'static,
    ) {
        let before = resident(&self.program);
        let healthy = Healthy::start(self.address).await;
        let start = Instant::now();
        let mut violations = self.attackers.spawn(abuse).await.expect("it does not panic");
        let took = start.elapsed();
        let seen = healthy.stop().await;
        let most = resident(&self.program).saturating_sub(before);
        let growth = self.growth_that_stays(before).await;
        let p99 = seen.p99();
        violations.extend(seen.errors.into_iter().take(3));
        if growth > GROWTH {
            violations.push(format!("the process has {} MB more", growth / 1_000_000));
        }
        // A millisecond more is no harm, where the calm time is a fraction of one.
        let allowed = self.calm * 2 + Duration::from_millis(1);
        let calm = self.calm;
        violations.extend(
            self.torture.judge(p99 <= allowed, || format!("the healthy p99 is {p99:.1?}, calm {calm:.1?}")),
        );
        (self.add)(Line {
            fault: fault.to_owned(),
            must: format!("{must}; healthy p99 at most doubled, under 64 MB more memory"),
            measured: format!(
                "{took:.1?}; healthy p99 {p99:.1?} (calm {calm:.1?}); {:.1} MB more, at the end {:.1} MB",
                growth as f64 / 1e6,
                most as f64 / 1e6
            ),
            violations,
        });
    }
}

/// The memory of the process in bytes.
pub(crate) fn resident(program: &Program) -> u64 {
    let path = format!("/proc/{}/statm", program.id());
    let pages = std::fs::read_to_string(path).expect("a running process");
    let pages: u64 = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4096
}

async fn silent(address: SocketAddr, connections: usize) -> Vec<String> {
    let mut streams = Vec::new();
    for _ in 0..connections {
        match TcpStream::connect(address).await {
            Ok(stream) => streams.push(stream),
            Err(error) => return vec![format!("connection {}: {error}", streams.len())],
        }
    }
    let mut waits = JoinSet::new();
    for stream in streams {
        waits.spawn(is_closed(stream));
    }
    let open = waits.join_all().await.into_iter().filter(|closed| !closed).count();
    if open == 0 { Vec::new() } else { vec![format!("{open} are still open after {CLOSED:?}")] }
}

/// Whether the service closes a connection in time; answers are discarded.
async fn is_closed(mut stream: TcpStream) -> bool {
    let mut discarded = Vec::new();
    // A reset is an end as well.
    timeout(CLOSED, stream.read_to_end(&mut discarded)).await.is_ok()
}

/// Sends a start at once and then a byte at a time. The answer, if there must be one, has this status.
async fn drip(
    address: SocketAddr,
    clients: usize,
    start: String,
    status: Option<&'static str>,
) -> Vec<String> {
    let mut drips = JoinSet::new();
    for _ in 0..clients {
        let start = start.clone();
        drips.spawn(async move {
            let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
            stream.write_all(start.as_bytes()).await.map_err(|error| error.to_string())?;
            let (mut read, mut write) = stream.split();
            let mut answer = Vec::new();
            let send = async {
                let mut pause = interval(Duration::from_millis(200));
                loop {
                    pause.tick().await;
                    if write.write_all(b" ").await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
            };
            let ended = tokio::select! {
                () = send => false,
                ended = timeout(CLOSED, read.read_to_end(&mut answer)) => ended.is_ok(),
            };
            let answer = String::from_utf8_lossy(&answer).into_owned();
            let found = answer.split(' ').nth(1);
            match ended {
                false => Err(format!("it is still open after {CLOSED:?}")),
                true if status.is_some() && found != status => Err(format!("it got {answer:?}")),
                true => Ok(()),
            }
        });
    }
    first_errors(drips).await
}

async fn first_errors(mut tasks: JoinSet<Result<(), String>>) -> Vec<String> {
    let mut errors = Vec::new();
    while let Some(done) = tasks.join_next().await {
        errors.extend(done.expect("it does not panic").err());
    }
    errors
}

/// Asks for many large answers and reads none of them. The connection ends by the service.
async fn stopped_readers(address: SocketAddr, clients: usize) -> Vec<String> {
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(500);
    let mut readers = JoinSet::new();
    for _ in 0..clients {
        let request = request.clone();
        readers.spawn(async move {
            let mut stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
            // The service stops reading as well, so that not all of it can be sent.
            let _ = timeout(Duration::from_secs(1), stream.write_all(request.as_bytes())).await;
            let mut pause = interval(Duration::from_millis(200));
            let until_closed = async {
                while stream.write_all(b"\r\n").await.is_ok() {
                    pause.tick().await;
                }
            };
            timeout(CLOSED, until_closed).await.map_err(|_| format!("it is still open after {CLOSED:?}"))
        });
    }
    first_errors(readers).await
}

/// Sends the frames on one connection after another, until the service ends each, and discards the answers. Whether it ends it or reads
/// all frames is its choice; it must not hang.
async fn flooded(address: SocketAddr, flood: http2::Flood, duration: Duration) -> Vec<String> {
    let bytes = flood.frames.concat();
    let start = Instant::now();
    loop {
        let sent = async {
            let mut stream = TcpStream::connect(address).await?;
            let (mut read, mut write) = stream.split();
            let send = async {
                write.write_all(&flood.start).await?;
                write.write_all(&bytes).await?;
                write.shutdown().await
            };
            let mut discarded = tokio::io::sink();
            let (_, _) = tokio::join!(send, tokio::io::copy(&mut read, &mut discarded));
            Ok::<_, std::io::Error>(())
        };
        match timeout(CLOSED, sent).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return vec![format!("{}: {error}", flood.name)],
            Err(_) => return vec![format!("{}: it is not read within {CLOSED:?}", flood.name)],
        }
        if start.elapsed() >= duration {
            return Vec::new();
        }
    }
}

/// Each request gets one answer, an error, and the connection is closed.
async fn smuggled(address: SocketAddr, forms: Vec<(&'static str, Vec<u8>)>) -> Vec<String> {
    let mut requests = JoinSet::new();
    for (name, request) in forms {
        requests.spawn(async move {
            let sent = String::from_utf8_lossy(&request);
            let answer = timeout(CLOSED, Client::new(address).raw(&request)).await;
            let answer = answer.map_err(|_| format!("{name}: still open after {CLOSED:?}: {sent:?}"))?;
            let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
            let answers = answer.matches("HTTP/1.1 ").count();
            if (400..=501).contains(&status) && answers == 1 {
                Ok(())
            } else {
                Err(format!("{name}: {answers} answers, {answer:?} to {sent:?}"))
            }
        });
    }
    first_errors(requests).await
}

/// Each body gets an error of the client, also when many are sent at once, again and again.
async fn expensive(
    address: SocketAddr,
    authorization: String,
    bodies: Vec<forms::Expensive>,
    (at_once, duration): (usize, Duration),
) -> Vec<String> {
    let mut violations = Vec::new();
    let (start, rounds) = (Instant::now(), bodies.len());
    for (number, body) in bodies.iter().cycle().enumerate() {
        if number % rounds == 0 && number > 0 && start.elapsed() >= duration {
            break;
        }
        let mut calls = JoinSet::new();
        for _ in 0..at_once {
            let (body, authorization) = (body.clone(), authorization.clone());
            calls.spawn(async move {
                let name = body.name;
                match timeout(CLOSED, body.send(address, &authorization)).await {
                    Ok(Ok(status)) if (400..500).contains(&status) => Ok(()),
                    Ok(Ok(status)) => Err(format!("{name}: {status}")),
                    Ok(Err(error)) => Err(format!("{name}: {error:?}")),
                    Err(_) => Err(format!("{name}: no answer within {CLOSED:?}")),
                }
            });
        }
        violations.extend(first_errors(calls).await.into_iter().next());
    }
    violations
}
