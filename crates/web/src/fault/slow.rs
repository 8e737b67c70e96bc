//! A body that is sent slowly.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::size_hint::with_rest;

/// The longest time for a whole body.
const LONGEST: Duration = Duration::from_secs(60);

/// How many pieces are sent in a second, if the rate has so many bytes.
const PIECES_PER_SECOND: u32 = 10;

pub(super) struct SlowBody {
    body: Body,
    rest: Bytes,
    rate: u32,
    /// Ends when the next piece is due.
    pause: Pin<Box<Sleep>>,
    /// From then on there are no pauses.
    end: Instant,
    /// Whether the pause for the next piece has begun.
    pausing: bool,
}

impl SlowBody {
    pub(super) fn new(body: Body, bytes_per_second: u32) -> Self {
        SlowBody::within(LONGEST, body, bytes_per_second)
    }

    fn within(longest: Duration, body: Body, bytes_per_second: u32) -> Self {
        let now = Instant::now();
        SlowBody {
            body,
            rest: Bytes::new(),
            rate: bytes_per_second.max(1),
            pause: Box::pin(sleep_until(now)),
            end: now + longest,
            pausing: false,
        }
    }

    /// The length of the next piece.
    fn piece(&self) -> usize {
        let piece = self.rate.div_ceil(PIECES_PER_SECOND) as usize;
        piece.min(self.rest.len())
    }
}

impl http_body::Body for SlowBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        let (now, piece, end) = (Instant::now(), self.piece(), self.end);
        if now >= end {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.rest)))));
        }
        if !self.pausing {
            let pause = Duration::from_secs_f64(piece as f64 / f64::from(self.rate));
            self.pause.as_mut().reset((now + pause).min(end));
            self.pausing = true;
        }
        ready!(self.pause.as_mut().poll(cx));
        self.pausing = false;
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        with_rest(self.body.size_hint(), self.rest.len())
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;
    use http_body_util::BodyExt;

    use super::*;

    async fn pieces(mut body: SlowBody) -> Vec<Bytes> {
        let mut pieces = Vec::new();
        while let Some(frame) = body.frame().await {
            pieces.push(frame.unwrap().into_data().unwrap());
        }
        pieces
    }

    #[tokio::test]
    async fn body_is_sent_in_pieces_of_a_tenth_of_a_second() {
        let body = SlowBody::new(Body::from("abcdefgh"), 40);
        assert_eq!(body.size_hint().exact(), Some(8));
        assert_eq!(pieces(body).await, ["abcd", "efgh"]);
    }

    #[tokio::test]
    async fn rate_below_a_piece_sends_single_bytes() {
        assert_eq!(pieces(SlowBody::new(Body::from("ab"), 9)).await, ["a", "b"]);
        assert_eq!(SlowBody::new(Body::from("ab"), 0).rate, 1);
    }

    #[tokio::test]
    async fn rest_is_sent_at_once_after_the_longest_time() {
        let body = SlowBody::within(Duration::ZERO, Body::from("abcdefgh"), 1);
        assert_eq!(pieces(body).await, ["abcdefgh"]);
    }
}
