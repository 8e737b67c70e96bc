//! Observed calls: what an observer gets of a request and its answer, and when.

use std::{convert::Infallible, net::IpAddr, sync::Arc};

use crate::support::{RawConnection, http2::Http2, sample, serve, soon};
use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::{StreamExt, future::BoxFuture, stream};
use http::{HeaderName, Method, StatusCode, Version};
use jiff::Timestamp;
use serde_json::json;
use testkit::{Client, Engine, Server, Store};
use tokio::sync::{Mutex, mpsc};
use utoipa::openapi::{
    HttpMethod, OpenApiBuilder, PathItem, PathsBuilder,
    path::{OperationBuilder, ParameterBuilder, ParameterIn},
};
use web::{
    Answer, App, Problem, Reply, RequestContext, RequestLimits, Result, Service, fault,
    input::{Fields, Input},
    observe::{CapturedMessage, Observed, ObservedAnswer, ObservedRequest, Observer},
    openapi::Handlers,
    problem::CONFLICT,
    strip_prefix,
};

const KIB: usize = 1024;

fn value(message: &CapturedMessage, name: &'static str) -> String {
    String::from_utf8(message.headers().get(&HeaderName::from_static(name)).unwrap().into()).unwrap()
}

/// A copy of an observed call.
struct Call {
    id: String,
    service: &'static str,
    client_ip: IpAddr,
    user: Option<String>,
    client: Option<String>,
    route: Option<String>,
    operation_id: Option<String>,
    started_at: Timestamp,
    request: ObservedRequest,
    answer: Option<ObservedAnswer>,
    /// The name of its kind, and the detail.
    problem: Option<(&'static str, String)>,
    fault: Option<&'static str>,
    aborted: bool,
}

struct Journal(mpsc::UnboundedSender<Call>);

impl Observer for Journal {
    fn observed(&self, call: &Observed<'_>) {
        let _ = self.0.send(Call {
            id: call.id().to_owned(),
            service: call.service(),
            client_ip: call.client_ip(),
            user: call.user().map(str::to_owned),
            client: call.client().map(str::to_owned),
            route: call.route().map(str::to_owned),
            operation_id: call.operation_id().map(str::to_owned),
            started_at: call.started_at,
            request: call.request.clone(),
            answer: call.answer.cloned(),
            problem: call.problem.map(|problem| (problem.kind().name, problem.detail().to_owned())),
            fault: call.fault,
            aborted: call.aborted,
        });
    }
}

/// Observes the calls below `/x`, which the application gets without that prefix.
struct Watching {
    app: App,
    journal: Arc<Journal>,
}

impl Answer for Watching {
    fn answer(&self, mut request: Request) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            if request.uri().path().starts_with("/x/") {
                RequestContext::observe(&mut request, self.journal.clone(), noon());
                strip_prefix(&mut request, "/x");
            }
            self.app.answer(request).await
        })
    }
}

fn noon() -> Timestamp {
    "2031-05-13T12:00:00Z".parse().unwrap()
}

/// A client of an application, and the calls that were observed.
struct Watched {
    server: Server,
    client: Client,
    calls: mpsc::UnboundedReceiver<Call>,
}

async fn watch(app: impl Into<App>) -> Watched {
    let (sender, calls) = mpsc::unbounded_channel();
    let watching = Watching { app: app.into(), journal: Arc::new(Journal(sender)) };
    let (server, client) = serve(App::new(Arc::new(watching))).await;
    Watched { server, client, calls }
}

impl Watched {
    async fn call(&mut self) -> Call {
        let call = soon("an observed call", self.calls.recv()).await.unwrap();
        assert!(self.calls.try_recv().is_err(), "the call was observed twice");
        call
    }

    async fn wire(&self, request: &str) -> RawConnection {
        let mut wire = RawConnection::connect(self.server.address()).await;
        wire.send(request).await;
        wire
    }
}

struct Anything;

impl Input for Anything {
    fn read(_: &mut Fields<'_>) -> Option<Self> {
        Some(Anything)
    }
}

async fn take(request: Request) -> Response {
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
    Reply(json!({"taken": body.len()})).into_response()
}

fn router() -> Router {
    Router::new()
        .route("/take", post(take))
        .route("/leave", post(async || "left"))
        .route("/large", get(async || "x".repeat(1024 * KIB)))
        .route("/none", get(async || StatusCode::NO_CONTENT))
        .route("/refuse", get(async || -> Result<()> { Err(Problem::new(&CONFLICT, "No.")) }))
        .route("/panic", get(async || -> () { panic!("in an observed call") }))
        .route("/cut", get(async || fault::cut_connection("answer".into_response())))
        .route("/half", get(async || fault::cut_body("0123456789".into_response())))
        .route("/malformed", get(async || fault::malformed_body("[12]".into_response())))
}

fn sent(answer: Option<&ObservedAnswer>) -> (u16, &[u8], u64, bool) {
    let answer = answer.expect("an answer");
    (answer.status.as_u16(), answer.message.body(), answer.message.length, answer.message.complete)
}

#[tokio::test]
async fn observer_gets_the_request_and_its_answer() {
    let parameter = ParameterBuilder::new().name("b").parameter_in(ParameterIn::Query);
    let operation = OperationBuilder::new().operation_id(Some("changeThing")).parameter(parameter).build();
    let paths = PathsBuilder::new().path("/things/{id}", PathItem::new(HttpMethod::Put, operation)).build();
    let handler = async |request: Request| {
        RequestContext::set_user(request.extensions(), "ada");
        RequestContext::set_client(request.extensions(), "demo");
        take(request).await
    };
    let (store, api) =
        (Store::new(Engine::Sqlite), Handlers::new().on(Method::PUT, "/v1/things/{id}", handler));
    let openapi = OpenApiBuilder::new().paths(paths).build();
    let mut watched = watch(Service { api, openapi, ..sample(&store) }.into_app()).await;

    let call =
        watched.client.put("/x/v1/things/7?b=c&d").header("x-request-id", "one").json(&json!({"a": 1}));
    let answer = call.send().await;
    assert_eq!(answer.has_status(200).json(), json!({"taken": 7}));
    let call = watched.call().await;
    assert_eq!((&*call.id, call.service, call.client_ip), ("one", "test", [127, 0, 0, 1].into()));
    assert_eq!((call.user.as_deref(), call.client.as_deref()), (Some("ada"), Some("demo")));
    assert_eq!(call.route.as_deref(), Some("/v1/things/{id}"));
    assert_eq!(call.operation_id.as_deref(), Some("changeThing"));
    assert_eq!((call.started_at, call.aborted, call.fault), (noon(), false, None));
    assert!(call.problem.is_none());
    let request = &call.request;
    assert_eq!((&request.method, request.version), (&Method::PUT, Version::HTTP_11));
    assert_eq!((request.path(), request.query()), ("/x/v1/things/7", Some("b=c&d")));
    assert_eq!(value(&request.message, "content-type"), "application/json");
    assert_eq!(
        (request.message.body(), request.message.length, request.message.complete),
        (&br#"{"a":1}"#[..], 7, true)
    );
    assert_eq!(sent(call.answer.as_ref()), (200, &br#"{"taken":7}"#[..], 11, true));
    // The headers of the edge are among those of the answer.
    let sent = &call.answer.unwrap().message;
    assert_eq!(value(sent, "content-type"), "application/json");
    assert_eq!(value(sent, "x-request-id"), "one");
    assert_eq!(
        sent.headers().iter().count(),
        answer.headers.keys_len() - 2,
        "all but content-length and date"
    );
}

#[tokio::test]
async fn observer_gets_the_problem_and_its_document() {
    let mut watched = watch(router()).await;
    for (path, status, kind) in
        [("/x/refuse", 409, "conflict"), ("/x/nothing", 404, "not-found"), ("/x/panic", 500, "internal")]
    {
        let answer = watched.client.get(path).send().await;
        let call = watched.call().await;
        assert_eq!(sent(call.answer.as_ref()), (status, &answer.body[..], answer.body.len() as u64, true));
        let (name, detail) = call.problem.unwrap();
        assert_eq!((name, &*detail), (kind, answer.json()["detail"].as_str().unwrap()));
        assert_eq!(value(&call.answer.unwrap().message, "content-type"), "application/problem+json");
    }
}

#[tokio::test]
async fn requests_without_an_observer_are_not_observed() {
    let mut watched = watch(router()).await;
    watched.client.get("/none").send().await.has_status(204);
    watched.client.get("/x/none").send().await.has_status(204);
    assert_eq!(watched.call().await.request.path(), "/x/none");
}

#[tokio::test]
async fn second_observer_of_a_request_does_not_get_it() {
    let (sender, mut calls) = mpsc::unbounded_channel();
    let (inner, mut missed) = mpsc::unbounded_channel();
    let inner = App::new(Arc::new(Watching { app: router().into(), journal: Arc::new(Journal(inner)) }));
    let twice = async move |mut request: Request| {
        RequestContext::observe(&mut request, Arc::new(Journal(sender.clone())), noon());
        inner.answer(request).await
    };
    let (_server, client) = serve(Router::new().fallback(twice)).await;
    client.post("/x/take").body("text/plain", "abc").send().await.has_status(200);
    let call = soon("the call", calls.recv()).await.unwrap();
    assert_eq!((call.request.message.length, sent(call.answer.as_ref()).0), (3, 200));
    assert!(missed.try_recv().is_err());
}

#[tokio::test]
async fn large_bodies_are_captured_in_part() {
    let mut watched = watch(router()).await;
    let body: Vec<u8> = (0..100 * KIB).map(|at| b'a' + (at % 26) as u8).collect();
    watched.client.post("/x/take").body("text/plain", body.clone()).send().await.has_status(200);
    let captured = watched.call().await.request.message;
    assert_eq!((captured.body(), captured.length), (&body[..16 * KIB], 100 * KIB as u64));
    assert!(captured.complete);
    assert_eq!(watched.client.get("/x/large").send().await.body.len(), 1024 * KIB);
    let call = watched.call().await;
    assert_eq!(sent(call.answer.as_ref()), (200, &[b'x'; 16 * KIB][..], 1024 * KIB as u64, true));
}

#[tokio::test]
async fn request_body_that_is_not_read_has_its_declared_length() {
    let mut watched = watch(router()).await;
    watched.client.post("/x/leave").body("text/plain", "abcdef").send().await.has_status(200);
    let message = watched.call().await.request.message;
    assert_eq!((message.body(), message.length, message.complete), (&b""[..], 6, false));
}

#[tokio::test]
async fn answers_without_a_body_are_complete() {
    let mut watched = watch(router()).await;
    for (method, path, status) in [(Method::GET, "/x/none", 204), (Method::HEAD, "/x/large", 200)] {
        watched.client.call(method, path).send().await.has_status(status);
        let call = watched.call().await;
        assert!(!call.aborted, "{path}");
        assert_eq!(sent(call.answer.as_ref()).0, status);
    }
}

/// A handler that streams the parts that it gets from the test.
fn streaming() -> (Router, mpsc::UnboundedSender<&'static str>) {
    let (parts, received) = mpsc::unbounded_channel::<&'static str>();
    let received = Arc::new(Mutex::new(received));
    let handler = async move |_: Request| {
        let parts = stream::unfold(received.clone().lock_owned().await, async |mut received| {
            received.recv().await.map(|part| (Bytes::from_static(part.as_bytes()), received))
        });
        Body::from_stream(parts.map(Ok::<_, Infallible>)).into_response()
    };
    (Router::new().route("/stream", get(handler)), parts)
}

#[tokio::test]
async fn streamed_answer_arrives_part_by_part_and_is_observed_at_its_end() {
    let (router, parts) = streaming();
    let mut watched = watch(router).await;
    let mut wire = watched.wire("GET /x/stream HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(wire.head().await.0, 200);
    for part in ["abc", "de"] {
        parts.send(part).unwrap();
        assert_eq!(wire.chunk().await, part.as_bytes());
        assert!(watched.calls.try_recv().is_err());
    }
    drop(parts);
    assert_eq!(wire.chunk().await, b"");
    let call = watched.call().await;
    assert_eq!(sent(call.answer.as_ref()), (200, &b"abcde"[..], 5, true));
    assert!(!call.aborted);
}

#[tokio::test]
async fn client_that_disconnects_during_the_answer_aborts_the_call() {
    let (router, parts) = streaming();
    let mut watched = watch(router).await;
    let mut wire = watched.wire("GET /x/stream HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    parts.send("abc").unwrap();
    assert_eq!((wire.head().await.0, wire.chunk().await), (200, b"abc".to_vec()));
    drop(wire);
    let call = watched.call().await;
    assert_eq!(sent(call.answer.as_ref()), (200, &b"abc"[..], 3, false));
    assert!(call.aborted);
}

#[tokio::test]
async fn client_that_disconnects_before_the_answer_aborts_the_call() {
    let (begun, mut begins) = mpsc::unbounded_channel();
    let handler = async move || -> &'static str {
        begun.send(()).unwrap();
        std::future::pending().await
    };
    let mut watched = watch(Router::new().route("/wait", get(handler))).await;
    let wire = watched.wire("GET /x/wait HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    soon("the request", begins.recv()).await.unwrap();
    drop(wire);
    let call = watched.call().await;
    assert!(call.aborted && call.answer.is_none() && call.problem.is_none());
    assert_eq!(call.route.as_deref(), Some("/wait"));
}

#[tokio::test]
async fn faults_are_observed_as_the_client_sees_them() {
    let mut watched = watch(router()).await;
    let http_2 = Http2::connect(watched.server.address()).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        for (path, fault, answer) in [
            ("/x/cut", "cut-connection", None),
            ("/x/half", "cut-body", Some((200, &b"01234"[..], 10, false))),
            ("/x/malformed", "malformed-body", Some((200, &b"[1\x01"[..], 3, true))),
        ] {
            let failed = match version {
                Version::HTTP_2 => http_2.get(path).await.is_err(),
                _ => watched.client.get(path).try_send().await.is_err(),
            };
            let call = watched.call().await;
            let complete = answer.is_some_and(|(_, _, _, complete)| complete);
            assert_eq!((call.fault, call.request.version, failed), (Some(fault), version, !complete));
            assert_eq!(call.answer.as_ref().map(|answer| sent(Some(answer))), answer, "{path}");
            assert_eq!(call.aborted, !complete);
        }
    }
}

#[tokio::test]
async fn memory_of_a_request_body_is_free_while_its_answer_is_sent() {
    let (started, mut starts) = mpsc::unbounded_channel();
    let handler = async move |_: web::Body<Anything>| {
        started.send(()).unwrap();
        let part = stream::once(async { Ok::<_, Infallible>(Bytes::from_static(b"abc")) });
        Body::from_stream(part.chain(stream::pending())).into_response()
    };
    let (store, api) = (Store::new(Engine::Sqlite), Handlers::new().on(Method::POST, "/v1/things", handler));
    let limits = RequestLimits { memory_bytes: 10, ..RequestLimits::default() };
    let watched = watch(Service { api, limits, ..sample(&store) }.into_app()).await;
    let mut wires = Vec::new();
    for _ in 0..2 {
        let head = "POST /x/v1/things HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json";
        let mut wire = watched.wire(&format!("{head}\r\ncontent-length: 7\r\n\r\n{{\"a\":1}}")).await;
        assert_eq!(wire.head().await.0, 200);
        soon("the request", starts.recv()).await.unwrap();
        wires.push(wire);
    }
}
