//! HTTP/1.1 on a socket, as cheap as possible.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A connection for one call after the other.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// The head of an answer, as far as it matters here.
pub(crate) struct Head {
    pub(crate) status: u16,
    /// After how many seconds the client may try again.
    pub(crate) retry_after: Option<u64>,
    closes: bool,
    length: usize,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(4096) })
    }

    /// Sends a request and reads its answer, which must have a length.
    pub(crate) async fn call(&mut self, request: &[u8]) -> io::Result<Head> {
        self.send(request).await?;
        self.answer().await
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Reads the answer to the request that was sent.
    pub(crate) async fn answer(&mut self) -> io::Result<Head> {
        self.buffer.clear();
        loop {
            if let Some(end) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let head = Head::read(&self.buffer[..end])?;
                while self.buffer.len() < end + 4 + head.length {
                    self.more().await?;
                }
                return Ok(head);
            }
            self.more().await?;
        }
    }

    async fn more(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

impl Head {
    fn read(bytes: &[u8]) -> io::Result<Self> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or(io::ErrorKind::InvalidData)?;
        let mut head = Head { status, retry_after: None, closes: false, length: 0 };
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.length = value.trim().parse().map_err(io::Error::other)?,
                "retry-after" => head.retry_after = value.trim().parse().ok(),
                "connection" => head.closes = value.trim() == "close",
                _ => {}
            }
        }
        Ok(head)
    }

    /// Whether the service closes the connection after it.
    pub(crate) fn closes(&self) -> bool {
        self.closes
    }
}
