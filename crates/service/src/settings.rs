//! Settings that several services have.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};

use identity::oauth::ExternalIssuerSettings;
use ipnet::IpNet;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The text in place of a secret.
pub const HIDDEN: &str = "(hidden)";

/// Who issues the access tokens of a service, and who may register clients.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OauthSettings {
    /// The external issuer whose tokens the service accepts instead of its own; empty if there is none.
    pub issuer: String,
    /// The audience of that issuer's tokens for this service; the service's address if this is empty.
    pub audience: String,
    /// The types of that issuer's access tokens.
    pub types: Vec<String>,
    /// The claim with the scopes.
    pub scope_claim: String,
    /// The token that registers a client outside of a demo; empty if there is none.
    #[serde(serialize_with = "hidden")]
    pub registration_token: String,
}

impl Default for OauthSettings {
    fn default() -> Self {
        OauthSettings {
            issuer: String::new(),
            audience: String::new(),
            types: vec!["at+jwt".into()],
            scope_claim: "scope".into(),
            registration_token: String::new(),
        }
    }
}

impl OauthSettings {
    /// The external issuer, if there is one.
    pub fn external_issuer(&self) -> Option<ExternalIssuerSettings> {
        let OauthSettings { issuer, audience, types, scope_claim, .. } = self.clone();
        (!issuer.is_empty()).then_some(ExternalIssuerSettings { url: issuer, audience, types, scope_claim })
    }

    pub(crate) fn registration_token(&self) -> Option<SecretString> {
        Some(&self.registration_token).filter(|token| !token.is_empty()).map(|token| token.as_str().into())
    }
}

fn hidden<S: Serializer>(secret: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if secret.is_empty() { "" } else { HIDDEN })
}

/// Rejects a limit of 0, by its name in the section of the service.
pub fn at_least_one(limits: &[(&str, u32)]) -> Result<(), String> {
    match limits.iter().find(|(_, value)| *value == 0) {
        Some((name, _)) => Err(format!("{name} must be at least 1")),
        None => Ok(()),
    }
}

const LISTEN: &str = "must be an address of this machine and a port, like 127.0.0.1:8080 or localhost:8080";

/// Reads where a service listens: an address, or a name of this machine.
pub fn listen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
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

/// Whether a socket can be bound to this address.
fn is_of_this_machine(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

/// Reads a list of networks.
pub fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let networks: Result<_, _> = texts.iter().map(|text| text.parse()).collect();
    networks.map_err(|_| D::Error::custom("must be a list of networks, like [\"10.0.0.0/8\"]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listener_can_be_set_by_a_name_of_this_machine() {
        assert_eq!(resolve("localhost:8080"), Some("127.0.0.1:8080".parse().unwrap()));
        assert_eq!(resolve("[::1]:0"), Some("[::1]:0".parse().unwrap()));
        for invalid in ["here", ":8080", "localhost", "localhost:", "localhost:65536", "a..b:80"] {
            assert_eq!(resolve(invalid), None, "{invalid}");
        }
        assert!(!is_of_this_machine([192, 0, 2, 1].into()), "an address that is for examples");
    }
}
