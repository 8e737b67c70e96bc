//! Closing a connection whose client may still be sending.
//!
//! A socket that is closed with bytes unread is reset, and the reset overtakes the answer: a client that is refused
//! in the middle of its upload would see a broken connection instead of the reason. So only our side is closed
//! at first, and what still arrives is thrown away until the client has closed its side too.

use std::{
    mem::MaybeUninit,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

/// How long a client may be silent before we stop listening, and how long it may go on in all.
const SILENCE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// What is left to do on a connection after our side of it is closed.
pub(super) struct Linger {
    silence: Pin<Box<Sleep>>,
    end: Instant,
}

impl Linger {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Linger { silence: Box::pin(sleep_until(now + SILENCE)), end: now + LONGEST }
    }

    /// Throws away what arrives; ready when the client is done, or we are done with the client.
    pub(super) fn poll(&mut self, stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut thrown = [MaybeUninit::uninit(); 8 * 1024];
        loop {
            let mut buffer = ReadBuf::uninit(&mut thrown);
            match Pin::new(&mut *stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
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
