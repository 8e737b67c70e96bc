//! The server: how it is reached, and what is known of it.

use std::{
    io::ErrorKind,
    net::IpAddr,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::{net::lookup_host, time::timeout};
use tokio_postgres::{
    CancelToken, Client, Connection, Error as Refusal, Socket,
    config::{Host, SslMode},
    tls::MakeTlsConnect,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{address::Address, cancel::cancel, tls};
use crate::{
    Error, OpenError,
    error::{io_kind, with_source},
    unit::after,
};

type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Where a connection leads to.
pub(super) struct Peer {
    pub(super) host: Host,
    /// None for a socket in a folder.
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
}

pub(super) struct Server {
    address: Address,
    tls: MakeRustlsConnect,
    /// How long each answer may take.
    pub(super) wait: Duration,
    keeps_statements: AtomicBool,
    /// How often no answer came in time.
    silences: AtomicU64,
}

/// Why there is no connection: which host, and what is wrong with it.
pub(super) struct ConnectError {
    text: String,
    /// It may go away by itself: the server is not there yet, or has no room.
    passes: bool,
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        Error::Unavailable(error.text)
    }
}

impl From<ConnectError> for OpenError {
    fn from(error: ConnectError) -> Self {
        OpenError::new(&format!("cannot connect to the database at {}", error.text))
    }
}

impl Server {
    pub(super) fn new(url: &str, wait: Duration) -> Result<Self, OpenError> {
        #[expect(clippy::disallowed_methods, reason = "PostgreSQL's own variables, known to all its tools")]
        let variable = |name: &str| std::env::var(name).ok();
        let invalid = |why: &str| OpenError::new(&format!("the database URL is not valid: {why}"));
        let address = Address::parse(url, wait, variable).map_err(|why| invalid(&why))?;
        let address = address.with_passfile(variable).map_err(|why| OpenError::new(&why))?;
        let tls = tls::connector(address.tls, &address.roots).map_err(|why| OpenError::new(&why))?;
        Ok(Server {
            address,
            tls,
            wait,
            keeps_statements: AtomicBool::new(true),
            silences: AtomicU64::new(0),
        })
    }

    /// When an answer to a question that is asked now comes too late.
    pub(super) fn deadline(&self) -> Instant {
        after(Instant::now(), self.wait)
    }

    /// A connection to the first host, and the first of its addresses, that takes one until then.
    pub(super) async fn connect(&self, deadline: Instant) -> Result<(Client, Driver, Peer), ConnectError> {
        let mut failed = None;
        let hosts = &self.address.hosts;
        for (at, (host, address, port)) in hosts.iter().enumerate() {
            let name = match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(folder) => folder.display().to_string(),
            };
            let share = share(deadline, hosts.len() - at);
            let connected = timeout(share, self.connect_host(host, *address, *port, share)).await;
            match connected.unwrap_or_else(|_| Err((no_answer(share), true))) {
                Ok(connected) => return Ok(connected),
                Err((why, passes)) => {
                    failed = Some(ConnectError { text: format!("{name}:{port}: {why}"), passes });
                }
            }
        }
        Err(failed.unwrap_or(ConnectError { text: "no host".into(), passes: false }))
    }

    async fn connect_host(
        &self,
        host: &Host,
        address: Option<IpAddr>,
        port: u16,
        wait: Duration,
    ) -> Result<(Client, Driver, Peer), (String, bool)> {
        let deadline = after(Instant::now(), wait);
        let addresses = match (host, address) {
            (_, Some(address)) => vec![Some(address)],
            (Host::Unix(_), None) => vec![None],
            // Here rather than in the client: what may be sent to an address depends on where it leads.
            (Host::Tcp(name), None) => {
                let found =
                    lookup_host((name.as_str(), port)).await.map_err(|error| (error.to_string(), true))?;
                found.map(|found| Some(found.ip())).collect()
            }
        };
        let mut failed = ("it has no address".to_owned(), true);
        for (at, address) in addresses.iter().enumerate() {
            let config = self.address.config(host, *address, port);
            let share = share(deadline, addresses.len() - at);
            match timeout(share, config.connect(self.tls.clone())).await {
                Ok(Ok((client, driver))) => {
                    let peer = Peer { host: host.clone(), address: *address, port };
                    return Ok((client, driver, peer));
                }
                Ok(Err(error)) => failed = (explain(&error, config.get_ssl_mode()), passes(&error)),
                Err(_) => failed = (no_answer(share), true),
            }
        }
        Err(failed)
    }

    /// Waits until the server is there, for this long; then finds out about poolers.
    pub(super) async fn wait_for(&self, patience: Duration) -> Result<(), OpenError> {
        let start = Instant::now();
        let mut told = false;
        loop {
            match self.find_out().await {
                Err(error) if error.passes && start.elapsed() < patience => {
                    if !std::mem::replace(&mut told, true) {
                        let seconds = patience.as_secs();
                        tracing::warn!("waiting up to {seconds} seconds for the database at {}", error.text);
                    }
                    #[expect(clippy::disallowed_methods, reason = "start-up, before anything is served")]
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                found => return Ok(found?),
            }
        }
    }

    /// Asks the server to stop what it does for a connection.
    pub(super) async fn cancel(&self, token: CancelToken, peer: &Peer) {
        if let Err(error) = cancel(token, peer, self.tls.clone()).await {
            tracing::warn!(%error, "a statement could not be cancelled");
        }
    }

    /// Notes that an answer did not come in time. Other connections may lead nowhere as well: each is tried out before it
    /// is used again.
    pub(super) fn silent(&self) -> Error {
        self.silences.fetch_add(1, Ordering::Relaxed);
        Error::Unavailable(format!("PostgreSQL did not answer within {} seconds", self.wait.as_secs_f32()))
    }

    pub(super) fn silences(&self) -> u64 {
        self.silences.load(Ordering::Relaxed)
    }

    /// Whether a statement that was prepared is still there in the next transaction.
    pub(super) fn keeps_statements(&self) -> bool {
        self.keeps_statements.load(Ordering::Relaxed)
    }

    /// Whether a request to cancel is safe to send. A pooler that loses statements may be PgBouncer 1.18, which crashes
    /// ("bad client state") when a request that it has not sent on is given up, as it is at the deadline.
    pub(super) fn can_cancel(&self) -> bool {
        self.keeps_statements()
    }

    pub(super) fn loses_statements(&self) {
        if self.keeps_statements.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                "a pooler in front of PostgreSQL loses prepared statements: statements are sent whole each time, \
                 which is slower (PgBouncer keeps them from 1.21 on, with max_prepared_statements above 0)"
            );
        }
    }

    /// Finds out whether a statement outlives the transaction it was prepared in, as it does unless a pooler gives
    /// each transaction another session.
    ///
    /// While the second connection is in a transaction, it has the session in which the statement was prepared, or
    /// some other, if there is a pooler; then the first gets yet another one, which does not know the statement. It is
    /// the first that this process prepares, so that it has the same name and the same text in all processes: where
    /// sessions get mixed up, none can run another's statement.
    async fn find_out(&self) -> Result<(), ConnectError> {
        for _ in 0..3 {
            let ((first, first_driver, _), (second, second_driver, _)) =
                (self.connect(self.deadline()).await?, self.connect(self.deadline()).await?);
            let (first_driver, second_driver) = (tokio::spawn(first_driver), tokio::spawn(second_driver));
            let kept = async {
                let statement = first.prepare("SELECT 1").await?;
                second.batch_execute("BEGIN").await?;
                first.query(&statement, &[]).await.map(drop)
            };
            // A pooler with a single session makes the first wait for the second until the timeout.
            let kept = timeout(self.wait, kept).await;
            drop((first, second));
            let _ = tokio::join!(first_driver, second_driver);
            match kept {
                Ok(Ok(())) => {}
                Ok(Err(error)) if error.is_closed() => {
                    return Err(ConnectError { text: error.to_string(), passes: true });
                }
                _ => {
                    self.loses_statements();
                    break;
                }
            }
        }
        Ok(())
    }
}

/// An equal part of the time that is left: what does not answer leaves time for what comes after it.
fn share(deadline: Instant, parts: usize) -> Duration {
    let rest = deadline.saturating_duration_since(Instant::now());
    rest / u32::try_from(parts).unwrap_or(u32::MAX).max(1)
}

fn no_answer(wait: Duration) -> String {
    format!("no answer within {} seconds", (wait.as_secs_f32() * 10.0).round() / 10.0)
}

/// What is wrong, in words.
fn explain(error: &Refusal, mode: SslMode) -> String {
    let text = with_source(error);
    if mode == SslMode::Require && text.contains("server does not support TLS") {
        return "it offers no TLS, and nothing is sent unencrypted beyond this machine (unless the URL says \
                sslmode=disable)"
            .into();
    }
    text
}

/// Whether trying again later may go better.
fn passes(error: &Refusal) -> bool {
    match error.code() {
        Some(code) => {
            // 08 connection, 53 out of resources, 57 shutting down or starting up.
            matches!(&code.code()[..2], "08" | "53" | "57")
        }
        // What TLS does not like, such as a certificate, stays as it is.
        None => error.is_closed() || io_kind(error).is_some_and(|kind| kind != ErrorKind::InvalidData),
    }
}
