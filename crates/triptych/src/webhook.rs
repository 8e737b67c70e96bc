//! `triptych webhook listen`: a small receiver, to see on one machine what a subscriber sees.

use std::net::Ipv4Addr;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    routing::any,
};
use tokio::{net::TcpListener, sync::mpsc};
use web::Clock;
use webhooks::Secret;

use crate::{Failure, print, table::as_text};

#[derive(Clone)]
struct Receiver {
    secret: Option<Secret>,
    clock: Clock,
    /// Receives the error that ends the program.
    ended: mpsc::UnboundedSender<Failure>,
}

pub(crate) fn listen(port: u16, secret: Option<&str>) -> Result<(), Failure> {
    let secret = secret.map(Secret::parse).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(receive_all(port, secret))
}

/// Receives for as long as what arrives can be printed.
async fn receive_all(port: u16, secret: Option<Secret>) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|error| {
        format!("cannot listen on 127.0.0.1:{port}: {error} (choose another with --port)")
    })?;
    let address = listener.local_addr()?;
    let checked = if secret.is_some() { "" } else { ", without checking signatures: no --secret was given" };
    print(&format!("Ready. Subscribe http://{address}{checked}.\n"))?;
    let (ended, mut failures) = mpsc::unbounded_channel();
    let receiver = Receiver { secret, clock: Clock::system(), ended };
    let router = Router::new().fallback(any(receive)).with_state(receiver);
    tokio::select! {
        served = axum::serve(listener, router) => Ok(served?),
        Some(failure) = failures.recv() => Err(failure),
    }
}

/// Prints an event, and answers what a careful subscriber would.
async fn receive(State(receiver): State<Receiver>, uri: Uri, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (id, timestamp, signature) =
        (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
    let verdict = match &receiver.secret {
        None => Ok("not checked"),
        Some(secret) => secret
            .verify(id, timestamp, signature, &body, receiver.clock.now())
            .map(|()| "signature is right"),
    };
    let (said, status) = match verdict {
        Ok(said) => (said, StatusCode::NO_CONTENT),
        Err(why) => (why, StatusCode::BAD_REQUEST),
    };
    let (path, body) = (as_text(uri.path()), as_text(&String::from_utf8_lossy(&body)));
    let id: String = id.chars().filter(char::is_ascii_graphic).collect();
    match print(&format!("{path} {id} ({said})\n  {body}\n")) {
        Ok(()) => status,
        Err(failure) => {
            // The first error ends the program. The event was not printed, so the sender must retry it.
            let _ = receiver.ended.send(failure);
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}
