//! Allowed destinations: a subscription must not reach a private network through this server.
//!
//! A destination is checked twice. When a subscription is made, its URL is checked. When a delivery connects, every IP address
//! of the host name is checked by the resolver that the connection uses, so a name whose addresses change is checked again.

use std::{
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
};

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The destinations that are allowed in addition to public ones.
#[derive(Debug, Clone, Default)]
pub struct Destinations {
    /// This machine, also without TLS, for demos.
    pub loopback: bool,
    /// Networks of the operator, with or without TLS.
    pub networks: Vec<IpNet>,
}

const NOT_PUBLIC: &str = "must lead to a public address, not to a private, local or reserved one";

impl Destinations {
    /// Checks a URL without resolving its host. The error completes a sentence that starts with "the address".
    pub fn check(&self, url: &Url) -> Result<(), &'static str> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not have a user name or a password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must not have a query or a fragment");
        }
        let (trusted, allowed) = match url.host() {
            None => return Err("must have a host"),
            Some(Host::Ipv4(ip)) => (self.is_trusted(ip.into()), self.allows(ip.into())),
            Some(Host::Ipv6(ip)) => (self.is_trusted(ip.into()), self.allows(ip.into())),
            Some(Host::Domain(name)) => {
                let this_machine = is_loopback_name(name);
                // A local name may lead to a network of the operator; its addresses are checked when it is resolved.
                let allowed = if this_machine {
                    self.loopback
                } else {
                    !is_local_name(name) || !self.networks.is_empty()
                };
                (this_machine && self.loopback, allowed)
            }
        };
        match url.scheme() {
            "https" => {}
            "http" if trusted => {}
            _ => return Err("must begin with https://"),
        }
        if allowed { Ok(()) } else { Err(NOT_PUBLIC) }
    }

    /// Whether a delivery may connect to this address.
    pub fn allows(&self, ip: IpAddr) -> bool {
        self.is_trusted(ip) || is_public(ip)
    }

    fn is_trusted(&self, ip: IpAddr) -> bool {
        (self.loopback && ip.is_loopback()) || self.networks.iter().any(|network| network.contains(&ip))
    }
}

/// Whether a name always means this machine.
fn is_loopback_name(name: &str) -> bool {
    last_label(name).eq_ignore_ascii_case("localhost")
}

/// Whether a name always means this network.
fn is_local_name(name: &str) -> bool {
    let last = last_label(name).to_ascii_lowercase();
    !name.trim_end_matches('.').contains('.')
        || matches!(last.as_str(), "local" | "internal" | "home" | "lan" | "arpa")
}

fn last_label(name: &str) -> &str {
    name.trim_end_matches('.').rsplit('.').next().unwrap_or_default()
}

/// Whether an address is known to be on the public internet.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    !(ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_broadcast()
        || ip.is_documentation()
        || ip.is_multicast()
        || a == 0
        || a >= 240
        // Between a provider and its customers.
        || (a == 100 && (64..128).contains(&b))
        // For protocols.
        || (a == 192 && b == 0 && c == 0)
        // Relays from IPv6.
        || (a == 192 && b == 88 && c == 99)
        // For measurements.
        || (a == 198 && (b == 18 || b == 19)))
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let segments = ip.segments();
    // All public addresses are in 2000::/3; mapped, compatible, NAT64, local and multicast addresses are not.
    let global = segments[0] & 0xe000 == 0x2000;
    let teredo_and_others = segments[0] == 0x2001 && segments[1] < 0x200;
    let documentation = (segments[0] == 0x2001 && segments[1] == 0xdb8) || segments[0] == 0x3fff;
    let six_to_four = segments[0] == 0x2002;
    global && !teredo_and_others && !documentation && !six_to_four
}

/// Resolves host names.
pub type Resolver =
    Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> + Send + Sync>;

/// The resolver of the operating system.
pub fn system_resolver() -> Resolver {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// Resolves host names for connections, and rejects destinations that are not allowed.
pub(crate) struct CheckedResolver {
    pub(crate) destinations: Destinations,
    pub(crate) resolver: Resolver,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.resolver)(name.as_str().to_owned());
        let destinations = self.destinations.clone();
        Box::pin(async move {
            let found = found.await?;
            // One forbidden address rejects the name: a name with both kinds is suspicious.
            if found.is_empty() || !found.iter().all(|ip| destinations.allows(*ip)) {
                return Err(Box::new(Forbidden) as Box<dyn std::error::Error + Send + Sync>);
            }
            let found: Vec<_> = found.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The host name has an address that is not allowed.
#[derive(Debug, thiserror::Error)]
#[error("the host does not lead to a public address")]
pub(crate) struct Forbidden;
