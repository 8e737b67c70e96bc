//! The listeners of the program.

use std::{io, net::SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use crate::Failure;

/// How many connections can wait to be accepted; the system may allow fewer. A client whose connection finds no room tries again after
/// a second.
const BACKLOG: u32 = 4096;

/// How many bytes the kernel keeps for a connection until its client has received them; it adds as much for its own use. Without a limit
/// it keeps some megabytes for each client that does not read.
const SEND_BUFFER: u32 = 256 * 1024;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted process does not wait for the connections of the one before.
    socket.set_reuseaddr(true)?;
    // Accepted connections have it as well.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Listens for something at an address, which a flag sets.
pub(crate) fn bind(what: &str, flag: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    listen(address).map_err(|error| {
        format!("cannot listen on {address} for {what}: {error} (choose another with {flag})").into()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn client_that_does_not_read_takes_little_memory_of_the_kernel() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        stream.writable().await.unwrap();
        let mut written = 0;
        while let Ok(bytes) = stream.try_write(&[0; 64 * 1024]) {
            written += bytes;
        }
        assert!(written < 1024 * 1024, "{written} bytes");
    }
}
