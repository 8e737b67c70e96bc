//! Properties of each operation, read from the OpenAPI document, for checks that run before every operation. The router
//! and the document are made from the same list.

use std::{collections::HashMap, sync::Arc};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::Method;
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{self, ParameterIn, PathItem},
};

use crate::{
    input::{UnknownParameters, unknown_parameters},
    negotiate::{JSON, choose},
    openapi::{has_response_body, needs_no_credentials},
    problem::Problem,
};

/// The operations of a service, by their routes.
pub(crate) struct Operations {
    by_route: HashMap<String, Vec<(Method, Operation)>>,
    /// Whether all operations answer only in JSON.
    json_only: bool,
}

#[derive(Clone, Copy)]
struct Operation {
    /// Whether a successful answer has a body.
    has_response_body: bool,
    has_parameters: bool,
    /// Whether the operation can be called without credentials.
    is_open: bool,
    /// The part of a request that the operation reads besides the query.
    read: Read,
}

#[derive(Clone, Copy)]
enum Read {
    Nothing,
    Path,
    Body,
}

impl Operations {
    /// The operations of a document whose paths begin at `prefix`.
    pub(crate) fn new(document: &OpenApi, prefix: &str, json_only: bool) -> Self {
        let paths = document.paths.paths.iter();
        let by_route =
            paths.map(|(path, item)| (format!("{prefix}{path}"), operations(item, document))).collect();
        Operations { by_route, json_only }
    }

    /// Rejects a request before its operation runs if the client does not accept the media type of the answer, or if the
    /// query has parameters that the operation does not have.
    fn check(&self, request: &mut Request) -> Result<(), Problem> {
        let route = request.extensions().get().map(MatchedPath::as_str);
        let known = route.and_then(|route| self.by_route.get(route));
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        let found =
            known.into_iter().flatten().find(|(one, _)| one == method).map(|(_, operation)| *operation);
        // A method that the route does not have gets 405 from the router, for any `Accept` header.
        let answers = found.map_or(known.is_none(), |operation| operation.has_response_body);
        if self.json_only && answers {
            choose(request.headers(), &[JSON])?;
        }
        match found {
            // The operation knows its parameters, and lists unknown ones with the other validation errors.
            None | Some(Operation { has_parameters: true, .. }) => {}
            Some(Operation { read, is_open, .. }) => {
                // The extractor of the caller, which runs later, rejects a token in the query.
                let leave_token = matches!(read, Read::Nothing) && !is_open;
                let errors = unknown_parameters(request.uri().query().unwrap_or_default(), leave_token);
                match read {
                    _ if errors.is_empty() => {}
                    Read::Nothing => return Err(Problem::invalid(errors)),
                    // The extractor of the path or the body lists these errors with its own, after the caller is authorized.
                    Read::Path => {
                        drop(request.extensions_mut().insert(UnknownParameters { errors, body: false }));
                    }
                    Read::Body => {
                        drop(request.extensions_mut().insert(UnknownParameters { errors, body: true }));
                    }
                }
            }
        }
        Ok(())
    }
}

pub(crate) async fn check(
    State(operations): State<Arc<Operations>>,
    mut request: Request,
    next: Next,
) -> Response {
    match operations.check(&mut request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn operations(item: &PathItem, document: &OpenApi) -> Vec<(Method, Operation)> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    let all = [
        (Method::GET, get),
        (Method::PUT, put),
        (Method::POST, post),
        (Method::DELETE, delete),
        (Method::PATCH, patch),
    ];
    all.into_iter()
        .filter_map(|(method, one)| one.as_ref().map(|one| (method, Operation::new(one, document))))
        .collect()
}

impl Operation {
    fn new(operation: &path::Operation, document: &OpenApi) -> Self {
        let has = |location: ParameterIn| {
            operation.parameters.iter().flatten().any(|one| match one {
                RefOr::T(one) => one.parameter_in == location,
                RefOr::Ref(_) => false,
            })
        };
        let read = match operation.request_body {
            Some(_) => Read::Body,
            None if has(ParameterIn::Path) => Read::Path,
            None => Read::Nothing,
        };
        Operation {
            has_response_body: has_response_body(operation),
            has_parameters: has(ParameterIn::Query),
            is_open: needs_no_credentials(operation, document),
            read,
        }
    }
}
