//! Problems as pages, for clients that rank HTML first: browsers.

use crate::support::serve;
use axum::{Router, routing::get};
use http::{HeaderValue, Method, header};
use testkit::Browser;
use web::{
    Problem, Query, Reply, Result,
    input::{Fields, Input, rules},
    problem::{CONFLICT, UNAUTHORIZED},
};

/// What Chromium sends with an address that a person opens.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,\
                       application/signed-exchange;v=b3;q=0.7";

struct Limit;

impl Input for Limit {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.optional("limit", rules::integer(1..=9)).map(|_| Limit)
    }
}

fn router() -> Router {
    Router::new()
        .route("/list", get(async |_: Query<Limit>| Reply("fine")))
        .route(
            "/secret",
            get(async || -> Result<()> {
                let challenge = HeaderValue::from_static("Bearer realm=\"Sample\"");
                Err(Problem::new(&UNAUTHORIZED, "Who are you?")
                    .with_header(header::WWW_AUTHENTICATE, challenge))
            }),
        )
        .route(
            "/markup",
            get(async || -> Result<()> {
                Err(Problem::new(&CONFLICT, "</p><script>alert(1)</script><p title=\"x\">&amp;"))
            }),
        )
}

#[tokio::test]
async fn browser_gets_a_page_and_other_clients_a_document() {
    let (_server, client) = serve(router()).await;
    let ask = async |path: &str, accept: &str| client.get(path).header("accept", accept).send().await;
    let page = ask("/list?limit=0&limt=1", BROWSER).await;
    page.is_problem_page(400, "invalid-request", "2 things are wrong with this request; see errors.");
    for item in [
        "<h1>Invalid request</h1>",
        "<li><code>?limit</code> must be a whole number from 1 to 9</li>",
        "<li><code>?limt</code> is not a parameter of this operation; did you mean `limit`?</li>",
    ] {
        assert!(page.text().contains(item), "{item} in {}", page.text());
    }
    assert!(page.text().contains(&format!("Request <code>{}</code>", page.header("x-request-id"))));
    assert_eq!((page.header("x-frame-options"), page.header("referrer-policy")), ("DENY", "no-referrer"));
    for accept in ["*/*", "application/json", "application/json, text/html", "text/html;q=0.5, */*", ""] {
        ask("/nowhere", accept).await.is_problem(404, "not-found");
    }
    // What succeeds is as it is.
    assert_eq!(ask("/list", BROWSER).await.has_status(200).header("content-type"), "application/json");
}

#[tokio::test]
async fn page_keeps_the_challenge_and_escapes_the_detail() {
    let (_server, client) = serve(router()).await;
    let refused = client.get("/secret").header("accept", BROWSER).send().await;
    refused.is_problem_page(401, "unauthorized", "Who are you?");
    assert_eq!(refused.header("www-authenticate"), "Bearer realm=\"Sample\"");
    let page = client.get("/markup").header("accept", BROWSER).send().await;
    let escaped =
        "&#60;/p&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#60;p title=&#34;x&#34;&#62;&#38;amp;";
    page.is_problem_page(409, "conflict", escaped);
    let head = client.call(Method::HEAD, "/markup").header("accept", BROWSER).send().await;
    assert_eq!(
        (head.status, head.header("content-type"), head.text().as_str()),
        (409, "text/html; charset=utf-8", "")
    );
    assert_eq!(head.header("content-length"), page.body.len().to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_shows_the_problem() {
    let (server, _client) = serve(router()).await;
    let browser = Browser::start().await;
    for (path, title, detail) in [
        ("/nowhere", "Not found", "There is nothing at this address."),
        ("/secret", "Sign-in needed", "Who are you?"),
        ("/list?limit=0", "Invalid request", "?limit must be a whole number from 1 to 9."),
    ] {
        browser.go(&format!("http://{}{path}", server.address())).await;
        browser.shows("h1", title).await;
        browser.shows("p", detail).await;
    }
    let reports = browser.reports().await;
    let forbidden: Vec<_> = reports.iter().filter(|(source, _)| source == "security").collect();
    assert!(forbidden.is_empty(), "{forbidden:?}");
}
