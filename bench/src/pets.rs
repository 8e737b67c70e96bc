//! Streams a million pets out of the pet store, while another client reads one at a time: how much memory that takes, and
//! whether the other client is delayed.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use db::{Db, Limits, Location};
use petstore::Petstore;
use service::Instance;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Runtime,
};
use web::{Clock, Random};

use crate::load;

const ADDRESS: &str = "https://pets.example";
const PETS: i64 = 1_000_000;
const BATCH: i64 = 50_000;

/// How much the process may grow while it streams them all.
const MOST_GROWTH: f64 = 64.0;

pub(crate) struct Pets {
    streamed: u64,
    bytes: u64,
    took: Duration,
    /// In MiB.
    growth: f64,
    reads: usize,
    median: Duration,
    slowest: Duration,
}

impl Pets {
    pub(crate) fn print(&self) {
        let Pets { streamed, bytes, took, growth, reads, median, slowest } = self;
        let seconds = took.as_secs_f64();
        println!("{streamed} pets streamed in {seconds:.1} s, {:.0} MiB/s", *bytes as f64 / seconds / MIB);
        println!("  the process grew by {growth:.1} MiB at the most (less than {MOST_GROWTH:.0})");
        println!("  meanwhile {reads} reads by id: {median:.1?} in the middle, {slowest:.1?} the slowest");
        println!();
    }

    pub(crate) fn missed(&self) -> Option<String> {
        if self.streamed < PETS.unsigned_abs() {
            return Some(format!("only {} of {PETS} pets were streamed", self.streamed));
        }
        if self.reads == 0 {
            return Some("no pet could be read meanwhile".into());
        }
        (self.growth >= MOST_GROWTH).then(|| format!("streaming pets took {:.1} MiB", self.growth))
    }
}

const MIB: f64 = 1024.0 * 1024.0;

pub(crate) fn measure(runtime: &Runtime, folder: &Path) -> Pets {
    let location = Location::Sqlite(folder.to_owned());
    let db = Db::open(&location, "petstore", petstore::MIGRATIONS, Limits::default()).unwrap();
    runtime.block_on(async {
        fill(&db).await;
        let (address, token) = serve(&db).await;
        let all = request("/v3/pet/findByStatus", &format!("authorization: Bearer {token}"));
        let one = request("/v3/pet/500000", "api_key: special-key");
        // The first requests warm up before the measurement.
        read(
            address,
            &request("/v3/pet/findByStatus?status=sold", &format!("authorization: Bearer {token}")),
        )
        .await;
        read(address, &one).await;
        let done = Arc::new(AtomicBool::new(false));
        let before = resident();
        let watching = tokio::spawn(watch(done.clone()));
        let reading = tokio::spawn(read_until(address, one, done.clone()));
        let start = Instant::now();
        let (streamed, bytes) = read(address, &all).await;
        let took = start.elapsed();
        done.store(true, Ordering::Relaxed);
        let peak = watching.await.unwrap();
        let mut times = reading.await.unwrap();
        times.sort_unstable();
        Pets {
            streamed,
            bytes,
            took,
            growth: (peak - before) / MIB,
            reads: times.len(),
            median: times.get(times.len() / 2).copied().unwrap_or_default(),
            slowest: times.last().copied().unwrap_or_default(),
        }
    })
}

async fn fill(db: &Db) {
    for first in (0..PETS).step_by(BATCH as usize) {
        let filled: Result<(), db::Error> = db
            .write(move |tx| {
                tx.execute(
                    "WITH RECURSIVE ids (id) AS (SELECT $1 + 1000 UNION ALL SELECT id + 1 FROM ids WHERE id < $2 + 1000)
                     INSERT INTO pet (id, name, category, photo_urls, tags, status)
                     SELECT id, 'Pet number ' || id, '{\"id\":1,\"name\":\"Dogs\"}', '[\"https://example.com/a.jpg\"]',
                         '[{\"id\":1,\"name\":\"tag1\"}]', 'available' FROM ids",
                    &[first.into(), (first + BATCH - 1).into()],
                )
                .map(drop)
            })
            .await;
        filled.unwrap();
    }
}

/// Serves the pet store as the program does, and makes a token for it.
async fn serve(db: &Db) -> (SocketAddr, String) {
    let settings = petstore::Settings { calls_per_hour: u32::MAX, ..petstore::Settings::default() };
    let instance = Instance::new(db.clone(), Clock::system(), Random::system()).at(ADDRESS);
    let instance = Instance { demo: true, ..instance };
    let petstore = Petstore::open(&settings, instance.clone()).await.unwrap();
    let address = load::listen(petstore.router()).await;
    let demo = petstore.accounts().find("demo").await.unwrap().unwrap();
    let server = petstore::SERVICE.authorization_server(&instance).await.unwrap();
    (address, server.token_for(demo, None).await.unwrap())
}

fn request(path: &str, credentials: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: bench.example\r\n{credentials}\r\nconnection: close\r\n\r\n")
        .into_bytes()
}

/// Sends a request and reads its answer to the end, piece by piece: how many pets are in it, and how many bytes it has.
async fn read(address: SocketAddr, request: &[u8]) -> (u64, u64) {
    const MARK: &[u8] = b"\"photoUrls\"";
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut buffer = vec![0; 64 * 1024];
    let (mut kept, mut pets, mut bytes) = (0, 0, 0);
    loop {
        let found = stream.read(&mut buffer[kept..]).await.unwrap();
        if found == 0 {
            return (pets, bytes);
        }
        assert!(
            bytes > 0 || buffer.starts_with(b"HTTP/1.1 200 "),
            "{}",
            String::from_utf8_lossy(&buffer[..found])
        );
        bytes += found as u64;
        let end = kept + found;
        pets += buffer[..end].windows(MARK.len()).filter(|window| *window == MARK).count() as u64;
        // A mark may go on in the next piece.
        kept = (MARK.len() - 1).min(end);
        buffer.copy_within(end - kept..end, 0);
    }
}

async fn read_until(address: SocketAddr, request: Vec<u8>, done: Arc<AtomicBool>) -> Vec<Duration> {
    let mut times = Vec::with_capacity(1 << 20);
    while !done.load(Ordering::Relaxed) {
        let start = Instant::now();
        assert_eq!(read(address, &request).await.0, 1);
        times.push(start.elapsed());
    }
    times
}

/// The most memory that the process had until it was done.
async fn watch(done: Arc<AtomicBool>) -> f64 {
    let mut peak = resident();
    let mut every = tokio::time::interval(Duration::from_millis(10));
    while !done.load(Ordering::Relaxed) {
        every.tick().await;
        peak = peak.max(resident());
    }
    peak
}

/// How much memory the process has, in bytes.
fn resident() -> f64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = pages.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096.0
}
