//! What answers the requests of a listener.

use std::sync::Arc;

use axum::{Router, extract::Request, response::Response};
use futures_util::future::BoxFuture;
use tower::ServiceExt;

use crate::{dispatch::Dispatch, request::set_route};

/// An application: one service, a router of other pages, or an [`Answer`] that decides for each request.
#[derive(Clone)]
pub struct App(Kind);

#[derive(Clone)]
enum Kind {
    Service(Arc<Dispatch>),
    Router(Router),
    Answer(Arc<dyn Answer>),
}

/// Answers requests in its own way, for example by passing them on to one of several applications.
pub trait Answer: Send + Sync {
    fn answer(&self, request: Request) -> BoxFuture<'_, Response>;
}

impl App {
    /// An application that decides for each request.
    pub fn new(answer: Arc<dyn Answer>) -> Self {
        App(Kind::Answer(answer))
    }

    /// Answers one request, without what a listener adds: its id, its problem document, its line in the log.
    pub async fn answer(&self, request: Request) -> Response {
        match &self.0 {
            Kind::Service(service) => service.answer(request).await,
            Kind::Router(router) => match router.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Kind::Answer(answer) => answer.answer(request).await,
        }
    }
}

impl From<Dispatch> for App {
    fn from(service: Dispatch) -> Self {
        App(Kind::Service(Arc::new(service)))
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
