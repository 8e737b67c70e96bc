//! Which addresses count as one client.

use std::net::{IpAddr, Ipv6Addr};

/// The network that limits count as one address: an address of IPv4, or a /64 of IPv6, which is what one customer usually has.
pub fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
    }
}
