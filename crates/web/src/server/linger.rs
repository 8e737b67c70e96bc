//! Closing a connection whose client may still be sending.
//!
//! A socket that is closed with unread bytes is reset, and the reset may overtake the answer: a client that is still uploading
//! would see a broken connection instead of the problem. So the server closes its side first, and discards what arrives until
//! the client closes the other side.

use std::{
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

use super::turn::{DISCARD_TURN, end_turn};

/// The longest time without a byte from the client, and the longest time in all.
const SILENCE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// Discards what arrives after the server has closed its side.
pub(super) struct Linger {
    silence: Pin<Box<Sleep>>,
    end: Instant,
}

impl Linger {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Linger { silence: Box::pin(sleep_until(now + SILENCE)), end: now + LONGEST }
    }

    /// Discards bytes; ready when the client has closed its side, or after the longest time.
    pub(super) fn poll(&mut self, stream: &mut (impl AsyncRead + Unpin), cx: &mut Context<'_>) -> Poll<()> {
        let mut thrown = [MaybeUninit::uninit(); 16 * 1024];
        let mut discarded = 0;
        loop {
            if discarded >= DISCARD_TURN {
                return end_turn(cx);
            }
            let mut buffer = ReadBuf::uninit(&mut thrown);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    discarded += buffer.filled().len();
                    let now = Instant::now();
                    if now >= self.end {
                        return Poll::Ready(());
                    }
                    self.silence.as_mut().reset((now + SILENCE).min(self.end));
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return self.silence.as_mut().poll(cx),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, repeat};

    use super::*;

    #[tokio::test]
    async fn bytes_of_a_rejected_body_are_discarded_in_turns() {
        // All of it has arrived.
        let mut body = repeat(0).take(3 * DISCARD_TURN as u64 + 1);
        let mut linger = Linger::new();
        let mut turns = Vec::new();
        std::future::poll_fn(|cx| {
            let polled = linger.poll(&mut body, cx);
            turns.push(body.limit());
            polled
        })
        .await;
        let turn = DISCARD_TURN as u64;
        assert_eq!(turns, [2 * turn + 1, turn + 1, 1, 0], "what is left after each turn");
    }
}
