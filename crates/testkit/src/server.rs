//! A service started in this process, on a free port.

use std::net::SocketAddr;

use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use web::{App, ConnectionLimits, Phase, Proxies, Random, Site};

/// A running service. It stops when this is dropped; [`Server::stop`] also waits for that.
pub struct Server {
    address: SocketAddr,
    phase: watch::Sender<Phase>,
    task: JoinHandle<()>,
}

/// A bound address, for a service that needs its address before it is built.
pub struct Address {
    listener: TcpListener,
    address: SocketAddr,
}

impl Address {
    pub async fn free() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        Address { listener, address }
    }

    /// `http://127.0.0.1:…`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn serve(self, limits: ConnectionLimits, app: impl Into<App>) -> Server {
        self.serve_as("", limits, app)
    }

    /// The same for a service with another public address.
    pub fn serve_as(self, address: &str, limits: ConnectionLimits, app: impl Into<App>) -> Server {
        let proxies = Proxies::default();
        let site = Site { name: "test", address: address.into(), proxies, limits, tls: None, traces: None };
        self.serve_site(site, app)
    }

    /// The same for a service with other properties.
    pub fn serve_site(self, site: Site, app: impl Into<App>) -> Server {
        let app = app.into();
        let (phase, followed) = watch::channel(Phase::Serving);
        let serving = web::serve(site, self.listener, app, Random::system(), followed);
        Server { address: self.address, phase, task: tokio::spawn(serving) }
    }
}

impl Server {
    /// Serves an application at a free address.
    pub async fn start<A: Into<App>>(limits: ConnectionLimits, app: impl FnOnce(SocketAddr) -> A) -> Self {
        let address = Address::free().await;
        let app = app(address.address);
        address.serve(limits, app)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Has its clients leave, while it still serves them.
    pub fn drain(&self) {
        self.phase.send_replace(Phase::Draining);
    }

    /// Stops it, and waits until the running requests have ended.
    pub async fn stop(mut self) {
        self.phase.send_replace(Phase::Stopping);
        let _ = (&mut self.task).await;
    }
}
