//! TLS of a listener: the certificate and its key, from files that may be replaced while the listener runs.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use db::private::quoted;
use rustls::{
    Error, ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::socket::Socket;

/// The shortest time between two looks at the files.
const LOOK: Duration = Duration::from_secs(1);

/// The certificate of listeners. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Tls(Arc<Files>);

#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    versions: [Option<FileVersion>; 2],
    looked: Instant,
}

/// Changes when a file is replaced or written.
type FileVersion = (u64, u64, i64, i64);

impl Tls {
    /// Reads a certificate, with the others of its chain after it, and its key, both in PEM. Otherwise says which setting is wrong.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, String> {
        // Before they are read: a change in between is then noticed.
        let versions = [version(certificate), version(key)];
        let current = Current { config: config(certificate, key)?, versions, looked: Instant::now() };
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        Ok(Tls(Arc::new(Files { certificate, key, current: Mutex::new(current) })))
    }

    /// Does the handshake of a new connection.
    pub(super) async fn accept(&self, socket: Socket) -> io::Result<Stream> {
        let stream = TlsAcceptor::from(self.config()).accept(socket).await?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// The configuration for the next connection. New files that cannot be used change nothing.
    fn config(&self) -> Arc<ServerConfig> {
        let Files { certificate, key, current } = &*self.0;
        let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.looked.elapsed() >= LOOK {
            current.looked = Instant::now();
            let versions = [version(certificate), version(key)];
            if versions != current.versions {
                current.versions = versions;
                match config(certificate, key) {
                    Ok(config) => {
                        current.config = config;
                        tracing::info!("the new TLS certificate is used");
                    }
                    Err(error) => {
                        tracing::warn!(error, "the new TLS certificate cannot be used; the old one stays");
                    }
                }
            }
        }
        current.config.clone()
    }
}

fn version(file: &Path) -> Option<FileVersion> {
    let found = fs::metadata(file).ok()?;
    Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

fn config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let (chain, secret) = (certificates(certificate)?, private_key(key)?);
    let wrong = |error: Error| match error {
        Error::InconsistentKeys(_) => {
            format!(
                "tls_key is {key:?}, which is not the key of the certificate in tls_certificate, {certificate:?}"
            )
        }
        error => format!("tls_certificate is {certificate:?}, which cannot be used: {error}"),
    };
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(wrong)?.with_no_client_auth();
    let mut config = builder.with_single_cert(chain, secret).map_err(wrong)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read(setting: &str, file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{setting} is {file:?}, which cannot be read: {error}"))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |why: &str| format!("tls_certificate is {file:?}, which is not a certificate in PEM: {why}");
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read("tls_certificate", file)?).collect();
    let found = found.map_err(|error| wrong(&error.to_string()))?;
    if found.is_empty() { Err(wrong("it has none")) } else { Ok(found) }
}

/// A group may read the file: files of a system service may belong to root, and to the group of the service.
fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let bytes = read("tls_key", file)?;
    if fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o027 != 0) {
        return Err(format!(
            "other users can read or change the tls_key {file:?}: run chmod 600 {}",
            quoted(file)
        ));
    }
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
        format!("tls_key is {file:?}, which is not a key in PEM without a passphrase: {error}")
    })
}

/// A connection, with TLS or without.
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

/// Passes a call on to either kind of stream.
macro_rules! either {
    ($stream:expr, $inner:ident => $call:expr) => {
        match &mut *$stream {
            Stream::Plain(inner) => {
                let $inner = Pin::new(inner);
                $call
            }
            Stream::Tls(inner) => {
                let $inner = Pin::new(&mut **inner);
                $call
            }
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self, inner => inner.poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        either!(self, inner => inner.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self, inner => inner.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, inner => inner.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, inner => inner.poll_shutdown(cx))
    }
}
