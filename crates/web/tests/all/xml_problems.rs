//! A service with XML: its problems, its operations without XML, and its extra routes.

use crate::support::{pets::Pet, sample, serve};
use axum::{
    Router,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::Method;
use testkit::{Answer, Client, Engine, Server, Store};
use web::{
    Body, KeepBody, Path, Problem, Reply, RequestLimits, Result, Service, Upload,
    openapi::{ApiRoutes, Handlers},
    problem::CONFLICT,
    routes,
};

#[utoipa::path(get, path = "/json", responses((status = 200, body = String, content_type = "application/json")))]
async fn json() -> Reply<&'static str> {
    Reply("fine")
}

#[utoipa::path(get, path = "/bare", responses((status = 200, body = String, content_type = "application/json")))]
async fn bare() -> StatusCode {
    StatusCode::CONFLICT
}

async fn start(xml: bool) -> (Store, Server, Client) {
    let store = Store::new(Engine::Sqlite);
    let odd = async || -> Result<()> { Err(Problem::new(&CONFLICT, "<It> & \"it\"\r\n\u{1}é\u{ffff}")) };
    let documented = ApiRoutes::new("/v1", utoipa::openapi::OpenApi::default()).routes(routes!(json));
    // An operation with a document answers in JSON only.
    let (documented, openapi) = match xml {
        true => documented.finish(),
        false => documented.routes(routes!(bare)).finish(),
    };
    let undocumented = match xml {
        true => Handlers::new().on(Method::GET, "/v1/bare", bare),
        false => Handlers::new(),
    };
    let api = Handlers::new()
        .on(Method::POST, "/v1/pet", async |Body(Pet(read)): Body<Pet>| Reply(read))
        .on(Method::GET, "/v1/pets/{petId}", async |Path(id): Path<i64>| Reply(id))
        .on(Method::GET, "/v1/odd", odd)
        .on(Method::GET, "/v1/panic", async || -> &'static str { panic!("the secret is 4711") })
        .merge(undocumented)
        .merge(documented);
    let verbatim = async || -> Response {
        let mut response = (StatusCode::BAD_REQUEST, "<p>No.</p>").into_response();
        response.extensions_mut().insert(KeepBody);
        response
    };
    let beside = Router::new()
        .route("/oauth/page", get(async || "a page"))
        .route("/oauth/error", get(verbatim))
        .route("/oauth/upload", post(async |Upload::<1000>(bytes)| bytes));
    let service = Service {
        api,
        openapi,
        limits: RequestLimits { body_bytes: 500, ..RequestLimits::default() },
        xml,
        extra_routes: beside,
        exposed: &["X-Rate-Limit", "x-expires-after"],
        ..sample(&store)
    };
    let (server, client) = serve(service.into_app()).await;
    (store, server, client)
}

/// Asserts a problem in XML, whole.
#[track_caller]
fn is_xml_problem(answer: &Answer, status: u16, kind: &str, title: &str, rest: &str) {
    assert_eq!(answer.header("content-type"), "application/problem+xml", "{}", answer.text());
    let id = answer.header("x-request-id");
    let (detail, errors) = rest.split_once("<errors>").unwrap_or((rest, ""));
    let errors = if errors.is_empty() { String::new() } else { format!("<errors>{errors}") };
    let expected = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><problem xmlns=\"urn:ietf:rfc:7807\">\
         <type>/problems/{kind}</type><title>{title}</title><status>{status}</status>\
         <detail>{detail}</detail><instance>{id}</instance>{errors}</problem>"
    );
    assert_eq!((answer.status, answer.text()), (status, expected));
    assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(!id.is_empty());
    varies(answer);
}

#[track_caller]
fn varies(answer: &Answer) {
    let by_accept = answer.headers.get_all("vary").iter().filter(|value| *value == "accept").count();
    assert_eq!(by_accept, 1, "{:?}", answer.headers);
}

#[tokio::test]
async fn every_problem_is_written_in_xml() {
    let (_store, _server, client) = start(true).await;
    let ask = async |method: Method, path: &str| {
        client.call(method, path).header("accept", "application/xml").send().await
    };
    let nothing =
        "There is nothing at this address. The API begins at /v1; its operations are listed at /docs.";
    for nowhere in ["/v1/nowhere", "/nowhere", "/v1", "/docs/nowhere"] {
        is_xml_problem(&ask(Method::GET, nowhere).await, 404, "not-found", "Not found", nothing);
    }
    is_xml_problem(
        &ask(Method::GET, "/problems/invented").await,
        404,
        "not-found",
        "Not found",
        "There is no problem of this name; see /problems for all of them.",
    );
    let answer = ask(Method::DELETE, "/v1/pet").await;
    assert_eq!(answer.header("allow"), "POST");
    is_xml_problem(
        &answer,
        405,
        "method-not-allowed",
        "Method not allowed",
        "This address exists, but does not support this method. The Allow header lists the supported methods.",
    );
    let wanted = "must be a whole number from -9223372036854775808 to 9223372036854775807";
    is_xml_problem(
        &ask(Method::GET, "/v1/pets/x").await,
        400,
        "invalid-request",
        "Invalid request",
        &format!(
            "{{petId}} {wanted}.<errors><error><pointer>{{petId}}</pointer><detail>{wanted}</detail></error></errors>"
        ),
    );
    is_xml_problem(
        &ask(Method::GET, "/v1/odd").await,
        409,
        "conflict",
        "Conflict",
        "&lt;It&gt; &amp; \"it\"&#13;\n\u{fffd}é\u{fffd}",
    );
    is_xml_problem(
        &ask(Method::GET, "/v1/bare").await,
        409,
        "conflict",
        "Conflict",
        "The request conflicts with the current state of the resource.",
    );
    for _ in 0..2 {
        is_xml_problem(
            &ask(Method::GET, "/v1/panic").await,
            500,
            "internal",
            "Internal error",
            "The service failed to answer this request. It is not your fault; trying again may help.",
        );
    }
    is_xml_problem(
        &ask(Method::GET, "/v1/json").await,
        406,
        "not-acceptable",
        "Not acceptable",
        "This operation answers as application/json only.",
    );
    let head = ask(Method::HEAD, "/v1/odd").await;
    assert_eq!(
        (head.status, head.header("content-type"), head.body.len()),
        (409, "application/problem+xml", 0)
    );
}

#[tokio::test]
async fn validation_errors_are_written_in_xml() {
    let (_store, _server, client) = start(true).await;
    let body = "<pet><name></name><legs>&lt;x</legs></pet>";
    let answer =
        client.post("/v1/pet").header("accept", "text/xml").body("application/xml", body).send().await;
    is_xml_problem(
        &answer,
        422,
        "unprocessable",
        "Unprocessable body",
        "2 things are wrong with this request; see errors.<errors>\
         <error><pointer>#/name</pointer><detail>must not be empty</detail></error>\
         <error><pointer>#/legs</pointer><detail>must be a whole number from 0 to 1000</detail></error></errors>",
    );
    // Repeated text of the request is escaped.
    let answer =
        client.post("/v1/pet").header("accept", "text/xml").body("application/xml", "<pet></a>").send().await;
    let told = "is not valid XML: &lt;/a&gt; cannot end &lt;pet&gt; at line 1 column 6";
    is_xml_problem(
        &answer,
        400,
        "invalid-request",
        "Invalid request",
        &format!("# {told}.<errors><error><pointer>#</pointer><detail>{told}</detail></error></errors>"),
    );
    let large = "x".repeat(501);
    let answer = client.post("/v1/pet").header("accept", "text/xml").body("text/xml", large).send().await;
    is_xml_problem(&answer, 413, "too-large", "Body too large", "The body must be at most 500 bytes long.");
}

#[tokio::test]
async fn problem_is_json_unless_the_client_prefers_xml() {
    let (_store, _server, client) = start(true).await;
    for (accept, xml) in [
        ("", false),
        ("*/*", false),
        ("application/*", false),
        ("application/json", false),
        ("application/problem+json", false),
        ("application/xml", true),
        ("text/xml", true),
        ("application/problem+xml", true),
        ("Application/XML", true),
        ("text/*", true),
        ("application/json, application/xml", false),
        ("application/xml, application/json", false),
        ("application/xml, application/problem+json", false),
        ("application/json;q=0.9, application/xml", true),
        ("application/json;q=0.9, text/xml;q=0.91", true),
        ("application/json;q=0.9, application/xml;q=0.8", false),
        ("application/json;q=0.9, application/problem+xml;q=0.8", false),
        ("application/json;q=0.9, application/problem+json;q=0.5, application/xml;q=0.8", false),
        ("application/problem+json;q=0.2, application/problem+xml;q=0.3", true),
        ("application/xml, */*;q=0.8", true),
        ("application/json;q=0, */*", false),
        ("application/json;q=0, application/problem+json;q=0, */*", true),
        ("application/xml;q=0, application/problem+xml;q=0.1", true),
        // Neither is accepted: the problem is in JSON.
        ("image/png", false),
        ("application/xml;q=0", false),
        ("*/*;q=0", false),
    ] {
        let answer = client.get("/v1/bare").header("accept", accept).send().await;
        let media_type = if xml { "application/problem+xml" } else { "application/problem+json" };
        assert_eq!((answer.status, answer.header("content-type")), (409, media_type), "{accept}");
        varies(&answer);
    }
}

#[tokio::test]
async fn service_without_xml_answers_in_json() {
    let (_store, _server, client) = start(false).await;
    for path in ["/v1/nowhere", "/nowhere"] {
        let answer = client.get(path).header("accept", "application/xml").send().await;
        answer.is_problem(404, "not-found");
        assert!(!answer.headers.get_all("vary").iter().any(|value| value == "accept"));
    }
    let answer = client.get("/v1/bare").header("accept", "application/xml").send().await;
    assert_eq!(answer.is_problem(406, "not-acceptable"), "This operation answers as application/json only.");
    client.get("/v1/panic").send().await.is_problem(500, "internal");
}

#[tokio::test]
async fn successful_answers_are_unchanged() {
    let (_store, _server, client) = start(true).await;
    let answer = client.get("/v1/json").header("accept", "application/json, application/xml").send().await;
    answer.is(200, &"fine".into());
    assert!(!answer.headers.get_all("vary").iter().any(|value| value == "accept"));
    // An operation without a response format is not affected.
    client.get("/v1/pets/-5").header("accept", "application/xml").send().await.is(200, &(-5).into());
}

#[tokio::test]
async fn extra_routes_allow_no_other_origin() {
    let (_store, _server, client) = start(true).await;
    let from_elsewhere = |method, path: &str| {
        client.call(method, path).header("origin", "https://elsewhere.example").header("accept", "text/xml")
    };
    let page = from_elsewhere(Method::GET, "/oauth/page").send().await;
    assert_eq!((page.status, page.text().as_str()), (200, "a page"));
    assert_eq!(page.header("access-control-allow-origin"), "");
    let error = from_elsewhere(Method::GET, "/oauth/error").send().await;
    assert_eq!((error.status, error.text().as_str()), (400, "<p>No.</p>"));
    assert_eq!(error.header("access-control-allow-origin"), "");
    assert!(!error.headers.get_all("vary").iter().any(|value| value == "accept"));

    let api = from_elsewhere(Method::GET, "/v1/nowhere").send().await;
    assert_eq!(api.header("access-control-allow-origin"), "*");
    assert_eq!(
        api.header("access-control-expose-headers"),
        "location,retry-after,www-authenticate,x-request-id,x-rate-limit,x-expires-after"
    );
    varies(&api);
}

#[tokio::test]
async fn body_limit_applies_to_extra_routes() {
    let (_store, _server, client) = start(true).await;
    // An upload has its own limit, above that of other bodies.
    let send = async |size: usize| client.post("/oauth/upload").body("image/png", vec![0; size]).send().await;
    send(1000).await.has_status(200);
    assert_eq!(send(1001).await.is_problem(413, "too-large"), "The body must be at most 1000 bytes long.");
}
