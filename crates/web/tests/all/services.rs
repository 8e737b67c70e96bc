//! A complete service: its extra routes, and the layers around its operations.

use crate::support::{RawConnection, sample, serve};
use axum::{Router, routing::get};
use http::Method;
use serde_json::json;
use testkit::{Client, Engine, Server, Store};
use web::{
    Problem, Reply, Result, Service,
    openapi::{ApiRoutes, Handlers},
    problem::{CONFLICT, Kind, STANDARD},
    routes,
};

const OWN: Kind = Kind {
    name: "sold-out",
    status: http::StatusCode::CONFLICT,
    title: "Sold out",
    help: "There are no tickets left for <this> event.",
};

#[utoipa::path(post, path = "/conflict", responses((status = 200, body = String, content_type = "application/json")))]
async fn conflict() -> Result<()> {
    Err(Problem::new(&CONFLICT, "x".repeat(5000)))
}

async fn start() -> (Store, Server, Client) {
    let store = Store::new(Engine::Sqlite);
    let (conflict, openapi) =
        ApiRoutes::new("/v1", utoipa::openapi::OpenApi::default()).routes(routes!(conflict)).finish();
    let api = Handlers::new()
        // Two quotes around them: 1399 bytes and 1400.
        .on(Method::GET, "/v1/small", async || Reply("x".repeat(1397)))
        .on(Method::GET, "/v1/large", async || Reply("x".repeat(1398)))
        .merge(conflict);
    let service = Service {
        title: "Sample & Co",
        about: "A service for <tests>.",
        api,
        openapi,
        problems: &[&OWN],
        extra_routes: Router::new().route("/oauth/page", get(async || "x".repeat(2000))),
        ..sample(&store)
    };
    let (server, client) = serve(service.into_app()).await;
    (store, server, client)
}

#[tokio::test]
async fn large_answers_are_compressed_if_the_client_accepts_it() {
    let (_store, server, client) = start().await;
    for (path, accept, encoding) in [
        ("/v1/large", "gzip", "gzip"),
        ("/v1/large", "br, gzip;q=0.5", "gzip"),
        ("/v1/large", "gzip;q=0", ""),
        ("/v1/large", "identity", ""),
        ("/v1/large", "", ""),
        ("/v1/small", "gzip", ""),
        // A page with a secret in it.
        ("/oauth/page", "gzip", ""),
    ] {
        // Over a raw connection, which does not decompress.
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: {accept}\r\n\r\n"))
            .await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, answer.header("content-encoding")), (200, encoding), "{path} {accept}");
        let vary = answer.headers.get_all("vary").iter().any(|value| value == "accept-encoding");
        assert_eq!(vary, path == "/v1/large", "{path} {accept}");
        let length = answer.body.len();
        assert_eq!(length < 200, !encoding.is_empty(), "{path} {accept}: {length} bytes");
    }
    client.get("/v1/large").send().await.is(200, &json!("x".repeat(1398)));
}

#[tokio::test]
async fn problem_is_not_compressed() {
    let (_store, _server, client) = start().await;
    let answer = client.post("/v1/conflict").header("accept-encoding", "gzip").send().await;
    assert_eq!(answer.header("content-encoding"), "");
    assert_eq!(answer.is_problem(409, "conflict"), "x".repeat(5000));
}

#[tokio::test]
async fn pages_of_any_origin_may_call_the_api_and_read_its_headers() {
    let (_store, _server, client) = start().await;
    let preflight = client
        .call(Method::OPTIONS, "/v1/large")
        .header("origin", "https://elsewhere.example")
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "authorization,content-type")
        .send()
        .await;
    preflight.has_status(200);
    assert_eq!(preflight.header("access-control-allow-origin"), "*");
    assert_eq!(preflight.header("access-control-allow-methods"), "GET,HEAD,POST,PUT,PATCH,DELETE");
    assert_eq!(preflight.header("access-control-allow-headers"), "authorization,content-type");
    assert_eq!(preflight.header("access-control-max-age"), "3600");
    assert_eq!(preflight.header("access-control-allow-credentials"), "");

    // Of an operation in the document.
    let preflight = client.call(Method::OPTIONS, "/v1/conflict").send().await;
    preflight.has_status(200);
    assert_eq!(preflight.header("allow"), "POST");
    assert_eq!(preflight.header("access-control-allow-origin"), "*");

    for (method, path, status) in [
        (Method::GET, "/v1/small", 200),
        (Method::POST, "/v1/conflict", 409),
        (Method::DELETE, "/v1/small", 405),
        (Method::GET, "/v1/nowhere", 404),
    ] {
        let answer = client.call(method, path).header("origin", "https://elsewhere.example").send().await;
        answer.has_status(status);
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert_eq!(
            answer.header("access-control-expose-headers"),
            "location,retry-after,www-authenticate,x-request-id"
        );
    }
    // Other origins may not read the pages of the service.
    let page = client.get("/").header("origin", "https://elsewhere.example").send().await;
    assert_eq!(page.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn client_that_does_not_accept_json_gets_406_before_the_operation_runs() {
    let (_store, _server, client) = start().await;
    let page = client.post("/v1/conflict").header("accept", "text/html").send().await;
    page.is_problem_page(406, "not-acceptable", "This operation answers as application/json only.");
    for accept in ["application/json;q=0", "application/xml, text/*;q=0.5"] {
        let answer = client.post("/v1/conflict").header("accept", accept).send().await;
        assert_eq!(
            answer.is_problem(406, "not-acceptable"),
            "This operation answers as application/json only.",
            "{accept}"
        );
    }
    for accept in ["*/*", "application/*", "text/html, */*;q=0.1", "application/json; charset=utf-8"] {
        client.get("/v1/small").header("accept", accept).send().await.has_status(200);
    }
}

#[tokio::test]
async fn pages_of_a_service_are_served() {
    let (_store, _server, client) = start().await;
    assert_eq!(client.get("/healthz").send().await.has_status(200).text(), "ok\n");
    assert_eq!(client.get("/readyz").send().await.has_status(200).text(), "ready\n");
    let document = client.get("/openapi.json").send().await;
    assert_eq!(document.has_status(200).header("access-control-allow-origin"), "*");
    assert!(document.json()["openapi"].is_string());
    let page = client.get("/docs/").send().await;
    assert_eq!(
        page.has_status(200).header("content-security-policy"),
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
         font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    assert_eq!((page.header("x-frame-options"), page.header("referrer-policy")), ("DENY", "no-referrer"));
    let script = client.get("/docs/start.js").send().await;
    assert!(script.has_status(200).text().contains("persistAuth: false"), "{}", script.text());
    let reference = "/docs/scalar-1.50.0.js";
    assert!(page.text().contains(reference.trim_start_matches("/docs/")), "{}", page.text());
    for (accept, encoding, length) in
        [("gzip", "gzip", 1_108_049), ("gzip;q=0", "", 3_959_233), ("br", "", 3_959_233)]
    {
        let mut wire = RawConnection::connect(client.address()).await;
        let call =
            format!("GET {reference} HTTP/1.1\r\nhost: localhost\r\naccept-encoding: {accept}\r\n\r\n");
        wire.send(call).await;
        let answer = wire.answer().await;
        assert_eq!((answer.status, answer.header("content-encoding")), (200, encoding), "{accept}");
        assert_eq!(answer.body.len(), length, "{accept}");
        assert_eq!(answer.header("content-type"), "text/javascript; charset=utf-8");
    }

    for path in ["/", "/problems", "/problems/not-found", "/docs/signed-in"] {
        let page = client.get(path).send().await;
        assert_eq!(page.has_status(200).header("content-type"), "text/html; charset=utf-8");
        assert!(page.header("content-security-policy").starts_with("default-src 'none';"), "{path}");
        assert_eq!((page.header("x-frame-options"), page.header("referrer-policy")), ("DENY", "no-referrer"));
        let named = page.text().contains("Sample &#38; Co") || page.text().contains("Sample &amp; Co");
        assert!(named || path == "/docs/signed-in", "{path}");
    }
    client.get("/v1/nowhere").send().await.is_problem(404, "not-found");
    client.get("/nowhere").send().await.is_problem(404, "not-found");
}

#[tokio::test]
async fn every_kind_of_problem_has_its_page() {
    let (_store, _server, client) = start().await;
    let all = client.get("/problems").send().await.has_status(200).text();
    for kind in STANDARD.iter().copied().chain([&OWN]) {
        let page = client.get(&format!("/problems/{}", kind.name)).send().await.has_status(200).text();
        assert!(page.contains(kind.title) && all.contains(kind.title), "{}", kind.name);
    }
    let page = client.get("/problems/sold-out").send().await.text();
    assert!(!page.contains("<this>"), "{page}");
    let answer = client.get("/problems/invented").send().await;
    assert_eq!(
        answer.is_problem(404, "not-found"),
        "There is no problem of this name; see /problems for all of them."
    );
}
