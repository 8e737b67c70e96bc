//! A body that ends with an error before its end.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::sync::oneshot;

use super::Cut;

/// The error comes after the HTTP library has written the last part: with an earlier error it would discard what it has buffered.
pub(super) struct CutBody {
    body: Body,
    /// How many bytes are still sent. If the length is not known, it is half of the first part.
    left: Option<u64>,
    last: Last,
}

enum Last {
    Unsent,
    /// The last part is with the HTTP library, which drops it, and with it the sender, when it has written it.
    Sent(oneshot::Receiver<()>),
    /// The last part was dropped. If it was empty, nothing may have been written yet.
    Written,
}

/// The bytes of the last part.
struct LastPart {
    data: Bytes,
    _written: oneshot::Sender<()>,
}

impl AsRef<[u8]> for LastPart {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl CutBody {
    pub(super) fn new(body: Body, after: Option<u64>) -> Self {
        let length = body.size_hint().exact();
        let left = match after {
            Some(after) => Some(length.map_or(after, |length| after.min(length.saturating_sub(1)))),
            None => length.map(|length| length / 2),
        };
        CutBody { body, left, last: Last::Unsent }
    }

    fn last(&mut self, data: Bytes) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let (sender, receiver) = oneshot::channel();
        self.last = Last::Sent(receiver);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(LastPart { data, _written: sender })))))
    }
}

impl http_body::Body for CutBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut self.last {
            Last::Unsent => {}
            Last::Sent(written) => {
                let _ = ready!(Pin::new(written).poll(cx));
                self.last = Last::Written;
                // The HTTP library writes the head when the body makes it wait.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Last::Written => return Poll::Ready(Some(Err(axum::Error::new(Cut)))),
        }
        if self.left == Some(0) {
            return self.last(Bytes::new());
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            None => Bytes::new(),
        };
        let (length, left) = (frame.len() as u64, self.left.unwrap_or(frame.len() as u64 / 2));
        if frame.is_empty() || length >= left {
            let cut = usize::try_from(left).map_or(frame.len(), |left| left.min(frame.len()));
            return self.last(frame.slice(..cut));
        }
        self.left = Some(left - length);
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
