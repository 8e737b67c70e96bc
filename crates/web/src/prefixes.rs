//! Several instances of services on one listener, each under its own path prefix.

use std::{borrow::Cow, sync::Arc};

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use futures_util::{
    FutureExt,
    future::{BoxFuture, ready},
};
use http::uri::{PathAndQuery, Uri};

use crate::{
    app::{Answer, App},
    problem::{NOT_FOUND, Problem},
};

/// Sends each request to the instance whose prefix its path has: `/x/ada/v3/pet/1` to the one at `/x/ada`, which sees
/// `/v3/pet/1`. A well-known document has the prefix at its end: `/.well-known/name/x/ada`.
pub fn by_prefix(instances: impl IntoIterator<Item = (String, App)>) -> App {
    App::new(Arc::new(Prefixes(instances.into_iter().collect())))
}

struct Prefixes(Vec<(String, App)>);

impl Answer for Prefixes {
    fn answer(&self, mut request: Request) -> BoxFuture<'_, Response> {
        match self.0.iter().find(|(prefix, _)| strip_prefix(&mut request, prefix)) {
            Some((_, app)) => app.answer(request).boxed(),
            None => {
                let problem = Problem::new(&NOT_FOUND, "There is no service at this address.");
                ready(problem.into_response()).boxed()
            }
        }
    }
}

/// Removes a path prefix such as `/x/ada` from a request, as the instance at that prefix expects: `/x/ada/v3/pet/1` becomes
/// `/v3/pet/1`, `/.well-known/name/x/ada` becomes `/.well-known/name`. A request whose path does not have the prefix is not
/// changed, and the result is false.
pub fn strip_prefix(request: &mut Request, prefix: &str) -> bool {
    let uri = request.uri();
    let Some(uri) = inner_path(uri.path(), prefix).and_then(|path| with_path(uri, &path)) else {
        return false;
    };
    *request.uri_mut() = uri;
    true
}

/// The part of a path that may begin with the prefix of an instance: the whole path, or what follows the name of a well-known
/// document, as in `/.well-known/name/x/ada`.
pub fn prefixed_part(path: &str) -> &str {
    let document = path.strip_prefix("/.well-known/");
    document.and_then(|document| document.find('/').map(|at| &document[at..])).unwrap_or(path)
}

/// The path within the instance at a prefix, if the path leads there.
fn inner_path<'p>(path: &'p str, prefix: &str) -> Option<Cow<'p, str>> {
    if let Some(rest) = below(path, prefix) {
        return Some(if rest.is_empty() { "/".into() } else { rest.into() });
    }
    let after = prefixed_part(path);
    let document = &path[..path.len() - after.len()];
    below(after, prefix).map(|rest| format!("{document}{rest}").into())
}

/// What follows a prefix in a path, if the path has it as whole segments.
fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The same target with another path.
fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let target = match uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let target = target.ok()?;
    if uri.authority().is_none() {
        return Some(target.into());
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_within_an_instance_follows_its_prefix() {
        for (path, inner) in [
            ("/x/ada", Some("/")),
            ("/x/ada/", Some("/")),
            ("/x/ada/v3/pet/1", Some("/v3/pet/1")),
            ("/x/ada//v3", Some("//v3")),
            ("/x/adam/v3", None),
            ("/x", None),
            ("/v3/x/ada", None),
            ("/.well-known/one/x/ada", Some("/.well-known/one")),
            ("/.well-known/one/x/ada/v3", Some("/.well-known/one/v3")),
            ("/.well-known/one/x/adam", None),
            ("/.well-known/x/ada", None),
            ("/.well-known/one", None),
        ] {
            assert_eq!(inner_path(path, "/x/ada").as_deref(), inner, "{path}");
        }
    }

    #[test]
    fn prefix_is_removed_from_a_request_that_has_it() {
        let stripped = |target: &str, prefix: &str| {
            let mut request = Request::get(target).body(axum::body::Body::empty()).unwrap();
            let found = strip_prefix(&mut request, prefix);
            (found, request.uri().to_string())
        };
        assert_eq!(stripped("/x/ada/v3/pet/1?a=b", "/x/ada"), (true, "/v3/pet/1?a=b".into()));
        assert_eq!(stripped("/.well-known/one/x/ada?a", "/x/ada"), (true, "/.well-known/one?a".into()));
        assert_eq!(stripped("/x/adam?a=b", "/x/ada"), (false, "/x/adam?a=b".into()));
        assert_eq!(stripped("/x/ada%2Fb/c", "/x/ada"), (false, "/x/ada%2Fb/c".into()));
        assert_eq!(stripped("/v3", ""), (true, "/v3".into()));
    }

    #[test]
    fn prefix_is_looked_for_at_the_start_of_a_path_or_after_a_well_known_name() {
        for (path, part) in [
            ("/x/ada/v3", "/x/ada/v3"),
            ("/.well-known/one/x/ada", "/x/ada"),
            ("/.well-known/one", "/.well-known/one"),
            ("/.well-known/", "/.well-known/"),
            ("/", "/"),
            ("*", "*"),
        ] {
            assert_eq!(prefixed_part(path), part, "{path}");
        }
    }

    #[test]
    fn query_stays_with_the_path() {
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        assert_eq!(with_path(&uri("/x/ada/a?b=c&d"), "/a"), Some(uri("/a?b=c&d")));
        assert_eq!(with_path(&uri("http://h.example/x/ada/a"), "/a"), Some(uri("http://h.example/a")));
    }
}
