//! What one client may take: sizes and times, all settings of the program.

use std::time::Duration;

/// Limits on connections.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// Connections at once from one address, or from one /64 of IPv6; further ones are closed.
    pub connections_per_address: usize,
    /// Whether connections from this machine do not count towards that.
    pub loopback_exempt: bool,
    /// Requests that run at the same time; others wait for their turn.
    pub requests: usize,
    /// The target latency under load: as many requests run and wait as are answered within it.
    pub latency: Duration,
    /// How long the head of a request may take to arrive, also the first one on a connection.
    pub header_time: Duration,
    /// How long a connection may stay without progress of a request: a received part of a body or a sent part of an answer.
    pub stall_time: Duration,
    /// How long requests that are running may take to finish at shut-down.
    pub grace_time: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        ConnectionLimits {
            connections: 10_000,
            connections_per_address: 1250,
            loopback_exempt: true,
            requests: 256,
            latency: Duration::from_millis(100),
            header_time: Duration::from_secs(15),
            stall_time: Duration::from_secs(60),
            grace_time: Duration::from_secs(20),
        }
    }
}

/// Limits on requests: their bodies, and how many come from an address. Carried in the request.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    /// How large a body may be.
    pub body_bytes: usize,
    /// How many bytes of bodies a service keeps in memory at once, images included.
    pub memory_bytes: usize,
    /// How long it may take to arrive.
    pub body_time: Duration,
    /// How many calls an hour may come from an address without valid credentials, or to operations that need none.
    pub anonymous_calls_per_hour: u32,
}

impl Default for RequestLimits {
    fn default() -> Self {
        RequestLimits {
            body_bytes: 1024 * 1024,
            memory_bytes: 64 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            // As many as a user has: a school or an office may share an address.
            anonymous_calls_per_hour: 100_000,
        }
    }
}
