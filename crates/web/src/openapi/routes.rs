//! The handlers of an API and its document, made from one list of operations.

use std::pin::Pin;

use axum::{extract::Request, handler::Handler, response::Response, routing::MethodRouter};
use http::Method;
use utoipa::openapi::{
    OpenApi,
    path::{Operation, PathItem},
};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

/// The answer of a handler.
pub type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler without its type.
pub(crate) type Call<S> = Box<dyn Fn(Request, S) -> Answer + Send + Sync>;

/// The handlers of the operations, by method and whole path. Each is called without a router: the service finds the operation
/// before it calls the handler.
pub struct Handlers<S = ()>(Vec<(Method, String, Call<S>)>);

impl<S: Clone + Send + Sync + 'static> Handlers<S> {
    pub fn new() -> Self {
        Handlers(Vec::new())
    }

    /// Adds the handler of one operation.
    #[must_use]
    pub fn on<T, H>(mut self, method: Method, path: &str, handler: H) -> Self
    where
        H: Handler<T, S, Future = Answer> + Sync,
    {
        self.0.push((method, path.to_owned(), call(handler)));
        self
    }

    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The same handlers, each with a clone of the state.
    pub fn with_state(self, state: &S) -> Handlers {
        let with_state = |(method, path, call): (Method, String, Call<S>)| {
            let state = state.clone();
            let call: Call<()> = Box::new(move |request, ()| call(request, state.clone()));
            (method, path, call)
        };
        Handlers(self.0.into_iter().map(with_state).collect())
    }
}

impl<S: Clone + Send + Sync + 'static> Default for Handlers<S> {
    fn default() -> Self {
        Handlers::new()
    }
}

impl Handlers {
    pub(crate) fn into_vec(self) -> Vec<(Method, String, Call<()>)> {
        self.0
    }
}

fn call<T, S, H: Handler<T, S, Future = Answer> + Sync>(handler: H) -> Call<S> {
    Box::new(move |request, state| handler.clone().call(request, state))
}

/// An operation: what its attribute `utoipa::path` says, and its handler.
pub struct ApiOperation<S> {
    described: UtoipaMethodRouter<S>,
    call: Call<S>,
}

impl<S: Clone + Send + Sync + 'static> ApiOperation<S> {
    #[doc(hidden)]
    pub fn new<T, H: Handler<T, S, Future = Answer> + Sync>(
        described: UtoipaMethodRouter<S>,
        handler: H,
    ) -> Self {
        ApiOperation { described, call: call(handler) }
    }
}

#[doc(hidden)]
pub use utoipa_axum::routes as describe;

/// A list of operations, by the names of their handlers.
#[macro_export]
macro_rules! routes {
    ($($($part:ident)::+),+ $(,)?) => {
        [$($crate::openapi::ApiOperation::new($crate::openapi::describe!($($part)::+), $($part)::+)),+]
    };
}

/// Operations, each added once to the handlers and to the document.
pub struct ApiRoutes<S> {
    prefix: &'static str,
    handlers: Handlers<S>,
    document: OpenApiRouter<S>,
}

impl<S: Clone + Send + Sync + 'static> ApiRoutes<S> {
    /// Operations whose paths begin at `prefix`, which the document has in the addresses of its servers.
    pub fn new(prefix: &'static str, document: OpenApi) -> Self {
        ApiRoutes { prefix, handlers: Handlers::new(), document: OpenApiRouter::with_openapi(document) }
    }

    /// Adds operations, as the macro [`routes!`](crate::routes) gives them.
    #[must_use]
    pub fn routes(mut self, operations: impl IntoIterator<Item = ApiOperation<S>>) -> Self {
        for ApiOperation { described: (schemas, paths, _), call } in operations {
            // The description of one operation has one path with one method.
            let operation = paths.paths.iter().find_map(|(path, item)| Some((path, methods(item).next()?)));
            if let Some((path, (method, _))) = operation {
                self.handlers.0.push((method, format!("{}{path}", self.prefix), call));
            }
            self.document = self.document.routes((schemas, paths, MethodRouter::new()));
        }
        self
    }

    pub fn finish(self) -> (Handlers<S>, OpenApi) {
        (self.handlers, self.document.into_openapi())
    }
}

/// The operations of a path that a document has.
pub(crate) fn methods(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    let all = [
        (Method::GET, get),
        (Method::PUT, put),
        (Method::POST, post),
        (Method::DELETE, delete),
        (Method::PATCH, patch),
    ];
    all.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}
