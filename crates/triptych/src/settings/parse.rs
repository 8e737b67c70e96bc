//! Settings that are more than text or a number. Their errors say what must be there instead.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de::Error};

const LISTEN: &str = "must be an address of this machine and a port, like 127.0.0.1:8080 or localhost:8080";

/// Where a service listens: an address, or a name of this machine.
pub(super) fn listen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    resolve(&text).ok_or_else(|| D::Error::custom(LISTEN))
}

fn resolve(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (name, port) = text.rsplit_once(':')?;
    let port: u16 = port.parse().ok().filter(|_| !name.is_empty())?;
    let found = (name, port).to_socket_addrs().ok()?.filter(|address| is_of_this_machine(address.ip()));
    // IPv4 first, as in the defaults: every client on this machine has it.
    found.min_by_key(SocketAddr::is_ipv6)
}

/// Whether a socket can be bound to this.
fn is_of_this_machine(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

pub(super) fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let networks: Result<_, _> = texts.iter().map(|text| text.parse()).collect();
    networks.map_err(|_| D::Error::custom("must be a list of networks, like [\"10.0.0.0/8\"]"))
}

/// Whether this is a level, or levels by part. What is no level would be taken as the name of a part: one that logs nothing.
pub(super) fn is_log_filter(text: &str) -> bool {
    const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
    let is_part = |part: &str| {
        let fine = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | ':' | '-');
        !part.is_empty() && part.chars().all(fine)
    };
    text.split(',').all(|one| match one.trim().split_once('=') {
        None => LEVELS.contains(&one.trim()),
        Some((part, level)) => is_part(part) && LEVELS.contains(&level),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_can_be_listened_on() {
        assert_eq!(resolve("localhost:8080"), Some("127.0.0.1:8080".parse().unwrap()));
        assert_eq!(resolve("[::1]:0"), Some("[::1]:0".parse().unwrap()));
        for unfit in ["here", ":8080", "localhost", "localhost:", "localhost:65536", "a..b:80"] {
            assert_eq!(resolve(unfit), None, "{unfit}");
        }
        assert!(!is_of_this_machine([192, 0, 2, 1].into()), "an address that is for examples");
    }

    #[test]
    fn a_log_filter_is_made_of_levels() {
        for fine in ["info", "off", "warn,museum=debug", "warn, identity::oauth=trace"] {
            assert!(is_log_filter(fine), "{fine}");
        }
        for unfit in
            ["", "chatty", "museum=loud", "info,", "museum", "=info", "[span]=info", "museum=info=warn"]
        {
            assert!(!is_log_filter(unfit), "{unfit}");
        }
    }
}
