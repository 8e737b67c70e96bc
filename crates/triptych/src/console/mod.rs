//! The console: a page on the admin listener for the operator, a teacher or a presenter. It shows the services, controls the
//! sandboxes, and follows the journals.
//!
//! `access` decides who can use it, `forward` passes calls on to the controls, `token` issues tokens of the demo user, and `page` has
//! the page with its files.

mod access;
mod forward;
mod page;
mod token;

use std::sync::{Arc, OnceLock};

use access::Operator;
use axum::{
    Router,
    extract::Request,
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::{FutureExt, future::BoxFuture};
use http::{StatusCode, header};
use sandbox::Sandboxes;
use serde::Serialize;
use service::{Instance, Service};
use token::Issuer;
use web::{Answer, App, Problem, Result, problem::UNAVAILABLE};

use crate::{ready_file::ReadyService, start_page::Started};

/// The console. The admin listener starts before the services, so that the console gets them later.
#[derive(Clone, Default)]
pub(crate) struct Console(Arc<OnceLock<Arc<Running>>>);

/// What the console knows about the running program.
pub(crate) struct Running {
    pub(crate) demo: bool,
    /// The sandboxes and the operator's token, if there are sandboxes.
    pub(crate) sandboxes: Option<(Sandboxes, String)>,
    pub(crate) services: Vec<ConsoleService>,
}

/// A service that runs.
pub(crate) struct ConsoleService {
    started: Started,
    service: Arc<dyn Service>,
    instance: Instance,
    app: App,
    issuer: Issuer,
}

impl ConsoleService {
    pub(crate) fn new(started: Started, service: Arc<dyn Service>, instance: Instance, app: App) -> Self {
        ConsoleService { started, service, instance, app, issuer: Issuer::default() }
    }
}

impl Console {
    /// Lets the console work.
    pub(crate) fn start(&self, running: Running) {
        let _ = self.0.set(Arc::new(running));
    }

    fn running(&self) -> Result<Arc<Running>> {
        let starting =
            || Problem::new(&UNAVAILABLE, "The services are starting. Try again in a moment.").retry_after(1);
        self.0.get().cloned().ok_or_else(starting)
    }

    /// The application of the admin listener: the console in front of the other routes.
    pub(crate) fn app(self, other: Router) -> App {
        let guarded = Router::new()
            .route("/console/services", get(services))
            .route("/console/tokens/{service}", post(token::issue))
            .layer(middleware::map_response(page::not_stored));
        let router =
            page::routes().merge(guarded).with_state(self.clone()).merge(other).layer(web::compression());
        App::new(Arc::new(Admin { console: self, router: router.into() }))
    }
}

/// The application of the admin listener. Calls of the controls have no route of the router: the route of a request is set once, by
/// the controls.
struct Admin {
    console: Console,
    router: App,
}

impl Answer for Admin {
    fn answer(&self, request: Request) -> BoxFuture<'_, Response> {
        match request.uri().path().starts_with(forward::PATH) {
            true => forward::forward(&self.console, request).boxed(),
            false => self.router.answer(request).boxed(),
        }
    }
}

/// The program, for the page.
#[derive(Serialize)]
struct ShownProgram<'r> {
    version: &'static str,
    demo: bool,
    sandboxes: bool,
    services: Vec<ShownService<'r>>,
}

#[derive(Serialize)]
struct ShownService<'r> {
    title: &'static str,
    /// Its page for people.
    page: String,
    /// Whether the console can issue a token for it.
    tokens: bool,
    #[serde(flatten)]
    ready: ReadyService<'r>,
}

impl<'r> ShownService<'r> {
    fn new(one: &'r ConsoleService, demo: bool) -> Self {
        ShownService {
            title: one.service.description().title,
            page: format!("{}/", one.started.address),
            tokens: demo && token::issues(&*one.service),
            ready: ReadyService::from(&one.started),
        }
    }
}

async fn services(Operator(running): Operator) -> Result<Response> {
    let shown = ShownProgram {
        version: env!("CARGO_PKG_VERSION"),
        demo: running.demo,
        sandboxes: running.sandboxes.is_some(),
        services: running.services.iter().map(|one| ShownService::new(one, running.demo)).collect(),
    };
    json(StatusCode::OK, &shown)
}

/// An answer in JSON.
fn json(status: StatusCode, body: &impl Serialize) -> Result<Response> {
    let body = serde_json::to_vec(body).map_err(Problem::internal)?;
    Ok((status, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}
