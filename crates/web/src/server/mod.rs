//! The accept loop.
//!
//! It replaces `axum::serve`, which has no timeouts: a connection has a limited time to send the head of a request, and is
//! closed when no request makes progress for a time. The number of connections is limited, in total and per address.

mod activity;
mod edge;
mod linger;
mod permits;
mod proxies;
mod record;
mod site;
mod socket;

use std::{
    error::Error,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, atomic::Ordering::Relaxed},
};

use axum::body::{Body, HttpBody};
use http::{HeaderValue, Request, Version, header};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};

use activity::{Activity, TrackedBody};
use edge::Edge;
pub use edge::KeepBody;
use permits::{Permit, Permits};
pub use proxies::Proxies;
pub use record::REQUEST_LOG;
pub use site::{Site, is_loopback_host};
use socket::Socket;

use crate::{app::App, fault::Cut, limits::ConnectionLimits, random::Random};

/// How many bytes of a connection are read ahead: the largest head of a request.
const BUFFER: usize = 64 * 1024;

/// Serves `app` on `listener` until `stop` comes, then finishes the requests that are running.
pub async fn serve(
    site: Site,
    listener: TcpListener,
    app: impl Into<App>,
    random: Random,
    stop: impl Future<Output = ()>,
) {
    let (name, limits) = (site.name, site.limits);
    let listening = listener.local_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip());
    let permits = Permits::new(limits, site.proxies.clone());
    let edge = Arc::new(Edge::new(site, listening, app.into(), random));
    let builder = Arc::new(builder(limits));
    let graceful = GracefulShutdown::new();
    // Dropped when this function ends, which closes the remaining connections.
    let (_serving, served) = watch::channel(());
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept(name, &listener, &permits) => accepted,
        };
        let (stream, peer, permit) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, most likely: connections that end will give some back.
                tracing::warn!(service = name, %error, "cannot accept connections");
                #[expect(clippy::disallowed_methods, reason = "there is no event to await for this")]
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        let (activity, stalled) = Activity::new(limits);
        let edge = edge.clone();
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            activity.progress();
            let (edge, activity) = (edge.clone(), activity.clone());
            async move {
                let may_close = request.version() < Version::HTTP_2 && is_large(request.body());
                let mut is_read = None;
                let request = request.map(|body| match body.is_end_stream() {
                    true => Body::empty(),
                    false => {
                        let mut body = TrackedBody::new(body, &activity);
                        is_read = may_close.then(|| body.is_read());
                        Body::new(body)
                    }
                });
                let (mut response, sending) = edge.handle(request, peer).await?;
                if is_read.is_some_and(|is_read| !is_read.load(Relaxed)) {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Cut>(response.map(|body| TrackedBody::new(body, &activity).observed(sending)))
            }
        });
        let builder = builder.clone();
        let watcher = graceful.watcher();
        let mut served = served.clone();
        tokio::spawn(async move {
            let connection = builder.serve_connection(TokioIo::new(Socket::new(stream)), service);
            tokio::select! {
                ended = watcher.watch(connection.into_owned()) => log_parse_error(name, peer, ended),
                () = stalled => {}
                _ = served.changed() => {}
            }
            drop(permit);
        });
    }
    drop(listener);
    if timeout(limits.grace_time, graceful.shutdown()).await.is_err() {
        tracing::warn!(service = name, "some requests did not finish in time and were cut off");
    }
}

/// Whether hyper closes the connection if the service does not read this body. Hyper discards a body that its buffer holds.
fn is_large(body: &impl HttpBody) -> bool {
    body.size_hint().upper().is_none_or(|bytes| bytes > BUFFER as u64)
}

/// Logs bytes that are no HTTP request. The HTTP library has answered them with a bare 400 or 431, and has no hook for
/// another answer. Other errors of a connection are clients that disconnect, which is normal.
fn log_parse_error(service: &str, peer: SocketAddr, ended: Result<(), Box<dyn Error + Send + Sync>>) {
    let error = ended.err().and_then(|error| error.downcast::<hyper::Error>().ok());
    if let Some(cause) = error.filter(|error| error.is_parse()) {
        tracing::info!(service, client = %peer.ip(), %cause, "not an HTTP request");
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
            Ok(permit) => {
                stream.set_nodelay(true)?;
                return Ok((stream, peer, permit));
            }
            // Closed at once: an answer would cost what the limit is there to save.
            Err(unused) => {
                one = unused;
                metrics::counter!("triptych_connections_refused_total", "service" => service).increment(1);
                tracing::debug!(service, client = %peer.ip(), "too many connections from one address");
            }
        }
    }
}

fn builder(limits: ConnectionLimits) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(BUFFER)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .max_header_list_size(64 * 1024);
    builder
}
