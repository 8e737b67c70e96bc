//! What answers the requests of a listener.

use std::sync::Arc;

use axum::{Router, extract::Request, response::Response};
use tower::ServiceExt;

use crate::{dispatch::Dispatch, prefixes::Prefixes, request::set_route};

/// An application: one service, several under path prefixes, or a router of other pages.
#[derive(Clone)]
pub struct App(Kind);

#[derive(Clone)]
enum Kind {
    Service(Arc<Dispatch>),
    Prefixes(Arc<Prefixes>),
    Router(Router),
}

impl App {
    /// Answers one request, without what a listener adds: its id, its problem document, its line in the log.
    pub async fn answer(&self, request: Request) -> Response {
        match &self.0 {
            Kind::Service(service) => service.answer(request).await,
            Kind::Prefixes(prefixes) => Box::pin(prefixes.answer(request)).await,
            Kind::Router(router) => match router.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
        }
    }
}

impl From<Dispatch> for App {
    fn from(service: Dispatch) -> Self {
        App(Kind::Service(Arc::new(service)))
    }
}

impl From<Prefixes> for App {
    fn from(prefixes: Prefixes) -> Self {
        App(Kind::Prefixes(Arc::new(prefixes)))
    }
}

impl From<Router> for App {
    fn from(router: Router) -> Self {
        let router = match router.has_routes() {
            true => router.route_layer(axum::middleware::from_fn(set_route)),
            false => router,
        };
        App(Kind::Router(router))
    }
}
