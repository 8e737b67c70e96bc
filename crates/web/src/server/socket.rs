//! A connection as the HTTP library sees it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    thread,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::linger::Linger;

/// How many bytes of a connection are read before other connections of the thread have their turn. A client can send frames of HTTP/2
/// that need no answer faster than they are read; so many take about a millisecond.
const TURN: usize = 16 * 1024;

/// A stream that leaves time for others, and that is closed in a way that lets its client read the answer.
pub(super) struct Socket {
    stream: TcpStream,
    linger: Option<Linger>,
    /// The bytes that were read in this turn.
    read: usize,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> Self {
        Socket { stream, linger: None, read: 0 }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read >= TURN {
            self.read = 0;
            cx.waker().wake_by_ref();
            // Another thread of the service may wait for this processor: without this, until the time slice ends, some milliseconds later.
            thread::yield_now();
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.read = if polled.is_ready() { self.read + buf.filled().len() - before } else { 0 };
        polled
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Socket { stream, linger, .. } = &mut *self;
        if linger.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(cx))?;
        }
        linger.get_or_insert_with(Linger::new).poll(stream, cx).map(Ok)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        future::poll_fn,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Wake, Waker},
    };

    use tokio::{io::AsyncWriteExt, net::TcpListener};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn flood_is_read_in_turns() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        // The buffers of the operating system hold as much.
        client.write_all(&[0; 3 * TURN]).await.unwrap();
        let mut socket = Socket::new(stream);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut turns = Vec::new();
        while turns.iter().sum::<usize>() < 3 * TURN {
            // Where all that has arrived was read, the rest is awaited.
            poll_fn(|cx| socket.stream.poll_read_ready(cx)).await.unwrap();
            let mut turn = 0;
            let mut bytes = [0; 1000];
            loop {
                let mut buf = ReadBuf::new(&mut bytes);
                match Pin::new(&mut socket).poll_read(&mut Context::from_waker(&waker), &mut buf) {
                    Poll::Ready(read) => read.unwrap(),
                    Poll::Pending => break,
                }
                turn += buf.filled().len();
            }
            turns.push(turn);
        }
        assert!(turns.iter().all(|turn| *turn < TURN + 1000), "{turns:?}");
        assert!(woken.0.load(Ordering::Relaxed) >= 2, "the task is scheduled again");
    }
}
