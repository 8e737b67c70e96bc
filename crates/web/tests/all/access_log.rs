//! The access log: a line per request, with its id and without secrets.

use crate::support::{RawConnection, serve, serve_within, soon};
use axum::{
    Router,
    extract::{Path, Request},
    routing::{get, post},
};
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::json;
use testkit::{Client, Log};
use tokio::sync::mpsc;
use web::{
    Body, ConnectionLimits, Problem, Query, Reply, RequestContext, Result,
    input::{Fields, Input, rules},
    problem::{CONFLICT, UNAVAILABLE},
    reply::{self, Batch},
};

/// The log of all tests of this file, each of which knows its own lines by their ids.
fn log() -> &'static Log {
    Log::start_with_everything()
}

struct Secret;

impl Input for Secret {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.required("secret", rules::text(1..=5)).map(|_| Secret)
    }
}

fn router() -> Router {
    Router::new()
        .route("/things/{id}", get(async || "thing"))
        .route("/query", get(async |_: Query<Secret>| "fine"))
        .route("/body", post(async |_: Body<Secret>| "fine"))
        .route("/fail", get(async || -> Result<()> { Err(Problem::internal("cause-of-this-failure")) }))
        .route("/panic", get(async || -> () { panic!("text-of-this-panic") }))
        .route(
            "/break",
            get(async || {
                reply::list(0, async |page| match page {
                    0 => Ok(Batch { items: vec![1], next: Some(1) }),
                    _ => Err(Problem::internal("cause-of-this-break")),
                })
                .await
            }),
        )
        .route(
            "/known/{user}/{client}",
            get(
                async |Path((user, client)): Path<(String, String)>,
                       request: Request|
                       -> Result<&'static str> {
                    if user != "-" {
                        RequestContext::set_user(request.extensions(), user);
                    }
                    if client != "-" {
                        RequestContext::set_client(request.extensions(), &client);
                    }
                    if client == "refused" { Err(Problem::new(&CONFLICT, "No.")) } else { Ok("known") }
                },
            ),
        )
        .route("/healthz", get(async || "ok"))
        .route("/metrics", get(async || "many"))
        .route("/readyz", get(async || -> Result<()> { Err(Problem::new(&UNAVAILABLE, "Not yet.")) }))
        .route("/reply", get(async || Reply(json!({"password": "in-an-answer"}))))
}

async fn start() -> (testkit::Server, Client) {
    log();
    serve(router()).await
}

#[tokio::test]
async fn each_request_is_logged_in_one_line_with_its_answer() {
    let (_server, client) = start().await;
    for (id, method, path, status, problem) in [
        ("line-1", "GET", "/things/7", 200, None),
        ("line-2", "HEAD", "/things/7", 200, None),
        ("line-3", "DELETE", "/things/7", 405, Some("method-not-allowed")),
        ("line-4", "GET", "/no%20where", 404, Some("not-found")),
    ] {
        let call = client.call(method.parse().unwrap(), path).header("x-request-id", id);
        call.send().await.has_status(status);
        let lines = log().about(id);
        assert_eq!(lines.len(), 1, "{lines:?}");
        let (line, fields) = (&lines[0], &lines[0]["fields"]);
        assert_eq!(line["level"], "INFO");
        let ms = fields["ms"].as_f64();
        assert!(ms.is_some_and(|ms| ms >= 0.0), "{line}");
        // In milliseconds, to the microsecond.
        assert!(fields["ms"].to_string().split('.').nth(1).is_none_or(|part| part.len() <= 3), "{line}");
        let mut expected = json!({
            "message": "request", "service": "test", "method": method, "path": path, "status": status,
            "client": "127.0.0.1", "id": id, "ms": ms,
        });
        if let Some(problem) = problem {
            expected["problem"] = json!(problem);
        }
        assert_eq!(*fields, expected);
    }
}

#[tokio::test]
async fn line_names_the_user_and_the_client() {
    let (_server, client) = start().await;
    for (path, user, client_id, status) in [
        ("/known/ada/demo", Some("ada"), Some("demo"), 200),
        ("/known/-/demo", None, Some("demo"), 200),
        ("/known/ada/-", Some("ada"), None, 200),
        ("/known/ada/refused", Some("ada"), Some("refused"), 409),
    ] {
        let id = format!("known{}", path.replace('/', "-"));
        client.get(path).header("x-request-id", &id).send().await.has_status(status);
        let lines = log().about(&id);
        assert_eq!(lines.len(), 1, "{lines:?}");
        let fields = &lines[0]["fields"];
        assert_eq!((fields["user"].as_str(), fields["client_id"].as_str()), (user, client_id), "{fields}");
    }
}

#[tokio::test]
async fn successful_probes_are_logged_at_debug_level() {
    let (_server, client) = start().await;
    for (path, status, level) in [
        ("/healthz", 200, "DEBUG"),
        ("/metrics", 200, "DEBUG"),
        ("/readyz", 503, "INFO"),
        ("/things/7", 200, "INFO"),
    ] {
        let id = format!("probe{}", path.replace('/', "-"));
        client.get(path).header("x-request-id", &id).send().await.has_status(status);
        let lines = log().about(&id);
        assert_eq!((lines.len(), lines[0]["level"].as_str()), (1, Some(level)), "{lines:?}");
    }
}

/// Reports when it is dropped.
struct Guard(mpsc::UnboundedSender<()>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn request_of_a_disconnected_client_is_logged_and_counted_as_499() {
    log();
    // No other test of this file asks for the metrics.
    let metrics = PrometheusBuilder::new().install_recorder().unwrap();
    let (begun, mut begins) = mpsc::unbounded_channel();
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let handler = async move || -> &'static str {
        let _guard = Guard(dropped.clone());
        begun.send(()).unwrap();
        std::future::pending().await
    };
    let (server, _) = serve(router().route("/wait", get(handler))).await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET /wait HTTP/1.1\r\nhost: localhost\r\nx-request-id: hung-up\r\n\r\n").await;
    soon("the request", begins.recv()).await.unwrap();
    drop(wire);
    soon("the end of the request", drops.recv()).await.unwrap();
    // The record of a request is dropped after its handler; the server has ended when all of it is.
    soon("the end of the server", server.stop()).await;
    let lines = log().about("hung-up");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let fields = &lines[0]["fields"];
    assert_eq!(lines[0]["level"], "INFO");
    assert_eq!(
        *fields,
        json!({
            "message": "request aborted", "service": "test", "method": "GET", "path": "/wait", "status": 499,
            "client": "127.0.0.1", "id": "hung-up", "ms": fields["ms"],
        })
    );
    let rendered = metrics.render();
    let count =
        r#"triptych_http_request_seconds_count{service="test",method="GET",route="/wait",status="499"} 1"#;
    assert!(rendered.lines().any(|line| line == count), "{rendered}");
}

#[tokio::test]
async fn cause_is_logged_once_with_its_request() {
    let (_server, client) = start().await;
    for (path, cause) in
        [("/fail", "cause-of-this-failure"), ("/panic", "a handler panicked: text-of-this-panic")]
    {
        let id = format!("cause-{}", &path[1..]);
        client.get(path).header("x-request-id", &id).send().await.has_status(500);
        let lines = log().about(&id);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!((&lines[0]["level"], &lines[0]["fields"]["cause"]), (&json!("ERROR"), &json!(cause)));
        assert_eq!(lines[0]["fields"]["status"], 500);
        assert_eq!(log().text().matches(cause).count(), 1);
    }
}

#[tokio::test]
async fn cause_of_an_aborted_list_is_logged_once() {
    let (server, _client) = start().await;
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("GET /break HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    wire.closed().await;
    let text = log().text();
    let lines: Vec<_> =
        text.lines().filter(|line| line.contains(r#""cause":"cause-of-this-break""#)).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(r#""level":"ERROR""#), "{}", lines[0]);
}

#[tokio::test]
async fn malformed_requests_are_logged_with_their_client() {
    log();
    let limits = ConnectionLimits { connections: 1, ..ConnectionLimits::default() };
    let (server, client) = serve_within(limits, router()).await;
    let mut wire = RawConnection::connect_from([127, 4, 7, 11], server.address()).await;
    wire.send("GARBAGE\r\n\r\n").await;
    wire.answer().await.has_status(400);
    drop(wire);
    // There is one permit. This request gets it after the first connection is closed and logged.
    client.get("/things/7").send().await.has_status(200);
    let text = log().text();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let lines: Vec<_> = lines.filter(|line| line["fields"]["client"] == "127.4.7.11").collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(
        (&lines[0]["level"], &lines[0]["fields"]),
        (
            &json!("INFO"),
            &json!({
                "message": "not an HTTP request", "service": "test", "client": "127.4.7.11",
                "cause": "invalid HTTP method parsed",
            })
        )
    );
}

#[tokio::test]
async fn secrets_are_not_logged() {
    let (_server, client) = start().await;
    let signed_in = client.signed_in("somebody", "password-of-somebody");
    signed_in.get("/things/7?token=token-in-a-query").send().await.has_status(200);
    signed_in.get("/nowhere?token=token-in-a-query").send().await.has_status(404);
    client.get("/query?secret=longer-secret-in-a-query").send().await.has_status(400);
    client.get("/query?secret=%zz-broken-secret").send().await.has_status(400);
    client.get("/reply").header("cookie", "session=secret-cookie").send().await.has_status(200);
    let body = json!({"secret": "longer-secret-in-a-body"});
    client.post("/body").json(&body).send().await.has_status(400);
    client.post("/body").body("application/json", r#"{"secret": broken-body"#).send().await.has_status(400);
    client.post("/body").body("text/secret-type", "plain-body").send().await.has_status(415);

    // In the lines of the service and of the HTTP server; the test's client is not part of the service.
    let text = log().text();
    let lines: Vec<_> = text
        .lines()
        .filter(|line| {
            !line.contains(r#""target":"reqwest"#) && !line.contains(r#""target":"hyper_util::client"#)
        })
        .collect();
    assert!(lines.iter().any(|line| line.contains("/things/7")), "nothing was logged");
    for secret in [
        "token-in-a-query",
        "secret-in-a-query",
        "broken-secret",
        "secret-in-a-body",
        "broken-body",
        "plain-body",
        "secret-cookie",
        "in-an-answer",
        "password-of-somebody",
        // The Base64 form of the name and the password.
        "c29tZWJvZHk6cGFzc3dvcmQtb2Ytc29tZWJvZHk",
    ] {
        let found: Vec<_> = lines.iter().filter(|line| line.contains(secret)).collect();
        assert!(found.is_empty(), "{secret}: {found:?}");
    }
}
