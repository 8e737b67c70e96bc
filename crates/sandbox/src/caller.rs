//! Callers, as rules and filters name them.

use std::net::IpAddr;

/// A caller: the name of a user, the id of an OAuth client, or the address of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallerName {
    name: Box<str>,
    /// The name as an address, so that all notations of one are equal.
    address: Option<IpAddr>,
}

impl CallerName {
    pub(crate) fn new(name: &str) -> Self {
        CallerName { name: name.into(), address: name.parse().ok() }
    }

    pub(crate) fn is_address(&self) -> bool {
        self.address.is_some()
    }

    pub(crate) fn is(&self, user: Option<&str>, client: Option<&str>, address: IpAddr) -> bool {
        let name = Some(&*self.name);
        user == name || client == name || self.address == Some(address)
    }
}
