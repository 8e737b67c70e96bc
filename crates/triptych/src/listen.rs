//! The listeners of the program.

use std::{io, net::SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use crate::Failure;

/// How many connections can wait to be accepted; the system may allow fewer. A client whose connection finds no room tries again after
/// a second.
const BACKLOG: u32 = 4096;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted process does not wait for the connections of the one before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Listens for something at an address, which a flag sets.
pub(crate) fn bind(what: &str, flag: &str, address: SocketAddr) -> Result<TcpListener, Failure> {
    listen(address).map_err(|error| {
        format!("cannot listen on {address} for {what}: {error} (choose another with {flag})").into()
    })
}
