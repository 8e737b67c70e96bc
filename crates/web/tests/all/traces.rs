//! The span of a request, and its trace in the log.

use db::Db;
use http::Method;
use serde_json::{Value, json};
use testkit::{Address, Client, Collector, Engine, Log, Server, Store, collector::Collected};
use trace::{Exporter, Settings, TraceContext, Traces};
use web::{ConnectionLimits, Problem, Proxies, Random, RequestContext, Service, Site, openapi::Handlers};

use crate::support::sample;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

struct Open {
    client: Client,
    collector: Collector,
    exporter: Exporter,
    server: Server,
    _store: Store,
}

fn operations(db: &Db) -> Handlers {
    let db = db.clone();
    let reads = async move |context: RequestContext| {
        let read = db.read(|tx| tx.row("SELECT 1", &[], |row| row.get::<i64>(0))).await;
        read.map_err(Problem::internal)?;
        let written = db.write(|_| Ok::<_, db::Error>(())).await;
        written.map_err(Problem::internal)?;
        Ok::<_, Problem>(context.trace().map_or_else(String::new, TraceContext::to_text))
    };
    let fails = async || -> Result<(), Problem> { Err(Problem::internal("a cause")) };
    let handlers = Handlers::new();
    handlers.on(Method::GET, "/v1/pet/{petId}", reads).on(Method::GET, "/v1/fails", fails)
}

impl Open {
    async fn start() -> Self {
        Open::at("").await
    }

    /// A service with this public address.
    async fn at(address: &str) -> Self {
        Log::start_with_everything();
        let (store, collector) = (Store::new(Engine::Sqlite), Collector::start().await);
        let settings = Settings {
            address: format!("{}/v1/traces", collector.endpoint()).parse().unwrap(),
            headers: http::HeaderMap::new(),
            sample_ratio: 1.0,
            queue: 8192,
        };
        let (traces, exporter) = Traces::start(settings, |bytes| Random::system().fill(bytes)).unwrap();
        let site = Site {
            name: "pets",
            address: address.into(),
            proxies: Proxies::default(),
            limits: ConnectionLimits::default(),
            tls: None,
            traces: Some(traces),
        };
        let service = sample(&store);
        let app = Service { api: operations(&service.db), ..service }.into_app();
        let server = Address::free().await.serve_site(site, app);
        Open { client: Client::new(server.address()), collector, exporter, server, _store: store }
    }

    /// Stops it, and gives the spans that it sent.
    async fn spans(self, count: usize) -> Vec<Collected> {
        self.server.stop().await;
        self.exporter.run(std::future::ready(())).await;
        self.collector.spans(count).await
    }
}

fn attributes(port: u16, method: &str, route: Option<&str>, status: u16) -> Value {
    let mut attributes = json!({
        "http.request.method": method, "http.response.status_code": status, "url.scheme": "http",
        "server.address": "127.0.0.1", "server.port": port, "client.address": "127.0.0.1",
    });
    if let Some(route) = route {
        attributes["http.route"] = json!(route);
    }
    attributes
}

#[tokio::test]
async fn request_and_its_database_work_are_spans_of_one_trace() {
    let open = Open::start().await;
    let port = open.client.address().port();
    let text =
        open.client.get("/v1/pet/7").header("x-request-id", "traced-1").send().await.has_status(200).text();
    let spans = open.spans(3).await;
    let [read, write, request] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(
        text,
        format!("00-{}-{}-01", request.trace_id, request.id),
        "the context that the handler passes on"
    );
    assert_eq!(
        (request.name.as_str(), request.kind, request.parent.as_str()),
        ("GET /v1/pet/{petId}", 2, "")
    );
    assert_eq!(request.attributes, attributes(port, "GET", Some("/v1/pet/{petId}"), 200));
    assert_eq!(request.resource["service.name"], "pets");
    for (span, name) in [(read, "read"), (write, "write")] {
        assert_eq!((span.name.as_str(), span.kind), (name, 3));
        assert_eq!(
            (&span.trace_id, &span.parent, &span.resource),
            (&request.trace_id, &request.id, &request.resource)
        );
        assert_eq!(span.attributes, json!({"db.system.name": "sqlite"}));
    }
    assert!(!spans.iter().any(|span| span.failed), "{spans:?}");
    let lines = Log::start().about("traced-1");
    assert_eq!(lines[0]["fields"]["trace_id"], request.trace_id.as_str(), "{lines:?}");
}

#[tokio::test]
async fn trace_of_the_client_is_continued() {
    let open = Open::start().await;
    let call = open.client.get("/v1/pet/7").header("traceparent", PARENT).header("tracestate", "a=1");
    let text = call.send().await.has_status(200).text();
    let spans = open.spans(3).await;
    let request = &spans[2];
    assert_eq!(
        (request.trace_id.as_str(), request.parent.as_str(), request.state.as_str()),
        (TRACE, "00f067aa0ba902b7", "a=1")
    );
    assert_eq!(text, format!("00-{TRACE}-{}-01 a=1", request.id));
    assert!(spans.iter().all(|span| span.trace_id == TRACE), "{spans:?}");
}

#[tokio::test]
async fn invalid_traceparent_starts_a_new_trace() {
    let open = Open::start().await;
    for parent in ["nonsense", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"] {
        let call = open.client.get("/v1/fails").header("traceparent", parent).header("tracestate", "a=1");
        call.send().await.has_status(500);
    }
    for span in open.spans(2).await {
        assert_eq!((span.parent.as_str(), span.state.as_str()), ("", ""));
        assert_ne!(span.trace_id, TRACE);
    }
}

#[tokio::test]
async fn trace_that_its_client_does_not_record_is_not_recorded_and_is_passed_on() {
    let open = Open::start().await;
    let parent = PARENT.replace("-01", "-00");
    let call = open.client.get("/v1/pet/7").header("traceparent", &parent).header("x-request-id", "traced-2");
    let text = call.send().await.has_status(200).text();
    assert!(text.starts_with(&format!("00-{TRACE}-")) && text.ends_with("-00") && text != parent, "{text}");
    assert_eq!(Log::start().about("traced-2")[0]["fields"]["trace_id"], TRACE);
    open.client.get("/v1/fails").send().await.has_status(500);
    assert_eq!(open.spans(1).await[0].name, "GET /v1/fails");
}

#[tokio::test]
async fn spans_have_no_query_and_no_secret_and_errors_are_marked() {
    let open = Open::start().await;
    let port = open.client.address().port();
    let call = |method: &str, path: &str| {
        open.client.call(method.parse().unwrap(), path).header("authorization", "Bearer hush")
    };
    call("GET", "/v1/fails?secret=hush").send().await.has_status(400);
    call("GET", "/v1/fails").send().await.has_status(500);
    call("GET", "/no/hush?secret=hush").send().await.has_status(404);
    call("BREW", "/v1/fails").send().await.has_status(405);
    call("GET", "/healthz").send().await.has_status(200);
    call("GET", "/readyz").send().await.has_status(200);
    let spans = open.spans(4).await;
    assert!(!format!("{spans:?}").contains("hush"), "{spans:?}");
    let mut failed = attributes(port, "GET", Some("/v1/fails"), 500);
    failed["error.type"] = json!("500");
    let expected = [
        ("GET /v1/fails", attributes(port, "GET", Some("/v1/fails"), 400), false),
        ("GET /v1/fails", failed, true),
        ("GET", attributes(port, "GET", None, 404), false),
        ("HTTP /v1/fails", attributes(port, "_OTHER", Some("/v1/fails"), 405), false),
    ];
    let found: Vec<_> =
        spans.iter().map(|span| (span.name.as_str(), span.attributes.clone(), span.failed)).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn server_is_named_by_its_public_address() {
    for (address, scheme, host, port) in [
        ("https://pets.example.com", "https", "pets.example.com", 443),
        ("http://pets.example.com:8080", "http", "pets.example.com", 8080),
    ] {
        let open = Open::at(address).await;
        open.client.get("/v1/fails").send().await.has_status(500);
        let found = open.spans(1).await[0].attributes.clone();
        let found = (&found["url.scheme"], &found["server.address"], &found["server.port"]);
        assert_eq!(found, (&json!(scheme), &json!(host), &json!(port)));
    }
}

#[tokio::test]
async fn without_traces_a_handler_can_pass_the_trace_of_the_client_on() {
    let store = Store::new(Engine::Sqlite);
    let service = sample(&store);
    let app = Service { api: operations(&service.db), ..service }.into_app();
    let (_server, client) = crate::support::serve(app).await;
    let call = client.get("/v1/pet/7").header("traceparent", PARENT).header("tracestate", "a=1");
    assert_eq!(call.send().await.has_status(200).text(), format!("{PARENT} a=1"));
    for header in ["traceparent", "x-other"] {
        let call = client.get("/v1/pet/7").header(header, "nonsense").header("x-request-id", "untraced");
        assert_eq!(call.send().await.has_status(200).text(), "");
    }
}
