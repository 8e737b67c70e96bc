//! The connections of a listener, from their first byte to their last.

use std::{
    error::Error,
    future, io,
    net::SocketAddr,
    pin::pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use axum::body::{Body, HttpBody};
use http::{HeaderValue, Request, Version, header};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{net::TcpStream, sync::watch, time::sleep_until};

use super::{
    Phase,
    activity::{Activity, TrackedBody},
    early_admission::EarlyAdmission,
    edge::Edge,
    permits::Permit,
    reach,
    socket::Socket,
    tls::{Stream, Tls},
    turn::next_turn,
};
use crate::{
    admission::{Entry, Refused},
    fault::Cut,
    limits::ConnectionLimits,
    times::is_probe,
};

/// How many bytes of a connection are read ahead: the largest head of a request.
const BUFFER: usize = 64 * 1024;

/// The largest body that arrives together with the head of its request, in most cases: hyper reads 8 KiB first.
const ARRIVES_WITH_HEAD: u64 = 4 * 1024;

/// How long the first request of a connection may take to arrive when the process stops.
const FIRST_REQUEST: Duration = Duration::from_secs(2);

/// What the connections of a listener share.
pub(super) struct Connections {
    service: &'static str,
    limits: ConnectionLimits,
    tls: Option<Tls>,
    edge: Arc<Edge>,
    builder: Arc<auto::Builder<TokioExecutor>>,
    phase: watch::Receiver<Phase>,
    /// Closed when the connections must end.
    served: watch::Receiver<()>,
}

impl Connections {
    pub(super) fn new(
        service: &'static str,
        limits: ConnectionLimits,
        tls: Option<Tls>,
        edge: Arc<Edge>,
        phase: watch::Receiver<Phase>,
        served: watch::Receiver<()>,
    ) -> Self {
        Connections { service, limits, tls, edge, builder: Arc::new(builder()), phase, served }
    }

    /// Serves a connection in its own task. Another task ends it. One task for both would look at all reasons to end a connection
    /// each time that it goes on with a request: with thousands of connections they are in no cache of the processor.
    pub(super) fn start(&self, stream: TcpStream, peer: SocketAddr, permit: Permit) {
        let (activity, stalled) = Activity::new(self.limits);
        let mut connection = tokio::spawn(self.serve(stream, peer, permit, activity.clone()));
        let (phase, mut served) = (self.phase.clone(), self.served.clone());
        tokio::spawn(async move {
            let leaving = async {
                leave(phase, &activity).await;
                activity.leave();
                future::pending::<()>().await;
            };
            tokio::select! {
                _ = &mut connection => return,
                () = stalled => {}
                _ = served.changed() => {}
                () = leaving => {}
            }
            connection.abort();
            let _ = connection.await;
        });
    }

    fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        permit: Permit,
        activity: Activity,
    ) -> impl Future<Output = ()> + use<> {
        let (name, tls) = (self.service, self.tls.clone());
        let (builder, edge) = (self.builder.clone(), self.edge.clone());
        let requests = activity.clone();
        let answering = edge.clone();
        // Boxed: a connection without a request keeps no room for it, and one request after the other has the same room.
        let service =
            service_fn(move |request| Box::pin(answer(answering.clone(), requests.clone(), peer, request)));
        async move {
            let _permit = permit;
            // Without it a small answer waits for the client's acknowledgement of the one before.
            let _ = stream.set_nodelay(true);
            let socket = Socket::new(stream, EarlyAdmission::new(edge.admission(), activity.clone()));
            let stream = match tls {
                None => Stream::Plain(socket),
                Some(tls) => tokio::select! {
                    stream = tls.accept(socket) => match stream {
                        Ok(stream) => stream,
                        Err(error) => return log_handshake_error(name, peer, &error),
                    },
                    () = activity.left() => return,
                },
            };
            let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
            let ended = tokio::select! {
                biased;
                ended = &mut connection => ended,
                () = activity.left() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            log_parse_error(name, peer, ended);
        }
    }
}

/// Ends when a connection of a process that stops is to be closed, after its running requests.
///
/// HTTP/2 says which requests are still answered, so its connections can be closed first. A client of HTTP/1.1 may be sending a
/// request at the moment in which its idle connection is closed, and cannot know whether it was handled: it gets the time of the
/// drain to close the connection itself, or to learn from an answer that it is the last one.
async fn leave(phase: watch::Receiver<Phase>, activity: &Activity) {
    reach(phase.clone(), Phase::Draining).await;
    if activity.is_http_2() {
        return;
    }
    reach(phase, Phase::Stopping).await;
    if activity.is_unused() {
        sleep_until(activity.start() + FIRST_REQUEST).await;
    }
}

/// Answers a request.
fn answer(
    edge: Arc<Edge>,
    activity: Activity,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> impl Future<Output = Result<http::Response<TrackedBody<Body>>, Cut>> {
    let is_http_1 = request.version() < Version::HTTP_2;
    // Not in the future: hyper may read on before it polls that for the first time, and what arrives then is no request to admit.
    let running = activity.begin(request.version());
    let decision = activity.take_decision();
    activity.admit_next_early(is_http_1 && !is_probe(request.uri().path()));
    async move {
        if !is_http_1 {
            // A client may have cancelled the request already, with a frame that is read before the task of the request runs again.
            next_turn().await;
        }
        let may_close = is_http_1 && is_large(request.body());
        let mut is_read = None;
        let request = request.map(|body| match body.is_end_stream() {
            true => Body::empty(),
            false => {
                let mut body = TrackedBody::new(body, &activity);
                is_read = may_close.then(|| body.is_read());
                Body::new(body)
            }
        });
        let entry = match decision {
            Some(decision) => Entry::Decided(decision),
            None => Entry::Open { is_after_refusal: activity.wait_after_refusal(|| edge.has_room()).await },
        };
        let (mut response, sending) = edge.handle(request, peer, entry).await?;
        if let Some(refused) = response.extensions().get::<Refused>() {
            activity.refused(*refused);
        }
        let is_unread = is_read.is_some_and(|is_read| !is_read.load(Relaxed));
        if is_unread || is_http_1 && edge.is_draining() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        Ok(response.map(|body| TrackedBody::new(body, &activity).of_answer(running, sending)))
    }
}

/// Whether hyper closes the connection if the service does not read this body. Hyper discards only what has arrived, and does not say
/// in the answer that it closes the connection.
fn is_large(body: &impl HttpBody) -> bool {
    body.size_hint().upper().is_none_or(|bytes| bytes > ARRIVES_WITH_HEAD)
}

/// Logs bytes that are no HTTP request. The HTTP library has answered them with a bare 400 or 431, and has no hook for
/// another answer. Other errors of a connection are clients that disconnect, which is normal.
fn log_parse_error(service: &str, peer: SocketAddr, ended: Result<(), Box<dyn Error + Send + Sync>>) {
    let error = ended.err().and_then(|error| error.downcast::<hyper::Error>().ok());
    if let Some(cause) = error.filter(|error| error.is_parse()) {
        tracing::info!(service, client = %peer.ip(), %cause, "not an HTTP request");
    }
}

/// Logs a handshake that failed, as with a client that speaks no TLS. Clients that disconnect are normal.
fn log_handshake_error(service: &str, peer: SocketAddr, error: &io::Error) {
    if error.kind() == io::ErrorKind::InvalidData {
        tracing::info!(service, client = %peer.ip(), cause = %error, "the TLS handshake failed");
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        // `Activity` limits this time, without a timer for each request.
        .header_read_timeout(None)
        .max_buf_size(BUFFER)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256)
        .max_header_list_size(64 * 1024);
    builder
}
