//! The address of a service: where people and programs reach it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::Host;

use super::SettingsError;

/// An address as a service has it: what the operator says, or where it listens.
pub(crate) fn address(said: &str, listening: SocketAddr) -> String {
    if !said.is_empty() {
        return said.to_owned();
    }
    // Nobody can go to "every address"; on this machine, this one leads there.
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, listening.port()))
}

/// Whether what the operator says of an address, if anything, leads to this machine only.
pub(super) fn leads_here(said: &str) -> bool {
    match url::Url::parse(said).ok().as_ref().and_then(url::Url::host) {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => said.is_empty(),
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
    fn an_address_leads_here_or_elsewhere() {
        for here in
            ["", "http://127.0.0.1:8081", "http://[::1]", "http://localhost:81", "https://a.localhost"]
        {
            assert!(leads_here(here), "{here}");
        }
        for elsewhere in [
            "https://trains.example.com",
            "http://localhost.example.com",
            "http://notlocalhost",
            "http://10.0.0.1:8081",
            "http://0.0.0.0:8081",
            "http://[::]:8081",
            "nonsense",
        ] {
            assert!(!leads_here(elsewhere), "{elsewhere}");
        }
    }
}
