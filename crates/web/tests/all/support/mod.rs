//! A small service over real sockets, and a client that may misbehave.

pub(crate) mod all_rules;
pub(crate) mod http2;
pub(crate) mod pets;

use std::{net::SocketAddr, time::Duration};

use axum::Router;
use http::{HeaderMap, HeaderName, HeaderValue};
use testkit::{Answer, Client, Engine, Server, Store};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};
use web::{App, Background, Clock, ConnectionLimits, RequestLimits, Service, openapi::Handlers};

/// Short enough for a test to wait for, long enough for a slow machine to do anything else in between.
pub(crate) const SHORT: Duration = Duration::from_millis(200);

pub(crate) async fn serve(app: impl Into<App>) -> (Server, Client) {
    serve_within(ConnectionLimits::default(), app).await
}

/// Serves operations as a service that has no document.
pub(crate) async fn serve_operations(api: Handlers) -> (Store, Server, Client) {
    let store = Store::new(Engine::Sqlite);
    let (server, client) = serve(Service { api, prefix: "", ..sample(&store) }.into_app()).await;
    (store, server, client)
}

/// A service without operations, whose API begins at `/v1`.
pub(crate) fn sample(store: &Store) -> Service<'static> {
    Service {
        address: "",
        name: "test",
        title: "Sample",
        about: "A service for tests.",
        api: Handlers::new(),
        prefix: "/v1",
        openapi: utoipa::openapi::OpenApi::default(),
        problems: &[],
        db: store.open("sample", &[]),
        background: Background::new("sample", Clock::system()),
        limits: RequestLimits::default(),
        validation: None,
        xml: false,
        key_headers: &[],
        extra_routes: Router::new(),
        exposed: &[],
        pages: None,
        documentation: web::DocumentationSetup::default(),
    }
}

pub(crate) async fn serve_within(limits: ConnectionLimits, app: impl Into<App>) -> (Server, Client) {
    let server = Server::start(limits, |_| app).await;
    let client = Client::new(server.address());
    (server, client)
}

/// Fails a test that would otherwise hang, before a connection's own time without a limit set by the test is up.
#[track_caller]
pub(crate) fn soon<F: Future>(what: &str, event: F) -> impl Future<Output = F::Output> {
    let message = format!("{what} did not come");
    async move { tokio::time::timeout(Duration::from_secs(30), event).await.expect(&message) }
}

/// One connection, byte by byte.
pub(crate) struct RawConnection {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl RawConnection {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the service accepts");
        RawConnection { stream, unread: Vec::new() }
    }

    /// The same from another address of this machine.
    pub(crate) async fn connect_from(ip: [u8; 4], address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((ip, 0))).expect("an address of this machine");
        let stream = socket.connect(address).await.expect("the service accepts");
        RawConnection { stream, unread: Vec::new() }
    }

    /// How many of the sent bytes the service has not read: they are in the buffer of its socket.
    pub(crate) fn bytes_not_read(&self) -> usize {
        let ends = [self.stream.peer_addr(), self.stream.local_addr()].map(|end| {
            let SocketAddr::V4(end) = end.expect("an address") else { panic!("the address is not IPv4") };
            format!("{:08X}:{:04X}", u32::from_ne_bytes(end.ip().octets()), end.port())
        });
        let sockets = std::fs::read_to_string("/proc/net/tcp").expect("the sockets of this machine");
        let of_the_service = |line: &&str| line.split_whitespace().skip(1).take(2).eq(&ends);
        let line = sockets.lines().find(of_the_service).expect("the service has the connection");
        let queues = line.split_whitespace().nth(4).and_then(|queues| queues.split_once(':'));
        usize::from_str_radix(queues.expect("two numbers").1, 16).expect("a number")
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.expect("the service takes what is sent");
    }

    /// Sends this a byte at a time, and goes on waiting when all of it is sent; ends when the service has closed the
    /// connection.
    pub(crate) async fn drip(&mut self, bytes: &[u8]) {
        let (mut read, mut write) = self.stream.split();
        let drip = async {
            let mut every = tokio::time::interval(SHORT / 4);
            for byte in bytes {
                every.tick().await;
                if write.write_all(&[*byte]).await.is_err() {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        let mut sink = Vec::new();
        tokio::select! {
            () = drip => {}
            _ = soon("the end of the connection", read.read_to_end(&mut sink)) => {}
        }
    }

    /// Sends as much as the service takes, and says how much that was.
    pub(crate) async fn send_until_refused(&mut self, chunk: &[u8], most: usize) -> usize {
        let mut sent = 0;
        while sent < most && self.stream.write_all(chunk).await.is_ok() {
            sent += chunk.len();
        }
        sent
    }

    /// The next answer: its head, and a body as long as the head says, or in chunks.
    pub(crate) async fn answer(&mut self) -> Answer {
        let (status, headers) = self.head().await;
        let length = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let body = match length("content-length") {
            Some(length) => self.take(length.parse().expect("a length")).await,
            None if length("transfer-encoding") == Some("chunked") => self.chunks().await,
            None => Vec::new(),
        };
        Answer { status, headers, body }
    }

    /// Asserts the bare status that the HTTP library answers to bytes that are no HTTP request.
    pub(crate) async fn is_rejected_with(&mut self, status: u16) {
        let answer = self.answer().await;
        let names: Vec<_> = answer.headers.keys().map(HeaderName::as_str).collect();
        assert_eq!((answer.status, names), (status, vec!["connection", "content-length", "date"]));
        assert_eq!((answer.header("connection"), answer.header("content-length")), ("close", "0"));
        assert_eq!(self.closed().await, b"");
    }

    /// The head of the next answer, `100 Continue` included.
    pub(crate) async fn head(&mut self) -> (u16, HeaderMap) {
        let head = self.line_until(b"\r\n\r\n").await;
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| {
            let name: HeaderName = name.parse().expect("a header's name");
            (name, HeaderValue::from_str(value).expect("a header's value"))
        });
        (status.unwrap_or_else(|| panic!("no status in {head:?}")), headers.collect())
    }

    async fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let chunk = self.chunk().await;
            if chunk.is_empty() {
                return body;
            }
            body.extend(chunk);
        }
    }

    /// The next chunk of a body; the last one is empty.
    pub(crate) async fn chunk(&mut self) -> Vec<u8> {
        let size = self.line_until(b"\r\n").await;
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
        let chunk = self.take(size).await;
        self.take(2).await;
        chunk
    }

    async fn line_until(&mut self, end: &[u8]) -> String {
        loop {
            if let Some(at) = self.unread.windows(end.len()).position(|window| window == end) {
                let line = self.take(at + end.len()).await;
                return String::from_utf8(line).expect("text");
            }
            self.more().await;
        }
    }

    async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.unread.len() < length {
            self.more().await;
        }
        self.unread.drain(..length).collect()
    }

    async fn more(&mut self) {
        let read = soon("an answer", self.stream.read_buf(&mut self.unread)).await;
        let read = read.unwrap_or_else(|error| panic!("{error} after {:?}", self.so_far()));
        assert!(read > 0, "closed after {:?}", self.so_far());
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.unread).into_owned()
    }

    /// Waits until the service has closed the connection; returns the bytes that were not read yet.
    pub(crate) async fn closed(&mut self) -> Vec<u8> {
        // A reset closes it as well.
        let _ = soon("the end of the connection", self.stream.read_to_end(&mut self.unread)).await;
        std::mem::take(&mut self.unread)
    }
}
