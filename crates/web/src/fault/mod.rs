//! Faults of a connection or of a body, for tests of clients. A response carries one to the edge, which applies it to the complete
//! answer: also to the document of a problem, which the edge writes.

mod cut;
mod malformed;
mod slow;

use axum::{
    body::{Body, HttpBody},
    response::Response,
};

use cut::CutBody;
use slow::SlowBody;

/// A fault of the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    CutConnection,
    /// After so many bytes, or after half of the body.
    CutBody(Option<u64>),
    /// With so many bytes per second.
    SlowBody(u32),
    MalformedBody,
}

/// The connection is closed before this answer is sent. An HTTP/1.1 client sees the end of the connection or its reset, an HTTP/2
/// client the reset of the stream.
pub fn cut_connection(response: Response) -> Response {
    with(response, Fault::CutConnection)
}

/// The head and the first half of the body are sent, then the connection is closed. An HTTP/1.1 client gets fewer bytes than
/// `Content-Length`, or no last chunk; an HTTP/2 client sees the reset of the stream. An answer without a body is not sent at all.
pub fn cut_body(response: Response) -> Response {
    with(response, Fault::CutBody(None))
}

/// The same after so many bytes of the body. The last byte is never sent.
pub fn cut_body_after(response: Response, bytes: u64) -> Response {
    with(response, Fault::CutBody(Some(bytes)))
}

/// The body is sent in small pieces, at this rate, for at most 60 seconds; what is left then is sent at once. A rate of 0 counts
/// as 1.
pub fn slow_body(response: Response, bytes_per_second: u32) -> Response {
    with(response, Fault::SlowBody(bytes_per_second))
}

/// The body is neither JSON nor XML: its first half, then a character that both forbid. `Content-Length` is right. At most the
/// first 64 KiB of a body are used. An answer without a body is not changed.
pub fn malformed_body(response: Response) -> Response {
    with(response, Fault::MalformedBody)
}

fn with(mut response: Response, fault: Fault) -> Response {
    response.extensions_mut().insert(fault);
    response
}

/// The connection or the body was cut on purpose.
#[derive(Debug, thiserror::Error)]
#[error("cut by a fault that was asked for")]
pub(crate) struct Cut;

impl Fault {
    /// Its name in the log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Fault::CutConnection => "cut-connection",
            Fault::CutBody(_) => "cut-body",
            Fault::SlowBody(_) => "slow-body",
            Fault::MalformedBody => "malformed-body",
        }
    }

    /// The answer with this fault, or [`Cut`] if there is no answer.
    pub(crate) async fn apply(self, response: Response) -> Result<Response, Cut> {
        Ok(match self {
            Fault::CutConnection => return Err(Cut),
            Fault::CutBody(_) if response.body().is_end_stream() => return Err(Cut),
            Fault::CutBody(after) => response.map(|body| Body::new(CutBody::new(body, after))),
            Fault::SlowBody(rate) => response.map(|body| Body::new(SlowBody::new(body, rate))),
            Fault::MalformedBody => malformed::malformed(response).await,
        })
    }
}
