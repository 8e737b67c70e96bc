//! The accept loop.
//!
//! It replaces `axum::serve`, which has no timeouts: a connection has a limited time to send the head of a request, and is
//! closed when no request makes progress for a time. The number of connections is limited, in total and per address.

mod activity;
mod connection;
mod early_admission;
mod edge;
mod linger;
mod permits;
mod proxies;
mod record;
mod site;
mod socket;
mod tls;
mod traces;
mod turn;

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use futures_util::FutureExt;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};

use connection::Connections;
use edge::Edge;
pub use edge::KeepBody;
use permits::{Permit, Permits};
pub use proxies::Proxies;
pub use record::REQUEST_LOG;
pub use site::{Site, is_loopback_host};
pub use tls::Tls;

use crate::{app::App, random::Random};

/// What a process does. Its listeners follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Serving,
    /// It serves, but wants to have no clients: it is not ready, and asks each client to close its connection.
    Draining,
    /// It accepts no connections, and finishes the requests that are running.
    Stopping,
}

/// Serves `app` on `listener` until the process stops; if the sender of `phase` is dropped, it stops.
pub async fn serve(
    site: Site,
    listener: TcpListener,
    app: impl Into<App>,
    random: Random,
    phase: watch::Receiver<Phase>,
) {
    let (name, limits) = (site.name, site.limits);
    let unknown = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0);
    let listening = listener.local_addr().unwrap_or(unknown);
    let permits = Permits::new(limits, site.proxies.clone());
    let tls = site.tls.clone();
    let edge = Arc::new(Edge::new(site, listening, app.into(), random));
    // Dropped when this function ends, which closes the remaining connections.
    let (serving, served) = watch::channel(());
    let connections = Connections::new(name, limits, tls, edge.clone(), phase.clone(), served);
    let mut draining = std::pin::pin!(reach(phase.clone(), Phase::Draining));
    let mut stopping = std::pin::pin!(reach(phase, Phase::Stopping));
    loop {
        let accepted = tokio::select! {
            () = &mut stopping => break,
            () = &mut draining, if !edge.is_draining() => {
                edge.drain();
                continue;
            }
            accepted = accept(name, &listener, &permits) => accepted,
        };
        match accepted {
            Ok((stream, peer, permit)) => connections.start(stream, peer, permit),
            Err(error) => {
                // Out of file descriptors, most likely: connections that end will give some back.
                tracing::warn!(service = name, %error, "cannot accept connections");
                #[expect(clippy::disallowed_methods, reason = "there is no event to await for this")]
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
    edge.drain();
    accept_waiting(listener, &permits, &connections);
    drop(connections);
    if timeout(limits.grace_time, serving.closed()).await.is_err() {
        tracing::warn!(service = name, "some requests did not finish in time and were cut off");
    }
}

/// Waits for a phase, or a later one.
async fn reach(mut phase: watch::Receiver<Phase>, wanted: Phase) {
    // A closed channel means the last phase.
    let _ = phase.wait_for(|phase| *phase >= wanted).await;
}

/// Accepts what waits in the kernel, and closes the listener. A closed listener resets these connections, and a client that has
/// sent a request cannot know whether it was handled.
fn accept_waiting(listener: TcpListener, permits: &Permits, connections: &Connections) {
    // Not through the runtime, which may not have noticed the last ones.
    let Ok(listener) = listener.into_std() else { return };
    while let Some(Ok(one)) = permits.one().now_or_never()
        && let Ok((stream, peer)) = listener.accept()
    {
        let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
        if let (Ok(stream), Ok(permit)) = (stream, permits.count(one, peer.ip())) {
            connections.start(stream, peer, permit);
        }
    }
}

async fn accept(
    service: &'static str,
    listener: &TcpListener,
    permits: &Permits,
) -> io::Result<(TcpStream, SocketAddr, Permit)> {
    // A permit first: a connection that cannot be served yet waits in the kernel, at no cost to us.
    let mut one = permits.one().await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        match permits.count(one, peer.ip()) {
            Ok(permit) => return Ok((stream, peer, permit)),
            // Closed at once: an answer would cost what the limit is there to save.
            Err(unused) => {
                one = unused;
                metrics::counter!("triptych_connections_refused_total", "service" => service).increment(1);
                tracing::debug!(service, client = %peer.ip(), "too many connections from one address");
            }
        }
    }
}
