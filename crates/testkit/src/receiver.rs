//! Receives webhooks for several subscribers at one address, with scripted answers.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response, Uri},
};
use futures_util::{StreamExt, stream};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use url::Url;

/// How long a test waits for a delivery.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// A received delivery.
#[derive(Debug, Clone)]
pub struct Got {
    /// The first part of its path: the name of the subscriber.
    pub name: String,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Got {
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }
}

/// The answer of a subscriber.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    length: usize,
    hangs: bool,
    unending: bool,
}

pub fn reply(status: u16) -> Reply {
    Reply { status, headers: Vec::new(), length: 0, hangs: false, unending: false }
}

impl Reply {
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With a body of this length.
    pub fn length(self, length: usize) -> Self {
        Reply { length, ..self }
    }

    /// With a body that starts and never ends.
    pub fn unending(self) -> Self {
        Reply { unending: true, ..self }
    }

    /// Only after [`Receiver::release`].
    pub fn hangs(self) -> Self {
        Reply { hangs: true, ..self }
    }
}

#[derive(Default)]
struct Seen {
    got: Vec<Got>,
    counts: HashMap<String, usize>,
    scripts: HashMap<String, (VecDeque<Reply>, Reply)>,
    /// The deliveries in progress, now and at most, by subscriber and by event.
    at_once: HashMap<String, (usize, usize)>,
}

struct Inner {
    seen: Mutex<Seen>,
    arrived: watch::Sender<usize>,
    released: watch::Sender<bool>,
}

pub struct Receiver {
    inner: Arc<Inner>,
    url: String,
    server: JoinHandle<()>,
}

impl Receiver {
    pub async fn start() -> Self {
        let inner = Arc::new(Inner {
            seen: Mutex::default(),
            arrived: watch::Sender::new(0),
            released: watch::Sender::new(false),
        });
        // Not the server of the program, which would write its own problem documents.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(receive).with_state(inner.clone());
        let server = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Receiver { inner, url, server }
    }

    /// The URL of a subscriber.
    pub fn url(&self, name: &str) -> Url {
        format!("{}/{name}", self.url).parse().unwrap()
    }

    /// Sets the answers of a subscriber: these in order, and then always the last one. The default is 204.
    pub fn script(&self, name: &str, first: &[Reply], then: Reply) {
        let script = (first.iter().cloned().collect(), then);
        self.inner.seen.lock().unwrap().scripts.insert(name.to_owned(), script);
    }

    /// Releases all answers that hang, now and later.
    pub fn release(&self) {
        self.inner.released.send_replace(true);
    }

    /// The deliveries to a subscriber, or (`""`) to all, in order.
    pub fn got(&self, name: &str) -> Vec<Got> {
        let is_for = |got: &&Got| name.is_empty() || got.name == name;
        self.inner.seen.lock().unwrap().got.iter().filter(is_for).cloned().collect()
    }

    pub fn count(&self, name: &str) -> usize {
        self.inner.seen.lock().unwrap().counts.get(name).copied().unwrap_or(0)
    }

    /// The most deliveries in progress at once: of a subscriber, of an event, or (`""`) in all.
    pub fn most_at_once(&self, of: &str) -> usize {
        self.inner.seen.lock().unwrap().at_once.get(of).map_or(0, |(_, most)| *most)
    }

    /// Waits for `count` deliveries to a subscriber, and gives them.
    #[track_caller]
    pub fn wait_for(&self, name: &str, count: usize) -> impl Future<Output = Vec<Got>> {
        self.wait_until(name, move || self.count(name) >= count)
    }

    /// Waits until a subscriber has got each of these events at least once.
    #[track_caller]
    pub fn wait_for_events(&self, name: &str, ids: &HashSet<String>) -> impl Future<Output = Vec<Got>> {
        let all = move || {
            let seen = self.inner.seen.lock().unwrap();
            let of_this = seen.got.iter().filter(|got| got.name == name);
            of_this.map(Got::id).collect::<HashSet<_>>().len() >= ids.len()
        };
        self.wait_until(name, move || self.count(name) >= ids.len() && all())
    }

    #[track_caller]
    pub(crate) fn wait_until(&self, name: &str, enough: impl Fn() -> bool) -> impl Future<Output = Vec<Got>> {
        let caller = std::panic::Location::caller();
        async move {
            let mut arrived = self.inner.arrived.subscribe();
            let waited = tokio::time::timeout(TIMEOUT, arrived.wait_for(|_| enough())).await.is_ok();
            assert!(waited, "{caller}: {} arrived for {name}", self.count(name));
            self.got(name)
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A delivery in progress. It counts until this is dropped, also when the sender closes the connection.
struct Answering(Arc<Inner>, [String; 3]);

impl Drop for Answering {
    fn drop(&mut self) {
        let mut seen = self.0.seen.lock().unwrap();
        for of in &self.1 {
            seen.at_once.get_mut(of).unwrap().0 -= 1;
        }
    }
}

async fn receive(
    State(inner): State<Arc<Inner>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let path = uri.path().to_owned();
    let name = path.split('/').nth(1).unwrap_or_default().to_owned();
    let got = Got { name: name.clone(), path, headers, body: body.to_vec() };
    let (reply, _answering) = {
        let mut seen = inner.seen.lock().unwrap();
        let of = [String::new(), name.clone(), got.id().to_owned()];
        for of in &of {
            let (now, most) = seen.at_once.entry(of.clone()).or_default();
            *now += 1;
            *most = (*most).max(*now);
        }
        seen.got.push(got);
        for of in &of[..2] {
            *seen.counts.entry(of.clone()).or_default() += 1;
        }
        let reply = match seen.scripts.get_mut(&name) {
            Some((first, then)) => first.pop_front().unwrap_or_else(|| then.clone()),
            None => reply(204),
        };
        (reply, Answering(inner.clone(), of))
    };
    inner.arrived.send_modify(|count| *count += 1);
    if reply.hangs {
        let _ = inner.released.subscribe().wait_for(|released| *released).await;
    }
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let body = if reply.unending {
        let begins = stream::once(async { Ok::<_, std::io::Error>(Bytes::from_static(b"x")) });
        Body::from_stream(begins.chain(stream::pending()))
    } else {
        Body::from(vec![b'x'; reply.length])
    };
    response.body(body).unwrap()
}
