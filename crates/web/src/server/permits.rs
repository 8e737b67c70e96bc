//! Permits for connections: a limit for all, and a lower one for each address, so that one client cannot take all permits.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::proxies::Proxies;
use crate::{limits::ConnectionLimits, network::network};

type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

pub(super) struct Permits {
    all: Arc<Semaphore>,
    by_address: Counts,
    limits: ConnectionLimits,
    proxies: Proxies,
}

/// A connection's permit; given back when it is dropped.
pub(super) struct Permit {
    _one: OwnedSemaphorePermit,
    _counted: Option<Counted>,
}

/// A connection that counts towards its address.
struct Counted {
    by_address: Counts,
    address: IpAddr,
}

impl Permits {
    pub(super) fn new(limits: ConnectionLimits, proxies: Proxies) -> Self {
        let all = Arc::new(Semaphore::new(limits.connections));
        Permits { all, by_address: Counts::default(), limits, proxies }
    }

    /// Waits until there may be one more connection.
    pub(super) async fn one(&self) -> std::io::Result<OwnedSemaphorePermit> {
        self.all.clone().acquire_owned().await.map_err(std::io::Error::other)
    }

    /// The permit for a connection from this address. If the address has too many connections, gives back `one`.
    pub(super) fn count(
        &self,
        one: OwnedSemaphorePermit,
        peer: IpAddr,
    ) -> Result<Permit, OwnedSemaphorePermit> {
        let peer = peer.to_canonical();
        // All clients of a proxy, and all programs on this machine, would count as one.
        if self.limits.loopback_exempt && peer.is_loopback() || self.proxies.trust(peer) {
            return Ok(Permit { _one: one, _counted: None });
        }
        let address = network(peer);
        let mut counts = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= self.limits.connections_per_address {
            return Err(one);
        }
        *count += 1;
        let counted = Counted { by_address: self.by_address.clone(), address };
        Ok(Permit { _one: one, _counted: Some(counted) })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(loopback_exempt: bool) -> Permits {
        let limits = ConnectionLimits {
            connections: 100,
            connections_per_address: 2,
            loopback_exempt,
            ..ConnectionLimits::default()
        };
        Permits::new(limits, Proxies::new(vec!["10.0.0.0/8".parse().unwrap()]))
    }

    async fn take(permits: &Permits, peer: &str) -> Option<Permit> {
        permits.count(permits.one().await.unwrap(), peer.parse().unwrap()).ok()
    }

    #[tokio::test]
    async fn address_is_limited_and_closed_connection_frees_its_permit() {
        let permits = permits(true);
        let first = take(&permits, "192.0.2.1").await;
        let second = take(&permits, "::ffff:192.0.2.1").await;
        assert!(first.is_some() && second.is_some());
        assert!(take(&permits, "192.0.2.1").await.is_none());
        assert_eq!(permits.all.available_permits(), 98);
        let other = take(&permits, "192.0.2.2").await;
        assert!(other.is_some());
        drop(first);
        assert!(take(&permits, "192.0.2.1").await.is_some());
        drop((second, other));
        assert_eq!(permits.all.available_permits(), 100);
        assert!(permits.by_address.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn ipv6_addresses_of_one_64_count_together() {
        let permits = permits(true);
        let first = take(&permits, "2001:db8:0:1::1").await;
        let second = take(&permits, "2001:db8:0:1:ffff::2").await;
        assert!(first.is_some() && second.is_some());
        assert!(take(&permits, "2001:db8:0:1:1:2:3:4").await.is_none());
        assert!(take(&permits, "2001:db8:0:2::1").await.is_some());
    }

    #[tokio::test]
    async fn loopback_and_trusted_proxies_are_not_counted() {
        let mut held = Vec::new();
        let permits = permits(true);
        for peer in ["127.0.0.1", "::1", "10.1.2.3", "::ffff:10.1.2.3"] {
            for _ in 0..5 {
                held.push(take(&permits, peer).await.unwrap());
            }
        }
        let counted = self::permits(false);
        held.extend([take(&counted, "127.0.0.1").await.unwrap(), take(&counted, "127.0.0.1").await.unwrap()]);
        assert!(take(&counted, "127.0.0.1").await.is_none());
        assert!(take(&counted, "127.0.0.2").await.is_some());
    }
}
