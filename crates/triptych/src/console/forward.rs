//! Calls of the controls, in the name of the operator.

use axum::{
    extract::{FromRequestParts, Request},
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, header,
    uri::{PathAndQuery, Uri},
};
use sandbox::Name;
use web::{
    Problem, Result,
    problem::{METHOD_NOT_ALLOWED, NOT_FOUND},
};

use super::{Console, Operator, page::not_stored};

/// The methods of the controls. Not OPTIONS: the controls allow the pages of all origins, the console allows none.
const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// Headers of the request that are about the console and not about the controls.
const LEFT_OUT: [HeaderName; 2] = [header::ORIGIN, header::COOKIE];

/// Where the paths of the forwarded controls begin.
pub(super) const PATH: &str = "/control/";

/// Answers a call of `/control/…` by the controls of a sandbox, of the root services, or by the list of sandboxes.
pub(super) async fn forward(console: &Console, request: Request) -> Response {
    let answer = forwarded(console, request).await;
    not_stored(answer.unwrap_or_else(IntoResponse::into_response)).await
}

async fn forwarded(console: &Console, request: Request) -> Result<Response> {
    let (mut parts, body) = request.into_parts();
    let Operator(running) = Operator::from_request_parts(&mut parts, console).await?;
    let mut request = Request::from_parts(parts, body);
    if !METHODS.contains(request.method()) {
        return Err(Problem::new(&METHOD_NOT_ALLOWED, "The controls have GET, POST, PUT, PATCH and DELETE."));
    }
    let Some(((_, token), service)) = running.sandboxes.as_ref().zip(running.services.first()) else {
        return Err(Problem::new(&NOT_FOUND, "Sandboxes are off, so that there are no controls."));
    };
    *request.uri_mut() = target(request.uri()).ok_or_else(|| {
        let detail = "There are no controls at this address: it must begin with /control/sandboxes, /control/root or \
                      /control/sandbox/NAME.";
        Problem::new(&NOT_FOUND, detail)
    })?;
    let headers = request.headers_mut();
    for name in LEFT_OUT {
        headers.remove(name);
    }
    let bearer = HeaderValue::try_from(format!("Bearer {token}")).map_err(Problem::internal)?;
    headers.insert(header::AUTHORIZATION, bearer);
    let mut response = service.app.answer(request).await;
    remove_cors(response.headers_mut());
    Ok(response)
}

/// Where a call goes on the listener of a service. Only paths of the controls can be the result.
fn target(uri: &Uri) -> Option<Uri> {
    let path = uri.path().strip_prefix("/control")?;
    let inner = if let Some(rest) = below(path, "/sandboxes") {
        format!("/sandboxes{rest}")
    } else if let Some(rest) = below(path, "/root") {
        format!("/_control{rest}")
    } else {
        let rest = path.strip_prefix("/sandbox/")?;
        let name = Name::new(rest.split('/').next()?)?;
        format!("{}/_control{}", name.path(), &rest[name.as_str().len()..])
    };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let inner = PathAndQuery::try_from(format!("{inner}{query}")).ok()?;
    Uri::builder().path_and_query(inner).build().ok()
}

fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The controls let pages of all origins read their answers; the console does not.
fn remove_cors(headers: &mut HeaderMap) {
    let names: Vec<_> =
        headers.keys().filter(|name| name.as_str().starts_with("access-control-")).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_controls_are_reached() {
        let target = |path: &str| target(&path.parse().unwrap()).map(|uri| uri.to_string());
        for (path, inner) in [
            ("/control/sandboxes", "/sandboxes"),
            ("/control/sandboxes?class=monday", "/sandboxes?class=monday"),
            ("/control/root", "/_control"),
            ("/control/root/clock", "/_control/clock"),
            ("/control/root/../v3/pet/1", "/_control/../v3/pet/1"),
            ("/control/sandbox/ada", "/sandbox/ada/_control"),
            ("/control/sandbox/ada/journal?limit=1", "/sandbox/ada/_control/journal?limit=1"),
            ("/control/sandbox/ada//v3", "/sandbox/ada/_control//v3"),
        ] {
            assert_eq!(target(path).as_deref(), Some(inner), "{path}");
        }
        for path in [
            "/control/",
            "/control/v3/pet/1",
            "/control/rooted",
            "/control/sandboxed",
            "/control/sandbox",
            "/control/sandbox/",
            "/control/sandbox//v3",
            "/control/sandbox/..",
            "/control/sandbox/Ada",
            "/control/sandbox/a%2Fb",
            "/controls/root",
        ] {
            assert_eq!(target(path), None, "{path}");
        }
    }
}
