//! A small load generator: calls over connections that stay open, for as long as it is told.

use std::{
    future::pending,
    net::{Ipv4Addr, SocketAddr},
    sync::OnceLock,
    time::{Duration, Instant},
};

use axum::Router;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use web::{ConnectionLimits, Proxies, Random, Site};

const CONNECTIONS: usize = 64;

/// Connections to a service, and what each of them last read.
pub(crate) struct Load(Vec<Connection>);

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// Serves a router the way the program serves its services.
pub(crate) async fn listen(router: Router) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (proxies, limits) = (Proxies::default(), ConnectionLimits::default());
    let site = Site { name: "bench", address: "http://bench.example".into(), proxies, limits };
    tokio::spawn(web::serve(site, listener, router, Random::system(), pending()));
    address
}

/// The bytes of a request, with a token or without.
pub(crate) fn request(path: &str, token: Option<&str>) -> Vec<u8> {
    let credentials = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    format!("GET {path} HTTP/1.1\r\nhost: bench.example\r\naccept: application/json\r\n{credentials}\r\n")
        .into_bytes()
}

/// The same for one that sends JSON.
pub(crate) fn post(path: &str, token: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: bench.example\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

impl Load {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            connections.push(Connection { stream, buffer: Vec::with_capacity(4096) });
        }
        Load(connections)
    }

    /// Sends one request, and gives the body of its answer.
    pub(crate) async fn body(&mut self, request: &[u8]) -> String {
        self.0[0].call(request).await;
        let answer = String::from_utf8_lossy(&self.0[0].buffer);
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Sends one request, and gives the status that it was answered with.
    pub(crate) async fn status(&mut self, request: &[u8]) -> String {
        let answer = self.0[0].exchange(request).await;
        String::from_utf8_lossy(&answer["HTTP/1.1 ".len()..][..3]).into_owned()
    }

    /// Sends these requests in turn on every connection for so long, and gives how many were answered in a second.
    pub(crate) async fn rate(&mut self, requests: &'static [Vec<u8>], length: Duration) -> f64 {
        let start = Instant::now();
        let deadline = start + length;
        let mut running = JoinSet::new();
        for (number, mut connection) in self.0.drain(..).enumerate() {
            running.spawn(async move {
                let mut calls = 0;
                for request in requests.iter().cycle().skip(number * requests.len() / CONNECTIONS) {
                    connection.call(request).await;
                    calls += 1;
                    if Instant::now() >= deadline {
                        break;
                    }
                }
                (connection, calls)
            });
        }
        let done = running.join_all().await;
        let elapsed = start.elapsed().as_secs_f64();
        let calls: u64 = done.iter().map(|(_, calls)| calls).sum();
        self.0.extend(done.into_iter().map(|(connection, _)| connection));
        calls as f64 / elapsed
    }

    /// Sends each of these requests once, so many a second or as fast as they are answered, and notes when each was to begin:
    /// a service that falls behind does not look better by that.
    pub(crate) async fn each(
        &mut self,
        requests: &'static [Vec<u8>],
        began: &'static [OnceLock<Instant>],
        rate: Option<f64>,
    ) {
        let start = Instant::now();
        let mut running = JoinSet::new();
        for (number, mut connection) in self.0.drain(..).enumerate() {
            running.spawn(async move {
                for number in (number..requests.len()).step_by(CONNECTIONS) {
                    let due = match rate {
                        Some(rate) => start + Duration::from_secs_f64(number as f64 / rate),
                        None => Instant::now(),
                    };
                    tokio::time::sleep_until(due.into()).await;
                    began[number].set(due).unwrap();
                    connection.call(&requests[number]).await;
                }
                connection
            });
        }
        self.0.extend(running.join_all().await);
    }
}

impl Connection {
    /// Sends one request, which must be answered as it wishes.
    async fn call(&mut self, request: &[u8]) {
        let answer = self.exchange(request).await;
        assert!(answer.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(answer));
    }

    /// Sends one request and reads its whole answer.
    async fn exchange(&mut self, request: &[u8]) -> &[u8] {
        self.stream.write_all(request).await.unwrap();
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert_ne!(read, 0, "the service hung up");
            if length(&self.buffer) == Some(self.buffer.len()) {
                return &self.buffer;
            }
        }
    }
}

/// How long an answer is, once its head is there.
fn length(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&answer[..head]).unwrap();
    let body = text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    Some(head + body.parse::<usize>().unwrap())
}
