//! Cancels a statement on the server.

use std::{
    io,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_postgres::{
    CancelToken,
    config::Host,
    tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream},
};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The server that a connection leads to.
pub(super) struct Peer {
    pub(super) host: Host,
    /// `None` for a Unix socket.
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
}

/// Asks the server to cancel the statement of a connection, and waits until it has read the request. The client library's own
/// function closes its connection at once; PgBouncer drops the request of a closed connection.
pub(super) async fn cancel(token: CancelToken, peer: &Peer, tls: MakeRustlsConnect) -> io::Result<()> {
    match (&peer.host, peer.address) {
        (Host::Unix(folder), _) => {
            let socket = folder.join(format!(".s.PGSQL.{}", peer.port));
            send(token, UnixStream::connect(socket).await?, "", tls).await
        }
        (Host::Tcp(_), None) => Err(io::ErrorKind::AddrNotAvailable.into()),
        (Host::Tcp(name), Some(address)) => {
            send(token, TcpStream::connect((address, peer.port)).await?, name, tls).await
        }
    }
}

async fn send<S>(token: CancelToken, stream: S, name: &str, mut tls: MakeRustlsConnect) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let tls = MakeTlsConnect::<UntilClosed<S>>::make_tls_connect(&mut tls, name).map_err(io::Error::other)?;
    token.cancel_query_raw(UntilClosed(stream), Connect(tls)).await.map_err(io::Error::other)
}

/// A stream whose shutdown waits until the other side has closed it.
struct UntilClosed<S>(S);

impl<S: AsyncRead + Unpin> AsyncRead for UntilClosed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for UntilClosed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut bytes = [0; 64];
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = ready!(Pin::new(&mut self.0).poll_read(context, &mut buffer));
            // With an error or without, the server has read the request.
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: TlsStream + Unpin> TlsStream for UntilClosed<S> {
    fn channel_binding(&self) -> ChannelBinding {
        self.0.channel_binding()
    }
}

/// Makes TLS streams that wait in the same way.
struct Connect<T>(T);

impl<S, T> TlsConnect<S> for Connect<T>
where
    T: TlsConnect<S>,
    T::Future: Send + 'static,
{
    type Stream = UntilClosed<T::Stream>;
    type Error = T::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Stream, T::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let connecting = self.0.connect(stream);
        Box::pin(async move { connecting.await.map(UntilClosed) })
    }
}
