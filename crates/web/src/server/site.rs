//! What a listener knows about the service behind it, and which hosts it answers for.

use std::net::IpAddr;

use axum::extract::Request;
use http::{Uri, header, uri::Authority};
use trace::Traces;

use super::{Proxies, Tls};
use crate::{
    limits::ConnectionLimits,
    problem::{MISDIRECTED, Problem},
    sentence::shortened,
};

/// The service behind a listener.
#[derive(Clone)]
pub struct Site {
    /// Its name in the log and the metrics.
    pub name: &'static str,
    /// Where people and programs reach it, as in `https://pets.example.com`; empty if that is where it listens.
    pub address: String,
    pub proxies: Proxies,
    pub limits: ConnectionLimits,
    /// Its certificate, if the listener has TLS.
    pub tls: Option<Tls>,
    /// The traces of its calls, if they are recorded.
    pub traces: Option<Traces>,
}

impl Site {
    /// Whether people reach it by TLS, which ends here or at a proxy.
    pub(super) fn is_secure(&self) -> bool {
        self.address.parse::<Uri>().is_ok_and(|uri| uri.scheme_str() == Some("https"))
    }
}

/// The hosts that a listener answers for.
///
/// Any web page can have its own name lead to 127.0.0.1 (DNS rebinding). For the browser a service on this machine is then
/// part of that page's site, and the page may read its answers. The `Host` header still has the page's name.
pub(super) enum Hosts {
    /// Other machines reach the listener, and the operator decides by which names.
    Any,
    /// Only this machine reaches the listener: loopback names and addresses, and the host of the service's address.
    ThisMachine { own: Option<String> },
}

impl Hosts {
    pub(super) fn new(listening: IpAddr, address: &str) -> Self {
        if !listening.to_canonical().is_loopback() {
            return Hosts::Any;
        }
        let own = address.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned));
        Hosts::ThisMachine { own }
    }

    /// Refuses a request for a host that is not answered for. A request that names none, which no browser sends, is fine.
    pub(super) fn check(&self, request: &Request) -> Result<(), Problem> {
        let Hosts::ThisMachine { own } = self else { return Ok(()) };
        // Nearly every request.
        let mut hosts = request.headers().get_all(header::HOST).iter();
        if let (Some(host), None, None) = (hosts.next(), hosts.next(), request.uri().authority())
            && is_loopback_with_port(host.as_bytes())
        {
            return Ok(());
        }
        let refuse = |host: &str| {
            let host = shortened(host);
            Problem::new(
                &MISDIRECTED,
                format!(
                    "This service is not reached as {host}. Call it as localhost, or let the setting address name the host."
                ),
            )
        };
        let sent = request.headers().get_all(header::HOST).iter();
        let sent = sent.map(|value| value.to_str().unwrap_or("unreadable")).filter(|host| !host.is_empty());
        for host in request.uri().authority().map(Authority::as_str).into_iter().chain(sent) {
            let named = host.parse::<Authority>().map_err(|_| refuse(host))?;
            if !is_here(named.host(), own.as_deref()) {
                return Err(refuse(host));
            }
        }
        Ok(())
    }
}

/// Whether a host is the common name or address of this machine, with or without a port.
fn is_loopback_with_port(host: &[u8]) -> bool {
    let port = host.strip_prefix(b"127.0.0.1").or_else(|| host.strip_prefix(b"localhost"));
    match port {
        Some([]) => true,
        Some([b':', digits @ ..]) => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn is_here(host: &str, own: Option<&str>) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    is_loopback_host(name) || own.is_some_and(|own| own.eq_ignore_ascii_case(name))
}

/// Whether a host, without its port, leads to the machine of the client that names it.
pub fn is_loopback_host(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let ip = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(&name);
    match ip.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(listening: &str, address: &str, host: &str) -> bool {
        let request = Request::get("/").header("host", host).body(axum::body::Body::empty()).unwrap();
        Hosts::new(listening.parse().unwrap(), address).check(&request).is_ok()
    }

    #[test]
    fn loopback_listener_answers_for_this_machine_and_its_own_address() {
        let address = "https://pets.example.com:8443";
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "pets.localhost:1",
            "127.0.0.1",
            "127.0.0.1:9",
            "127.9.9.9",
            "[::1]",
            "[::1]:8080",
            "[::ffff:127.0.0.1]",
            "pets.example.com",
            "Pets.Example.com:443",
            "pets.example.com.",
        ] {
            assert!(answers("127.0.0.1", address, host) && answers("::1", address, host), "{host}");
        }
        for host in [
            "example.com",
            "pets.example.com.evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "0.0.0.0",
            "[::]",
            "192.168.0.1",
            "127.0.0.1.evil.example",
            "127.1",
            "2130706433",
            "a b",
            "localhost@evil.example",
        ] {
            assert!(!answers("127.0.0.1", address, host), "{host}");
            assert!(answers("0.0.0.0", address, host), "{host}");
            assert!(answers("192.168.0.1", "", host), "{host}");
        }
        assert!(!answers("127.0.0.1", "", "pets.example.com"));
    }
}
