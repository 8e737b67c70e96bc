//! The client IP behind proxies. `X-Forwarded-For` counts only from a proxy that the operator trusts, since any client can send
//! that header.

use std::{net::IpAddr, sync::Arc};

use http::HeaderMap;
use ipnet::IpNet;

/// The networks of the operator's own proxies.
#[derive(Clone, Debug, Default)]
pub struct Proxies(Arc<[IpNet]>);

impl Proxies {
    pub fn new(trusted: Vec<IpNet>) -> Self {
        Proxies(trusted.into())
    }

    /// Whether this is one of them.
    pub(super) fn trust(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The nearest address that is not a trusted proxy's.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.trust(client) {
            return client;
        }
        let hops = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let hops: Vec<_> = hops.flat_map(|value| value.split(',')).collect();
        for hop in hops.into_iter().rev() {
            if !self.trust(client) {
                break;
            }
            match hop.trim().parse::<IpAddr>() {
                Ok(address) => client = address.to_canonical(),
                // Addresses before an unreadable one are not trusted.
                Err(_) => break,
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_address_is_used_only_from_trusted_proxies() {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|network| network.parse().unwrap());
        let proxies = Proxies::new(networks.to_vec());
        for (peer, forwarded, client) in [
            ("192.0.2.1", &[][..], "192.0.2.1"),
            ("192.0.2.1", &["203.0.113.9"], "192.0.2.1"),
            ("10.0.0.1", &[], "10.0.0.1"),
            ("10.0.0.1", &["203.0.113.9"], "203.0.113.9"),
            ("::ffff:10.0.0.1", &["203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", &["1.2.3.4, 203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", &["203.0.113.9, 10.0.0.2, fd00::1"], "203.0.113.9"),
            ("10.0.0.1", &["203.0.113.9", "10.0.0.2"], "203.0.113.9"),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", &["203.0.113.9, nonsense"], "10.0.0.1"),
            ("10.0.0.1", &["nonsense, 203.0.113.9"], "203.0.113.9"),
        ] {
            let mut headers = HeaderMap::new();
            for value in forwarded {
                headers.append("x-forwarded-for", value.parse().unwrap());
            }
            let found = proxies.client(peer.parse().unwrap(), &headers);
            assert_eq!(found, client.parse::<IpAddr>().unwrap(), "{peer} {forwarded:?}");
        }
        let untrusting = Proxies::default();
        let mut headers = HeaderMap::new();
        headers.append("x-forwarded-for", "203.0.113.9".parse().unwrap());
        assert_eq!(
            untrusting.client("10.0.0.1".parse().unwrap(), &headers),
            "10.0.0.1".parse::<IpAddr>().unwrap()
        );
    }
}
