//! Bodies that are captured while they pass.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::{Observation, message::CapturedMessage};
use crate::request::RequestContext;

type Next = Option<Result<Frame<Bytes>, axum::Error>>;

/// Captures what a poll of the body of a request gave.
fn capture(captured: &mut CapturedMessage, next: &Next, is_end: bool) {
    match next {
        Some(Ok(frame)) => {
            if let Some(data) = frame.data_ref() {
                captured.add(data);
            }
            captured.complete |= is_end;
        }
        Some(Err(_)) => {}
        None => captured.complete = true,
    }
}

/// The body of an observed request.
pub(super) struct RequestBody {
    body: Body,
    observation: Arc<Observation>,
}

impl RequestBody {
    pub(super) fn new(body: Body, observation: Arc<Observation>) -> Self {
        RequestBody { body, observation }
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Next> {
        let next = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let is_end = self.body.is_end_stream();
        self.observation.read(|captured| capture(captured, &next, is_end));
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The answer to an observed request while it is sent. The connection drops it when the answer is sent, or when the client has
/// disconnected: then the call has ended.
pub(crate) struct ObservedSending {
    context: RequestContext,
}

impl ObservedSending {
    pub(super) fn new(context: RequestContext) -> Self {
        ObservedSending { context }
    }

    /// Captures a part of the body.
    pub(crate) fn sent(&self, part: &Bytes, is_last: bool) {
        if let Some(observer) = self.context.observer() {
            observer.sent(part, is_last);
        }
    }
}

impl Drop for ObservedSending {
    fn drop(&mut self) {
        if let Some(observer) = self.context.observer() {
            observer.ended(&self.context);
        }
    }
}
