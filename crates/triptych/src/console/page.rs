//! The page of the console, and its files.

use std::sync::LazyLock;

use askama::Template;
use axum::{
    Router,
    extract::{Path, RawQuery},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, header};
use url::form_urlencoded;
use web::{
    Problem, Result,
    page::{Assets, add_page_headers, mark},
    problem::NOT_FOUND,
    qr,
};

use super::Console;

/// The longest text of a QR code. A link of a sandbox is shorter.
const LONGEST_TEXT: usize = 300;

static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets::new(&[
        ("console.css", include_bytes!("../../assets/console.css")),
        ("console.js", include_bytes!("../../assets/console.js")),
        ("charts.js", include_bytes!("../../assets/charts.js")),
        ("handout.js", include_bytes!("../../assets/handout.js")),
        ("instance.js", include_bytes!("../../assets/instance.js")),
        ("journal.js", include_bytes!("../../assets/journal.js")),
        ("operator.js", include_bytes!("../../assets/operator.js")),
        ("presenter.js", include_bytes!("../../assets/presenter.js")),
        ("sandboxes.js", include_bytes!("../../assets/sandboxes.js")),
        ("services.js", include_bytes!("../../assets/services.js")),
        ("webhooks.js", include_bytes!("../../assets/webhooks.js")),
    ])
});

#[derive(Template)]
#[template(path = "console.html")]
struct Page<'p> {
    assets: &'p str,
    version: &'static str,
}

/// The page and its files say nothing about the services, so that everyone who reaches the listener can load them.
pub(super) fn routes() -> Router<Console> {
    Router::new()
        .route("/", get(page))
        .route("/assets/{version}/{name}", get(asset))
        .route("/favicon.svg", get(async || mark("console")))
        .route("/console/marks/{service}", get(async |Path(service): Path<String>| mark(&service)))
        .route("/console/qr", get(code))
}

async fn page() -> Result<Response> {
    let page = Page { assets: &ASSETS.path(), version: env!("CARGO_PKG_VERSION") };
    let mut response = page.render().map_err(Problem::internal)?.into_response();
    add_page_headers(response.headers_mut());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

async fn asset(Path((version, name)): Path<(String, String)>) -> Result<Response> {
    ASSETS.answer(&version, &name)
}

/// A QR code, as an image.
async fn code(RawQuery(query): RawQuery) -> Result<Response> {
    let query = query.unwrap_or_default();
    let text = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "text");
    let text = text.map(|(_, text)| text.into_owned()).unwrap_or_default();
    if text.is_empty() || text.len() > LONGEST_TEXT {
        let detail = format!("must have 1 to {LONGEST_TEXT} bytes");
        return Err(Problem::invalid_at("?text", detail));
    }
    let image = qr::svg(&text)
        .map_err(|error| Problem::new(&NOT_FOUND, "This text has no QR code.").because(error))?;
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], image).into_response())
}

/// Answers with tokens and calls are not cached.
pub(super) async fn not_stored(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
