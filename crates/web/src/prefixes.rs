//! Several instances of services on one listener, each under its own path prefix.

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use http::uri::{PathAndQuery, Uri};

use crate::{
    app::App,
    problem::{NOT_FOUND, Problem},
};

/// Sends each request to the instance whose prefix its path has: `/x/ada/v3/pet/1` to the one at `/x/ada`, which sees
/// `/v3/pet/1`. A well-known document has the prefix at its end: `/.well-known/name/x/ada`.
pub fn by_prefix(instances: impl IntoIterator<Item = (String, App)>) -> App {
    Prefixes(instances.into_iter().collect()).into()
}

pub(crate) struct Prefixes(Vec<(String, App)>);

impl Prefixes {
    pub(crate) async fn answer(&self, mut request: Request) -> Response {
        let path = request.uri().path();
        let found = self.0.iter().find_map(|(prefix, app)| Some((app, inner_path(path, prefix)?)));
        let Some((app, inner)) = found else {
            return Problem::new(&NOT_FOUND, "There is no service at this address.").into_response();
        };
        let Some(uri) = with_path(request.uri(), &inner) else {
            return Problem::new(&NOT_FOUND, "There is no such path.").into_response();
        };
        *request.uri_mut() = uri;
        app.answer(request).await
    }
}

/// The path within the instance at a prefix, if the path leads there.
fn inner_path(path: &str, prefix: &str) -> Option<String> {
    if let Some(rest) = below(path, prefix) {
        return Some(if rest.is_empty() { "/".into() } else { rest.into() });
    }
    let document = path.strip_prefix("/.well-known/")?;
    let (name, after) = document.split_at(document.find('/')?);
    below(after, prefix).map(|rest| format!("/.well-known/{name}{rest}"))
}

/// What follows a prefix in a path, if the path has it as whole segments.
fn below<'p>(path: &'p str, prefix: &str) -> Option<&'p str> {
    path.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The same target with another path.
fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    let target = match uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    parts.path_and_query = Some(target.ok()?);
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
    fn query_stays_with_the_path() {
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        assert_eq!(with_path(&uri("/x/ada/a?b=c&d"), "/a"), Some(uri("/a?b=c&d")));
        assert_eq!(with_path(&uri("http://h.example/x/ada/a"), "/a"), Some(uri("http://h.example/a")));
    }
}
