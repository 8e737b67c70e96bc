//! The operations of a service: their handlers, and what the document says about them for the steps that all operations share.

use std::{collections::BTreeMap, sync::Arc};

use axum::extract::Request;
use http::{HeaderValue, Method};
use utoipa::openapi::{
    OpenApi, RefOr,
    path::{self, ParameterIn},
    security::{ApiKey, SecurityScheme},
};

use crate::{
    challenge,
    input::{UnknownParameters, unknown_parameters},
    negotiate::{JSON, choose},
    openapi::{Answer, Call, Handlers, answers_only_in_json, methods, needs_no_credentials},
    problem::Problem,
    times::Times,
};

/// The operations of a service, by their routes.
pub(crate) struct Operations {
    routes: matchit::Router<Arc<Route>>,
    /// The challenges of a 401 answer to a call that is of no operation, or of one that needs no credentials.
    challenges: Vec<HeaderValue>,
}

/// A path of the API with its operations.
pub(crate) struct Route {
    /// As in `/v3/pet/{petId}`.
    pub(crate) pattern: Arc<str>,
    operations: Vec<(Method, Operation)>,
    /// Its methods, as the header `Allow` of an answer to `OPTIONS` or to another method.
    pub(crate) allow: HeaderValue,
}

pub(crate) struct Operation {
    /// Its id in the document.
    pub(crate) id: Option<Arc<str>>,
    call: Call<()>,
    /// Whether it answers with a body when it succeeds, and only in JSON.
    json_only: bool,
    has_parameters: bool,
    /// Whether it can be called without credentials.
    pub(crate) is_open: bool,
    /// Whether its answers can be kept by a cache and depend on an API key: caches know that an answer to `Authorization` is
    /// not for others, but do not know the headers of a key.
    pub(crate) varies_by_key: bool,
    /// The challenges of a 401 answer.
    challenges: Vec<HeaderValue>,
    /// What is read of a request besides the query, if anything is.
    read: Read,
    times: Times,
}

#[derive(Clone, Copy, Default)]
enum Read {
    #[default]
    Nothing,
    Path,
    Body,
}

impl Operations {
    /// The handlers, with what a document says about them, whose paths begin at `prefix`. The realm is that of challenges.
    pub(crate) fn new(handlers: Handlers, document: &OpenApi, prefix: &str, realm: &str) -> Self {
        let mut by_pattern = BTreeMap::<_, Vec<_>>::new();
        for (method, pattern, call) in handlers.into_vec() {
            let item = pattern.strip_prefix(prefix).and_then(|path| document.paths.paths.get(path));
            let described = item.and_then(|item| methods(item).find(|(one, _)| *one == method));
            let operation = Operation::new(call, described, document, realm);
            by_pattern.entry(pattern).or_default().push((method, operation));
        }
        let mut routes = matchit::Router::new();
        for (pattern, operations) in by_pattern {
            let route = Route { pattern: pattern.as_str().into(), allow: allow(&operations), operations };
            let inserted = routes.insert(pattern, Arc::new(route));
            debug_assert!(inserted.is_ok(), "two patterns match the same paths");
        }
        Operations { routes, challenges: challenge::of_service(document, realm) }
    }

    /// The challenges of a 401 answer to a call.
    pub(crate) fn challenges<'a>(&'a self, operation: Option<&'a Operation>) -> &'a [HeaderValue] {
        let own = operation.map(|operation| &*operation.challenges).filter(|own| !own.is_empty());
        own.unwrap_or(&self.challenges)
    }

    /// The route of a path, and its last parameter as it is in the path.
    pub(crate) fn at<'p>(&self, path: &'p str) -> Option<(&Arc<Route>, Option<&'p str>)> {
        let found = self.routes.at(path).ok()?;
        Some((found.value, found.params.iter().last().map(|(_, value)| value)))
    }
}

impl Route {
    pub(crate) fn operation(&self, method: &Method) -> Option<&Operation> {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.operations.iter().find(|(one, _)| one == method).map(|(_, operation)| operation)
    }

    /// The times of the operation with this method. A `HEAD`, and a method that the route does not have, are other rows of the
    /// metrics.
    pub(crate) fn times(&self, method: &Method) -> Option<&Times> {
        let operation = self.operation(method).filter(|_| method != Method::HEAD)?;
        Some(&operation.times)
    }
}

impl Operation {
    /// Calls the handler.
    pub(crate) fn call(&self, request: Request) -> Answer {
        (self.call)(request, ())
    }

    /// Rejects what no operation takes, before the operation runs: an answer that its client cannot read, where there is
    /// one, and query parameters that the operation does not have.
    pub(crate) fn check(&self, request: &mut Request) -> Result<(), Problem> {
        if self.json_only {
            choose(request.headers(), &[JSON])?;
        }
        // An operation with parameters knows them, and lists unknown ones with the other validation errors.
        let Some(query) = request.uri().query().filter(|_| !self.has_parameters) else { return Ok(()) };
        // The caller is not known yet. Its extractor rejects a token in the address.
        let leave_token = matches!(self.read, Read::Nothing) && !self.is_open;
        let errors = unknown_parameters(query, leave_token);
        if errors.is_empty() {
            return Ok(());
        }
        match self.read {
            Read::Nothing => return Err(Problem::invalid(errors)),
            // Listed with the errors of the path or the body, once the caller is known to be allowed to call.
            Read::Path => drop(request.extensions_mut().insert(UnknownParameters { errors, body: false })),
            Read::Body => drop(request.extensions_mut().insert(UnknownParameters { errors, body: true })),
        }
        Ok(())
    }

    fn new(
        call: Call<()>,
        described: Option<(Method, &path::Operation)>,
        document: &OpenApi,
        realm: &str,
    ) -> Self {
        let undocumented = Operation {
            id: None,
            call,
            json_only: false,
            has_parameters: false,
            is_open: false,
            varies_by_key: false,
            challenges: Vec::new(),
            read: Read::default(),
            times: Times::default(),
        };
        let Some((method, operation)) = described else { return undocumented };
        let has = |place: ParameterIn| {
            operation.parameters.iter().flatten().any(|one| match one {
                RefOr::T(one) => one.parameter_in == place,
                RefOr::Ref(_) => false,
            })
        };
        let read = match operation.request_body {
            Some(_) => Read::Body,
            None if has(ParameterIn::Path) => Read::Path,
            None => Read::Nothing,
        };
        Operation {
            id: operation.operation_id.as_deref().map(Arc::from),
            json_only: answers_only_in_json(operation),
            has_parameters: has(ParameterIn::Query),
            is_open: needs_no_credentials(operation, document),
            varies_by_key: method == Method::GET && takes_a_key(operation, document),
            challenges: challenge::of_operation(operation, document, realm),
            read,
            ..undocumented
        }
    }
}

fn allow(operations: &[(Method, Operation)]) -> HeaderValue {
    let methods: Vec<_> = operations
        .iter()
        .map(|(method, _)| if method == Method::GET { "GET,HEAD" } else { method.as_str() })
        .collect();
    HeaderValue::try_from(methods.join(",")).unwrap_or(HeaderValue::from_static(""))
}

/// Whether an operation takes an API key in a header.
fn takes_a_key(operation: &path::Operation, document: &OpenApi) -> bool {
    let schemes = document.components.as_ref().map(|components| &components.security_schemes);
    let is_key = |name: &String| {
        let scheme = schemes.and_then(|schemes| schemes.get(name));
        matches!(scheme, Some(RefOr::T(SecurityScheme::ApiKey(ApiKey::Header(_)))))
    };
    // A requirement has its names only in its written form.
    let requirements = operation.security.iter().flatten().filter_map(|one| serde_json::to_value(one).ok());
    requirements.filter_map(|one| one.as_object().cloned()).any(|one| one.keys().any(is_key))
}

#[cfg(test)]
mod tests {
    use utoipa::openapi::{HttpMethod, OpenApiBuilder, PathItem, PathsBuilder};

    use super::*;

    #[test]
    fn head_and_unsupported_methods_do_not_use_the_times_of_an_operation() {
        let mut item = PathItem::new(HttpMethod::Get, path::Operation::new());
        item.delete = Some(path::Operation::new());
        let paths = PathsBuilder::new().path("/pet/{petId}", item).build();
        let document = OpenApiBuilder::new().paths(paths).build();
        let handlers = Handlers::new().on(Method::GET, "/v3/pet/{petId}", async || "").on(
            Method::DELETE,
            "/v3/pet/{petId}",
            async || "",
        );
        let operations = Operations::new(handlers, &document, "/v3", "Pet store");
        let (route, parameter) = operations.at("/v3/pet/7").unwrap();
        assert_eq!(parameter, Some("7"));
        assert_eq!((&*route.pattern, route.allow.to_str().unwrap()), ("/v3/pet/{petId}", "GET,HEAD,DELETE"));
        for (method, kept) in
            [(Method::GET, true), (Method::DELETE, true), (Method::HEAD, false), (Method::PUT, false)]
        {
            assert_eq!(route.times(&method).is_some(), kept, "{method}");
        }
        assert!(route.operation(&Method::HEAD).is_some() && route.operation(&Method::PUT).is_none());
        assert!(operations.at("/v3/pet").is_none());
    }
}
