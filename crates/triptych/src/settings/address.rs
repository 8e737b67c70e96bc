//! The public address of a service, as the operator set it.

use url::Host;

use super::SettingsError;

/// Whether a public address, if there is one, leads to this machine only.
pub(crate) fn is_local(address: &str) -> bool {
    match url::Url::parse(address).ok().as_ref().and_then(url::Url::host) {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => address.is_empty(),
    }
}

pub(super) fn check_address(section: &str, address: &str) -> Result<(), SettingsError> {
    let wrong = |why: &str| Err(SettingsError(format!("{section}.address {why}, not {address:?}")));
    if address.is_empty() {
        return Ok(());
    }
    match url::Url::parse(address) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => wrong("must begin with https:// or http://"),
        Ok(url) if url.path() != "/" || url.query().is_some() || url.fragment().is_some() => {
            wrong("must be a host without a path, like https://pets.example.com")
        }
        Ok(_) if address.ends_with('/') => wrong("must not end with a slash"),
        Ok(url) if format!("{address}/") != url.as_str() => wrong("must be like https://pets.example.com"),
        Ok(_) => Ok(()),
        Err(_) => wrong("must be a complete address like https://pets.example.com"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_and_public_addresses_are_distinguished() {
        for local in
            ["", "http://127.0.0.1:8081", "http://[::1]", "http://localhost:81", "https://a.localhost"]
        {
            assert!(is_local(local), "{local}");
        }
        for public in [
            "https://trains.example.com",
            "http://localhost.example.com",
            "http://notlocalhost",
            "http://10.0.0.1:8081",
            "http://0.0.0.0:8081",
            "http://[::]:8081",
            "nonsense",
        ] {
            assert!(!is_local(public), "{public}");
        }
    }
}
