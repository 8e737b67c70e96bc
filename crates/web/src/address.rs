//! The public address of a service instance: scheme, host, and the path in front of all its paths.

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
