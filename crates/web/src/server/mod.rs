//! The accept loop: sockets in, answers out, nothing held for ever.
//!
//! Ours rather than `axum::serve`, which has no timeouts: a connection has a limited time to send the head of a
//! request, is closed when no byte moves for a while in either direction, and counts towards a cap.

mod activity;
mod edge;
mod linger;
mod proxies;
mod refusal;
mod site;
mod socket;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};

use activity::Activity;
use edge::Edge;
pub use edge::{Client, RequestId, Verbatim};
pub(crate) use edge::{is_refusal, panicked};
pub use proxies::Proxies;
use refusal::Refusal;
pub use site::Site;
use socket::Socket;

use crate::{chance::Chance, limits::ConnectionLimits};

/// Serves `router` on `listener` until `stop` comes, then finishes the requests that are running.
pub async fn serve(
    site: Site,
    listener: TcpListener,
    router: Router,
    chance: Chance,
    stop: impl Future<Output = ()>,
) {
    let (name, limits) = (site.name, site.limits);
    let listening = listener.local_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip());
    let edge = Arc::new(Edge::new(site, listening, router, chance));
    let builder = Arc::new(builder(limits));
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(limits.connections));
    // Dropped when this function ends, which ends whatever connection is left.
    let (_serving, served) = watch::channel(());
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let (stream, peer, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, most likely: connections that end will give some back.
                tracing::warn!(service = name, %error, "cannot accept connections");
                #[expect(clippy::disallowed_methods, reason = "there is no event to await for this")]
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        let asked = Arc::new(AtomicBool::new(false));
        let (activity, stalled) = Activity::new(limits.stall_time);
        let socket = Socket::new(stream, activity, Refusal::new(edge.clone(), peer, asked.clone()));
        let edge = edge.clone();
        let service = hyper::service::service_fn(move |request| {
            asked.store(true, Relaxed);
            let edge = edge.clone();
            async move { Ok::<_, std::convert::Infallible>(edge.handle(request, peer).await) }
        });
        let builder = builder.clone();
        let watcher = graceful.watcher();
        let mut served = served.clone();
        tokio::spawn(async move {
            let connection = builder.serve_connection(TokioIo::new(socket), service);
            tokio::select! {
                // Clients break off and send nonsense all the time; hyper has answered what can be answered.
                _ = watcher.watch(connection.into_owned()) => {}
                () = stalled => {}
                _ = served.changed() => {}
            }
            drop(place);
        });
    }
    drop(listener);
    if timeout(limits.grace_time, graceful.shutdown()).await.is_err() {
        tracing::warn!(service = name, "some requests did not finish in time and were cut off");
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    // A place first: a connection nobody can serve yet waits in the kernel, at no cost to us.
    let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, peer, place))
}

fn builder(limits: ConnectionLimits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(64 * 1024)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .max_header_list_size(64 * 1024);
    builder
}
