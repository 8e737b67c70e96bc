//! Calls over a real socket, observed by the edge.

use axum::{Router, body::Bytes, extract::Request, middleware, routing::post};
use serde_json::json;
use testkit::{Client, Server};
use web::{ConnectionLimits, Problem, Reply, RequestContext, fault, problem::CONFLICT};

use super::*;

/// Serves an application whose calls are recorded.
async fn serve(journal: Arc<Journal>) -> Server {
    let recorder = Arc::new(Recorder::new(journal, "test", "/sandbox/ada"));
    let observe = middleware::from_fn(move |mut request: Request, next: middleware::Next| {
        let now = "2026-03-01T12:00:00Z".parse().unwrap();
        RequestContext::observe(&mut request, recorder.clone(), now);
        next.run(request)
    });
    let app = Router::new()
        .route("/sandbox/ada/pets", post(async |_: Bytes| Reply(json!({"id": 7}))))
        .route("/sandbox/ada/taken", post(async || Problem::new(&CONFLICT, "It is taken.")))
        .route("/sandbox/ada/cut", post(async || fault::cut_connection(axum::response::Response::default())))
        .layer(observe);
    Server::start(ConnectionLimits::default(), |_| app).await
}

/// The next recorded call.
async fn next(follower: &mut Follower) -> JournalCall {
    match follower.next().await.unwrap() {
        Followed::Call(entry) => entry.call(vec![]),
        Followed::Skipped(entries) => panic!("{entries} calls were skipped"),
    }
}

#[tokio::test]
async fn calls_are_recorded_with_their_answers() {
    let journal = journal();
    let server = serve(journal.clone()).await;
    let client = Client::new(server.address());
    let mut follower = journal.follow(Filter::default()).unwrap();

    let created =
        client.post("/sandbox/ada/pets?dry=1").header("x-request-id", "r-1").json(&json!({"name": "doggie"}));
    created.send().await.is(200, &json!({"id": 7}));
    let call = next(&mut follower).await;
    assert_eq!((call.call.number, call.request_id.as_str(), call.call.service.as_str()), (1, "r-1", "test"));
    assert_eq!((call.call.method.as_str(), call.call.path.as_str()), ("POST", "/pets?dry=1"));
    assert_eq!(call.call.time, "2026-03-01T12:00:00Z".parse().unwrap());
    assert_eq!(call.call.caller, Caller { user: None, client: None, address: "127.0.0.1".into() });
    assert_eq!(call.request.body.unwrap().text, r#"{"name":"doggie"}"#);
    assert_eq!(
        (call.call.status, call.call.problem, call.call.fault, call.call.aborted),
        (Some(200), None, None, false)
    );
    assert_eq!(call.answer.body.unwrap().text, r#"{"id":7}"#);
    let value = |headers: &[Header], name: &str| {
        headers.iter().find(|header| header.name == name).map(|header| header.value.clone())
    };
    assert_eq!(value(&call.request.headers, "content-type").as_deref(), Some("application/json"));
    assert_eq!(value(&call.answer.headers, "x-request-id").as_deref(), Some("r-1"));

    client.post("/sandbox/ada/taken").send().await.is_problem(409, "conflict");
    let call = next(&mut follower).await;
    assert_eq!(
        (call.call.status, call.call.problem.as_deref(), call.request.body),
        (Some(409), Some("conflict"), None)
    );
    assert!(call.answer.body.unwrap().text.contains("It is taken."));

    assert!(client.post("/sandbox/ada/cut").try_send().await.is_err());
    let call = next(&mut follower).await;
    assert_eq!(
        (call.call.status, call.call.fault.as_deref(), call.call.aborted),
        (None, Some("cut-connection"), true)
    );
    assert_eq!((call.answer.headers, call.answer.body), (vec![], None));
    server.stop().await;
}
