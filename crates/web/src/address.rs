//! The public address of a service instance: scheme, host, and the path in front of all its paths.

use http::{header, request::Parts, uri::Authority};

/// The path of an address: `/x/ada` for `https://pets.example.com/x/ada`; empty if the service is at the root.
pub fn path_of(address: &str) -> &str {
    match address.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => address,
    }
}

/// The origin of an address: `https://pets.example.com` for `https://pets.example.com/x/ada`.
pub fn origin_of(address: &str) -> &str {
    address.strip_suffix(path_of(address)).unwrap_or(address)
}

/// The address of a well-known document, which has the path of its subject at the end (RFC 8615, 8414, 9728):
/// `https://pets.example.com/.well-known/name/x/ada`.
pub fn well_known(address: &str, name: &str) -> String {
    format!("{}/.well-known/{name}{}", origin_of(address), path_of(address))
}

/// Whether a browser reports that a page of another origin sends the request: neither the host of the request nor one of these
/// addresses is its origin.
pub fn is_from_another_origin<'a>(parts: &Parts, own: impl IntoIterator<Item = &'a str>) -> bool {
    let Some(origin) = parts.headers.get(header::ORIGIN) else { return false };
    let Ok(origin) = origin.to_str() else { return true };
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or(parts.uri.authority().map(Authority::as_str));
    let is_host = host.is_some() && origin.split_once("://").map(|(_, authority)| authority) == host;
    !is_host && !own.into_iter().any(|address| !address.is_empty() && origin_of(address) == origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_begins_after_the_host() {
        for (address, path) in [
            ("", ""),
            ("http://127.0.0.1:8080", ""),
            ("https://pets.example.com/x/ada", "/x/ada"),
            ("http://[::1]:8080/x", "/x"),
            ("/x/ada", "/x/ada"),
        ] {
            assert_eq!(path_of(address), path, "{address}");
        }
    }

    #[test]
    fn well_known_documents_are_at_the_root_of_the_host() {
        assert_eq!(well_known("https://a.example", "b"), "https://a.example/.well-known/b");
        assert_eq!(well_known("https://a.example/x/ada", "b"), "https://a.example/.well-known/b/x/ada");
    }
}
