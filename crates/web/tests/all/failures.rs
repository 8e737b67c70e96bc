//! Errors: the client gets what it needs, and no internal details.

use crate::support::serve;
use axum::{
    Router,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use http::HeaderValue;
use serde_json::json;
use web::{
    Problem, Result,
    problem::{CONFLICT, STANDARD},
};

const SECRET: &str = "the secret is 4711";

async fn panics() -> &'static str {
    panic!("{SECRET}")
}

fn failing(error: fn() -> db::Error) -> axum::routing::MethodRouter {
    get(async move || -> Result<&'static str> { Err(error().into()) })
}

#[tokio::test]
async fn panic_gets_500_without_its_text_and_the_service_keeps_running() {
    let router = Router::new()
        .route("/", get(async || "hello"))
        .route("/panic", get(panics))
        .route("/late", get(async || -> &'static str { std::panic::panic_any(7) }));
    let (_server, client) = serve(router).await;
    for path in ["/panic", "/late"] {
        let answer = client.get(path).send().await;
        assert_eq!(
            answer.is_problem(500, "internal"),
            "The service failed to answer this request. It is not your fault; trying again may help."
        );
        assert!(!answer.text().contains("4711"), "{}", answer.text());
        assert_eq!(client.get("/").send().await.has_status(200).text(), "hello");
    }
}

#[tokio::test]
async fn cause_of_an_error_is_not_sent() {
    let router = Router::new()
        .route("/internal", get(async || -> Result<()> { Err(Problem::internal(SECRET)) }))
        .route(
            "/because",
            get(async || -> Result<()> { Err(Problem::new(&CONFLICT, "It is taken.").because(SECRET)) }),
        );
    let (_server, client) = serve(router).await;
    for (path, status, kind) in [("/internal", 500, "internal"), ("/because", 409, "conflict")] {
        let answer = client.get(path).send().await;
        answer.is_problem(status, kind);
        assert!(!answer.text().contains("secret"), "{}", answer.text());
        assert!(answer.headers.values().all(|value| !value.to_str().unwrap().contains("secret")));
    }
}

#[tokio::test]
async fn each_database_error_has_its_problem() {
    let secret = || SECRET.to_owned();
    let router = Router::new()
        .route("/busy", failing(|| db::Error::Busy))
        .route("/unavailable", failing(|| db::Error::Unavailable(SECRET.into())))
        .route("/unique", failing(|| db::Error::Unique(SECRET.into())))
        .route("/constraint", failing(|| db::Error::Constraint(SECRET.into())))
        .route("/column", failing(|| db::Error::Column { index: 0, cause: SECRET.into() }))
        .route("/aborted", failing(|| db::Error::Aborted))
        .route("/fault", failing(|| db::Error::Fault(SECRET.into())))
        .route("/engine", failing(|| db::Error::Engine(SECRET.into())))
        .route("/conflict", failing(|| db::Error::Conflict(SECRET.into())));
    let (_server, client) = serve(router).await;
    let internal = "The service failed to answer this request. It is not your fault; trying again may help.";
    for (path, status, kind, retry, detail) in [
        ("/busy", 503, "unavailable", "1", "The service is busy. Try again in a moment."),
        (
            "/unavailable",
            503,
            "unavailable",
            "5",
            "The service cannot reach its storage just now. Nothing of this request is known to have happened; try \
             again in a moment.",
        ),
        ("/unique", 500, "internal", "", internal),
        ("/constraint", 500, "internal", "", internal),
        ("/column", 500, "internal", "", internal),
        ("/aborted", 500, "internal", "", internal),
        ("/fault", 500, "internal", "", internal),
        ("/engine", 500, "internal", "", internal),
        ("/conflict", 500, "internal", "", internal),
    ] {
        let answer = client.get(path).send().await;
        assert_eq!(answer.is_problem(status, kind), detail, "{path}");
        assert_eq!(answer.header("retry-after"), retry, "{path}");
        assert!(!answer.text().contains(&secret()), "{path}");
    }
}

#[tokio::test]
async fn bare_status_of_a_library_becomes_a_problem_of_its_kind() {
    async fn bare(axum::extract::Path(status): axum::extract::Path<u16>) -> Response {
        let mut response = (StatusCode::from_u16(status).unwrap(), SECRET).into_response();
        response.headers_mut().insert("x-kept", HeaderValue::from_static("yes"));
        response
    }
    let (_server, client) = serve(Router::new().route("/{status}", get(bare))).await;
    for kind in STANDARD {
        let answer = client.get(&format!("/{}", kind.status.as_u16())).send().await;
        assert_eq!(answer.is_problem(kind.status.as_u16(), kind.name), kind.help);
        assert_eq!(answer.header("x-kept"), "yes");
        assert_eq!(answer.header("cache-control"), "no-store");
    }
    // Other statuses get the most general kind of their class.
    client.get("/418").send().await.is_problem(400, "invalid-request");
    client.get("/507").send().await.is_problem(500, "internal");
    assert_eq!(client.get("/299").send().await.has_status(299).text(), SECRET);
}

#[tokio::test]
async fn problem_document_has_all_its_members() {
    let (_server, client) = serve(Router::new().route("/", get(async || "hello"))).await;
    let answer = client.post("/").header("x-request-id", "mine-1").send().await;
    assert_eq!(answer.header("allow"), "GET,HEAD");
    assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.status, 405);
    let detail = "This address exists, but does not support this method. The Allow header lists the supported methods.";
    assert_eq!(
        answer.json(),
        json!({
            "type": "/problems/method-not-allowed",
            "title": "Method not allowed",
            "status": 405,
            "detail": detail,
            "instance": "mine-1",
        })
    );
}
