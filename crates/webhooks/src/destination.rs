//! Where deliveries may go: nowhere that the sender could reach and the subscriber could not.
//!
//! An address is looked at twice. When a subscription is made, its URL is checked for what can be seen in it. When a delivery
//! connects, every address that the name leads to is checked, by the resolver that the connection uses: a name that leads
//! elsewhere a moment later leads there through the same check.

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

/// Which places are allowed beside public ones.
#[derive(Debug, Clone, Default)]
pub struct Destinations {
    /// This machine, also without TLS: for trying things out.
    pub loopback: bool,
    /// Networks of the operator's, with TLS or without.
    pub networks: Vec<IpNet>,
}

/// Why a URL cannot be subscribed: a predicate of it.
pub type Unfit = &'static str;

const NOT_PUBLIC: Unfit = "must lead to a public address, not to a private, local or reserved one";

impl Destinations {
    /// Checks what can be seen in a URL.
    pub fn check(&self, url: &Url) -> Result<(), Unfit> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not have a user name or a password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("must not have a query or a fragment");
        }
        let (trusted, fit) = match url.host() {
            None => return Err("must have a host"),
            Some(Host::Ipv4(ip)) => (self.is_trusted(ip.into()), self.allows(ip.into())),
            Some(Host::Ipv6(ip)) => (self.is_trusted(ip.into()), self.allows(ip.into())),
            Some(Host::Domain(name)) => {
                let this_machine = is_loopback_name(name);
                // A name of the operator's own may lead to a network of theirs; where it leads is seen when it is used.
                let fit = if this_machine {
                    self.loopback
                } else {
                    !is_local_name(name) || !self.networks.is_empty()
                };
                (this_machine && self.loopback, fit)
            }
        };
        match url.scheme() {
            "https" => {}
            "http" if trusted => {}
            _ => return Err("must begin with https://"),
        }
        if fit { Ok(()) } else { Err(NOT_PUBLIC) }
    }

    /// Whether a delivery may connect to this address.
    pub fn allows(&self, ip: IpAddr) -> bool {
        self.is_trusted(ip) || is_public(ip)
    }

    fn is_trusted(&self, ip: IpAddr) -> bool {
        (self.loopback && ip.is_loopback()) || self.networks.iter().any(|network| network.contains(&ip))
    }
}

/// Names that lead to this machine by their form.
fn is_loopback_name(name: &str) -> bool {
    last_label(name).eq_ignore_ascii_case("localhost")
}

/// Names that lead to this network by their form.
fn is_local_name(name: &str) -> bool {
    let last = last_label(name).to_ascii_lowercase();
    !name.trim_end_matches('.').contains('.')
        || matches!(last.as_str(), "local" | "internal" | "home" | "lan" | "arpa")
}

fn last_label(name: &str) -> &str {
    name.trim_end_matches('.').rsplit('.').next().unwrap_or_default()
}

/// Whether an address is of the public internet. What is not known to be is not.
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
    // Everything public is in here; mapped, compatible, NAT64, local and multicast addresses are not.
    let global = segments[0] & 0xe000 == 0x2000;
    let teredo_and_others = segments[0] == 0x2001 && segments[1] < 0x200;
    let documentation = (segments[0] == 0x2001 && segments[1] == 0xdb8) || segments[0] == 0x3fff;
    let six_to_four = segments[0] == 0x2002;
    global && !teredo_and_others && !documentation && !six_to_four
}

/// How names are looked up.
pub type LookUp =
    Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> + Send + Sync>;

/// The machine's own way of looking up names.
pub fn by_system() -> LookUp {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// Looks names up for connections, and lets through only what is allowed.
pub(crate) struct Checked {
    pub(crate) destinations: Destinations,
    pub(crate) look_up: LookUp,
}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let found = (self.look_up)(name.as_str().to_owned());
        let destinations = self.destinations.clone();
        Box::pin(async move {
            let found = found.await?;
            // One address that is not allowed is enough: a name that leads to both is not an honest one.
            if found.is_empty() || !found.iter().all(|ip| destinations.allows(*ip)) {
                return Err(Box::new(Forbidden) as Box<dyn std::error::Error + Send + Sync>);
            }
            let found: Vec<_> = found.into_iter().map(|ip| SocketAddr::new(ip, 0)).collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// A name leads where deliveries may not go.
#[derive(Debug, thiserror::Error)]
#[error("the host does not lead to a public address")]
pub(crate) struct Forbidden;
