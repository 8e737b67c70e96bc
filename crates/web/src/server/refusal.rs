//! The document of a refusal that is not ours.
//!
//! What cannot be read as a request at all is refused by the HTTP library, with a bare status and before we hear
//! of it. Here the connection puts a problem document into that answer.

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http::StatusCode;
use tokio::{io::AsyncWrite, net::TcpStream};

use super::{activity::Activity, edge::Edge};

/// Completes the library's answer on one connection.
pub(super) struct Refusal {
    edge: Arc<Edge>,
    peer: SocketAddr,
    /// Knows whether a request has come through. From then on what is written may be our own answer, and the
    /// bytes of one may look like anything, so nothing is touched any more.
    activity: Activity,
    unsent: Bytes,
}

impl Refusal {
    pub(super) fn new(edge: Arc<Edge>, peer: SocketAddr, activity: Activity) -> Self {
        Refusal { edge, peer, activity, unsent: Bytes::new() }
    }

    /// Takes what is about to be written, if it is the library's own refusal, and says how much that was. The
    /// completed answer goes out with [`Refusal::poll_send`].
    pub(super) fn take(&mut self, written: &[IoSlice<'_>]) -> Option<usize> {
        if self.activity.has_begun() || !written.first()?.starts_with(b"HTTP/1.1 4") {
            return None;
        }
        let head =
            String::from_utf8(written.iter().flat_map(|slice| slice.iter().copied()).collect()).ok()?;
        let status = StatusCode::from_bytes(head.as_bytes().get(9..12)?).ok()?;
        let (before, after) = head.split_once("content-length: 0\r\n")?;
        let (headers, body) = self.edge.refuse(status, self.peer);
        self.unsent = [before.as_bytes(), headers.as_bytes(), after.as_bytes(), &body].concat().into();
        Some(head.len())
    }

    pub(super) fn poll_send(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.unsent.has_remaining() {
            let sent = ready!(Pin::new(&mut *stream).poll_write(cx, &self.unsent))?;
            self.unsent.advance(sent);
        }
        Poll::Ready(Ok(()))
    }
}
