//! Bodies that are captured while they pass.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};

use super::{Ended, Observation, capture::CapturedBody};
use crate::request::RequestContext;

type Next = Option<Result<Frame<Bytes>, axum::Error>>;

/// Captures what a poll of a body gave.
fn capture(captured: &mut CapturedBody, next: &Next, is_end: bool) {
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

/// The body of the answer to an observed request. The connection drops it when it is sent, or when the client has disconnected:
/// then the call has ended.
pub(super) struct AnswerBody {
    body: Body,
    context: RequestContext,
    ended: Option<Ended>,
}

impl AnswerBody {
    pub(super) fn new(body: Body, context: RequestContext, ended: Ended) -> Self {
        AnswerBody { body, context, ended: Some(ended) }
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Next> {
        let next = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let is_end = self.body.is_end_stream();
        if let Some(answer) = self.ended.as_mut().and_then(|ended| ended.answer.as_mut()) {
            capture(&mut answer.body, &next, is_end);
        }
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        let Some(mut ended) = self.ended.take() else { return };
        if let Some(answer) = &mut ended.answer {
            answer.body.join();
            answer.body.complete |= self.body.is_end_stream();
            ended.aborted = !answer.body.complete;
        }
        self.context.observed(ended);
    }
}
