//! The application of an API of this crate.

use axum::Router;
use utoipa::openapi::OpenApi;
use web::{
    App, Background,
    openapi::{Handlers, ProblemFormats, at_address, complete},
    problem::Kind,
};

use crate::{DATABASE, Sandboxes};

/// An API: its operations begin at the path.
pub(crate) struct Api {
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) path: String,
    pub(crate) handlers: Handlers,
    pub(crate) document: OpenApi,
    pub(crate) problems: &'static [&'static Kind],
}

/// The application of an API on the listener of one of the services.
pub(crate) fn service_app(sandboxes: &Sandboxes, at: usize, api: Api) -> App {
    let setup = &sandboxes.0.setup.services[at];
    let address = format!("{}{}", setup.address, api.path);
    web::Service {
        name: "sandbox",
        title: api.title,
        about: api.about,
        api: api.handlers,
        prefix: "",
        address: &address,
        openapi: at_address(complete(api.document, ProblemFormats::Json), &address),
        problems: api.problems,
        db: sandboxes.0.registry.clone(),
        background: Background::new(DATABASE, sandboxes.0.clock.clone()),
        limits: setup.limits,
        validation: None,
        xml: false,
        key_headers: &[],
        extra_routes: Router::new(),
        exposed: &[],
        pages: None,
        documentation: web::DocumentationSetup::default(),
    }
    .into_app()
}
