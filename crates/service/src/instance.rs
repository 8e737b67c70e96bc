//! The database, clock, random source, address and limits of one instance of a service.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use db::Db;
use identity::Hashing;
use trace::Traces;
use web::{Clock, Controls, DeliveryGate, InstallationSecret, Random, RequestLimits};

/// The arguments with which an instance is opened. Cloning it is cheap.
#[derive(Clone)]
pub struct Instance {
    pub db: Db,
    pub clock: Clock,
    pub random: Random,
    /// Where clients reach the instance, without a slash at the end: `https://pets.example.com/x/ada`. Links, issuer, cookie
    /// paths and documents follow from it. Empty if it is not known; links are then paths.
    pub address: String,
    pub limits: RequestLimits,
    /// Whether there is demo data, and the demo accounts can sign in.
    pub demo: bool,
    /// Whether only this machine can reach the instance.
    pub is_local: bool,
    /// For services that derive keys.
    pub secret: InstallationSecret,
    /// How passwords are hashed.
    pub hashing: Hashing,
    /// The controls of the instance. Read them with [`Instance::controls_in_effect`].
    pub controls: Controls,
    /// Decides which deliveries of webhooks fail on purpose, if any do.
    pub delivery_gate: Option<DeliveryGate>,
    /// Records what the instance does apart from its calls, such as deliveries of webhooks; `None`: nothing.
    pub traces: Option<Traces>,
}

impl Instance {
    /// An instance without demo data and with default limits, at an address that is not known.
    pub fn new(db: Db, clock: Clock, random: Random) -> Self {
        Instance {
            db,
            clock,
            random,
            address: String::new(),
            limits: RequestLimits::default(),
            demo: false,
            is_local: false,
            secret: InstallationSecret::new(&[]),
            hashing: Hashing::default(),
            controls: Controls::default(),
            delivery_gate: None,
            traces: None,
        }
    }

    /// The same at this address.
    #[must_use]
    pub fn at(self, address: impl Into<String>) -> Self {
        Instance { address: address.into(), ..self }
    }

    /// The controls that the instance obeys: its own in demo mode, else those that change nothing.
    pub fn controls_in_effect(&self) -> Controls {
        if self.demo { self.controls.clone() } else { Controls::default() }
    }
}

/// What a listener speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

/// The public address of a service: as the operator set it, or where the service listens.
pub fn public_address(set: &str, scheme: Scheme, listening: SocketAddr) -> String {
    if !set.is_empty() {
        return set.to_owned();
    }
    // A client cannot connect to the unspecified address; on this machine, loopback reaches the listener.
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let scheme = match scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    format!("{scheme}://{}", SocketAddr::new(ip, listening.port()))
}
