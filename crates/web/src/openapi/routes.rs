//! The routes of an API and its document, made from one list of operations.

use axum::{Router, routing::MethodRouter};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

/// Operations, each added once to the router and to the document.
pub struct ApiRoutes<S> {
    prefix: &'static str,
    router: Router<S>,
    document: OpenApiRouter<S>,
}

impl<S: Clone + Send + Sync + 'static> ApiRoutes<S> {
    /// Operations whose paths begin at `prefix`, which the document has in the addresses of its servers.
    pub fn new(prefix: &'static str, document: OpenApi) -> Self {
        ApiRoutes { prefix, router: Router::new(), document: OpenApiRouter::with_openapi(document) }
    }

    /// Adds the operations of one path, as the macro `routes!` gives them. The router gets the whole path: a nested router
    /// would copy and change the address of every request.
    #[must_use]
    pub fn routes(mut self, (schemas, paths, methods): UtoipaMethodRouter<S>) -> Self {
        for path in paths.paths.keys() {
            self.router = self.router.route(&format!("{}{path}", self.prefix), methods.clone());
        }
        self.document = self.document.routes((schemas, paths, MethodRouter::new()));
        self
    }

    pub fn finish(self) -> (Router<S>, OpenApi) {
        (self.router, self.document.into_openapi())
    }
}
