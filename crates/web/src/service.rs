//! A complete service: its API, and the routes that every API has.

use std::sync::{Arc, OnceLock};

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;
use db::Db;
use http::{HeaderValue, header};
use utoipa::openapi::OpenApi;

use crate::{
    adapter::Adapter,
    address::path_of,
    anonymous::Anonymous,
    app::App,
    background::Background,
    body_memory::Memory,
    compression::compression,
    cors::Cors,
    dispatch::{Dispatch, mark_page},
    documentation::{DocumentationSetup, documentation},
    input::ValidationContext,
    limits::RequestLimits,
    openapi::{Handlers, at_address},
    openapi_3_0::as_3_0,
    operations::Operations,
    page::{self, Frame, Pages, Site, add_document_headers, sandbox_of},
    problem::{Kind, NOT_FOUND, Problem, Result, STANDARD},
    request::{InstanceContext, set_route},
};

/// The parts of a service.
pub struct Service<'a> {
    /// The service's name, `petstore`, which selects its colours and its mark.
    pub name: &'static str,
    /// The service's name in words.
    pub title: &'static str,
    /// What it is, in a sentence or two.
    pub about: &'static str,
    /// The operations, at their whole paths.
    pub api: Handlers,
    /// Where the API's paths begin, `/v1.1`; nothing if they begin at the root.
    pub prefix: &'static str,
    /// Where clients reach the service. Its path, if it has one, is in front of every path below.
    pub address: &'a str,
    /// The document of the same operations.
    pub openapi: OpenApi,
    /// The kinds of problem that only this service has.
    pub problems: &'static [&'static Kind],
    /// The database that `/readyz` asks.
    pub db: Db,
    /// The background tasks; while one is down, `/readyz` answers 503.
    pub background: Background,
    pub limits: RequestLimits,
    /// The context of the rules of its input.
    pub validation: Option<ValidationContext>,
    /// Whether it also has XML: problems may then be in XML. An operation whose document has an answer in XML chooses with
    /// [`crate::ResponseFormat`]; the others answer only in JSON.
    pub xml: bool,
    /// The headers that an API key may be in.
    pub key_headers: &'static [&'static str],
    /// Routes at the root in addition to the API, such as the sign-in. Pages of other origins may not call them.
    pub extra_routes: Router,
    /// Response headers that pages of other origins may read, besides those that every service has.
    pub exposed: &'static [&'static str],
    /// Its pages for people. Without them `/` is a list of links.
    pub pages: Option<Pages>,
    /// How the documentation page signs in.
    pub documentation: DocumentationSetup,
}

/// What the routes share that every API has.
#[derive(Clone)]
struct Common {
    /// The path in front of all paths of this instance.
    path: Arc<str>,
    name: &'static str,
    title: &'static str,
    about: &'static str,
    prefix: &'static str,
    problems: Vec<&'static Kind>,
    openapi: Bytes,
    /// Made when it is first asked for: most instances are never asked, and there can be hundreds.
    openapi_3_0: Arc<OnceLock<Bytes>>,
    db: Db,
    background: Background,
}

impl Service<'_> {
    /// What answers its requests.
    pub fn into_app(self) -> App {
        self.into_adapted_app(None)
    }

    /// The same with an adapter for clients of another server.
    pub fn into_adapted_app(mut self, adapter: Option<Arc<dyn Adapter>>) -> App {
        let path: Arc<str> = path_of(self.address).into();
        self.openapi = at_address(self.openapi, &path);
        let clock = self.background.clock().clone();
        let anonymous = Anonymous::new(self.limits.anonymous_calls_per_hour, clock.clone());
        let site = Arc::new(Site {
            service: self.name,
            title: self.title,
            about: self.about,
            address: self.address.to_owned(),
            path: path.clone(),
            prefix: self.prefix,
            clock,
        });
        let documentation = documentation(&self.openapi, &self.documentation, site.clone());
        let common = Common {
            path: path.clone(),
            name: self.name,
            title: self.title,
            about: self.about,
            prefix: self.prefix,
            problems: STANDARD.iter().chain(self.problems).copied().collect(),
            openapi: document_text(&self.openapi).into(),
            openapi_3_0: Arc::default(),
            db: self.db,
            background: self.background,
        };
        let front = match self.pages {
            Some(pages) => page::routes(&site, &pages),
            None => Router::new().route("/", get(front_page)).with_state(common.clone()),
        };
        let name = self.name;
        let pages = Router::new()
            .route("/favicon.svg", get(async move || page::mark(name)))
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .route("/openapi.json", get(openapi))
            .route("/openapi-3.0.json", get(openapi_3_0))
            .route("/problems", get(all_problems))
            .route("/problems/{name}", get(one_problem))
            .with_state(common)
            .merge(front)
            .merge(documentation);
        let nothing = {
            let (path, prefix) = (path.clone(), self.prefix);
            async move || nothing_here(&path, prefix)
        };
        // The extra routes are not compressed: their pages have secrets next to text that an attacker chooses, and the compressed
        // size would reveal the secrets (BREACH).
        let other = pages
            .layer(compression())
            .merge(self.extra_routes)
            .route_layer(middleware::map_response(mark_page))
            .route_layer(middleware::from_fn(set_route))
            .fallback(nothing);
        let context = InstanceContext {
            path_prefix: path,
            supports_xml: self.xml,
            limits: self.limits,
            memory: Memory::new(self.limits.memory_bytes),
            validation: self.validation,
        };
        App::from(Dispatch {
            context: Arc::new(context),
            prefix: self.prefix,
            operations: Operations::new(self.api, &self.openapi, self.prefix, self.title),
            other,
            anonymous,
            cors: Cors::new(self.exposed),
            key_headers: HeaderValue::try_from(self.key_headers.join(", "))
                .ok()
                .filter(|list| !list.is_empty()),
            adapter,
        })
    }
}

/// Says where there is something.
fn nothing_here(path: &str, prefix: &str) -> Problem {
    let prefix = if prefix.is_empty() { "/" } else { prefix };
    let detail = format!(
        "There is nothing at this address. The API begins at {path}{prefix}; its operations are listed at {path}/docs."
    );
    Problem::new(&NOT_FOUND, detail)
}

/// The OpenAPI document as `/openapi.json` and `triptych openapi` give it.
pub fn document_text(document: &OpenApi) -> String {
    let mut text = document.to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

/// The same as OpenAPI 3.0, as `/openapi-3.0.json` gives it.
pub fn document_text_3_0(document: &OpenApi) -> String {
    text_3_0(serde_json::to_value(document).unwrap_or_default())
}

fn text_3_0(document: serde_json::Value) -> String {
    format!("{:#}\n", as_3_0(document))
}

async fn ready(State(pages): State<Common>) -> Result<&'static str> {
    pages.background.check()?;
    pages.db.ping().await?;
    Ok("ready\n")
}

async fn openapi(State(pages): State<Common>) -> Response {
    document(pages.openapi)
}

async fn openapi_3_0(State(pages): State<Common>) -> Response {
    let text = || text_3_0(serde_json::from_slice(&pages.openapi).unwrap_or_default()).into();
    document(pages.openapi_3_0.get_or_init(text).clone())
}

fn document(text: Bytes) -> Response {
    let json = HeaderValue::from_static("application/json");
    // Tools in a browser read it from other origins too.
    let anyone = HeaderValue::from_static("*");
    ([(header::CONTENT_TYPE, json), (header::ACCESS_CONTROL_ALLOW_ORIGIN, anyone)], text).into_response()
}

#[derive(Template)]
#[template(path = "front.html")]
struct FrontPage<'a> {
    frame: Frame<'a>,
    title: &'static str,
    sandbox: Option<&'a str>,
    about: &'static str,
    prefix: &'static str,
}

async fn front_page(State(pages): State<Common>) -> Result<Response> {
    text_page(&FrontPage {
        frame: pages.frame(),
        title: pages.title,
        sandbox: sandbox_of(&pages.path),
        about: pages.about,
        prefix: pages.prefix,
    })
}

#[derive(Template)]
#[template(path = "problems.html")]
struct ProblemPage<'a> {
    frame: Frame<'a>,
    title: &'static str,
    kinds: &'a [&'static Kind],
}

async fn all_problems(State(pages): State<Common>) -> Result<Response> {
    text_page(&ProblemPage { frame: pages.frame(), title: pages.title, kinds: &pages.problems })
}

async fn one_problem(State(pages): State<Common>, Path(name): Path<String>) -> Result<Response> {
    let kind = pages.problems.iter().find(|kind| kind.name == name);
    let Some(kind) = kind else {
        let detail =
            format!("There is no problem of this name; see {}/problems for all of them.", pages.path);
        return Err(Problem::new(&NOT_FOUND, detail));
    };
    text_page(&ProblemPage { frame: pages.frame(), title: pages.title, kinds: std::slice::from_ref(kind) })
}

impl Common {
    fn frame(&self) -> Frame<'_> {
        Frame { service: self.name, path: &self.path }
    }
}

/// A page of text.
fn text_page(template: &impl Template) -> Result<Response> {
    let mut response = template.render().map_err(Problem::internal)?.into_response();
    add_document_headers(response.headers_mut());
    Ok(response)
}
