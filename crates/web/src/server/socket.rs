//! A connection as the HTTP library sees it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::{
    early_admission::EarlyAdmission,
    linger::Linger,
    turn::{READ_TURN, end_turn},
};

/// How many bytes are written to a connection before others have their turn. The buffers of the kernel take some megabytes from a service
/// at once, also for a client that does not read.
const WRITE_TURN: usize = 128 * 1024;

/// A stream that leaves time for others, and that is closed in a way that lets its client read the answer.
pub(super) struct Socket {
    stream: TcpStream,
    admission: EarlyAdmission,
    linger: Option<Linger>,
    /// The bytes that were read and written in this turn.
    read: usize,
    written: usize,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, admission: EarlyAdmission) -> Self {
        Socket { stream, admission, linger: None, read: 0, written: 0 }
    }

    /// Writes a part, unless the turn has ended.
    fn poll_part(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if self.written >= WRITE_TURN {
            self.written = 0;
            return end_turn(cx);
        }
        let polled = write(Pin::new(&mut self.stream), cx);
        match &polled {
            Poll::Ready(Ok(bytes)) => self.written += bytes,
            _ => self.written = 0,
        }
        polled
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read >= READ_TURN {
            self.read = 0;
            return end_turn(cx);
        }
        let Socket { stream, admission, .. } = &mut *self;
        ready!(admission.poll_turn(stream, cx));
        let before = buf.filled().len();
        let polled = Pin::new(stream).poll_read(cx, buf);
        if polled.is_pending() {
            admission.release();
        }
        self.read = if polled.is_ready() { self.read + buf.filled().len() - before } else { 0 };
        polled
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_part(cx, |stream, cx| stream.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_part(cx, |stream, cx| stream.poll_write_vectored(cx, bufs))
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

    use super::{super::activity::Activity, *};
    use crate::{admission::Admission, limits::ConnectionLimits};

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn connect() -> (TcpStream, Socket) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let limits = ConnectionLimits::default();
        let admission = Arc::new(Admission::new("test", limits));
        let admission = EarlyAdmission::new(admission, Activity::new(limits).0);
        (client, Socket::new(listener.accept().await.unwrap().0, admission))
    }

    #[tokio::test]
    async fn client_that_does_not_read_is_written_to_in_turns() {
        let (_client, mut socket) = connect().await;
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let part = [0; WRITE_TURN / 4];
        let mut turn = || {
            let mut parts = 0;
            while let Poll::Ready(written) =
                Pin::new(&mut socket).poll_write(&mut Context::from_waker(&waker), &part)
            {
                assert_eq!(written.unwrap(), part.len());
                parts += 1;
            }
            parts
        };
        assert_eq!((turn(), turn()), (4, 4));
        assert_eq!(woken.0.load(Ordering::Relaxed), 2, "the task is scheduled again");
    }

    #[tokio::test]
    async fn flood_is_read_in_turns() {
        let (mut client, mut socket) = connect().await;
        // The buffers of the operating system hold as much.
        client.write_all(&[0; 3 * READ_TURN]).await.unwrap();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut turns = Vec::new();
        while turns.iter().sum::<usize>() < 3 * READ_TURN {
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
        assert!(turns.iter().all(|turn| *turn < READ_TURN + 1000), "{turns:?}");
        assert!(woken.0.load(Ordering::Relaxed) >= 2, "the task is scheduled again");
    }
}
