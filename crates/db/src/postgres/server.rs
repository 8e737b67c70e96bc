//! The server: connecting to it, and what is known about it.

use std::{
    fmt,
    io::ErrorKind,
    net::IpAddr,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::{net::lookup_host, time::timeout};
use tokio_postgres::{
    CancelToken, Client, Connection, Error as PostgresError, Socket,
    config::{Host, SslMode},
    tls::MakeTlsConnect,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    address::Address,
    cancel::{Peer, cancel},
    tls,
};
use crate::{
    deadline::after,
    error::{Error, OpenError, io_kind, with_source},
};

type Driver = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

pub(super) struct Server {
    address: Address,
    tls: MakeRustlsConnect,
    /// How long each answer may take.
    pub(super) wait: Duration,
    keeps_statements: AtomicBool,
    /// How many answers did not arrive in time.
    timeouts: AtomicU64,
}

/// Why there is no connection: the host, and its error.
pub(super) struct ConnectError {
    text: String,
    /// A retry may succeed: the server is not started yet, or has too many connections.
    is_transient: bool,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
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
            timeouts: AtomicU64::new(0),
        })
    }

    /// Another server of the same cluster, with the same login and the same rules for TLS.
    pub(super) fn at(&self, (host, port): &(String, u16)) -> Self {
        Server {
            address: self.address.at(host, *port),
            tls: self.tls.clone(),
            wait: self.wait,
            keeps_statements: AtomicBool::new(true),
            timeouts: AtomicU64::new(0),
        }
    }

    /// The time from which an answer to a statement that is sent now is too late.
    pub(super) fn deadline(&self) -> Instant {
        after(Instant::now(), self.wait)
    }

    /// A connection to the first host, and the first of its addresses, that accepts one before the deadline.
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
                Err((why, is_transient)) => {
                    failed = Some(ConnectError { text: format!("{name}:{port}: {why}"), is_transient });
                }
            }
        }
        Err(failed.unwrap_or(ConnectError { text: "no host".into(), is_transient: false }))
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
            // Not in the client library: encryption depends on whether the address is local.
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
                Ok(Err(error)) => failed = (explain(&error, config.get_ssl_mode()), is_transient(&error)),
                Err(_) => failed = (no_answer(share), true),
            }
        }
        Err(failed)
    }

    /// Retries until the server accepts connections, for at most `max_wait`, and then checks for a pooler.
    pub(super) async fn wait_for(&self, max_wait: Duration) -> Result<(), OpenError> {
        let start = Instant::now();
        let mut warned = false;
        loop {
            match self.check_for_pooler().await {
                Err(error) if error.is_transient && start.elapsed() < max_wait => {
                    if !std::mem::replace(&mut warned, true) {
                        let seconds = max_wait.as_secs();
                        tracing::warn!("waiting up to {seconds} seconds for the database at {}", error.text);
                    }
                    #[expect(clippy::disallowed_methods, reason = "start-up, before anything is served")]
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                found => return Ok(found?),
            }
        }
    }

    /// Asks the server to cancel the statement of a connection.
    pub(super) async fn cancel(&self, token: CancelToken, peer: &Peer) {
        if let Err(error) = cancel(token, peer, self.tls.clone()).await {
            tracing::warn!(%error, "a statement could not be cancelled");
        }
    }

    /// Counts an answer that did not arrive in time. Other connections may be broken too: each is checked before its next
    /// use.
    pub(super) fn timed_out(&self) -> Error {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
        Error::Unavailable(format!("PostgreSQL did not answer within {} seconds", self.wait.as_secs_f32()))
    }

    pub(super) fn timeouts(&self) -> u64 {
        self.timeouts.load(Ordering::Relaxed)
    }

    /// Whether a prepared statement can be used in later transactions.
    pub(super) fn keeps_statements(&self) -> bool {
        self.keeps_statements.load(Ordering::Relaxed)
    }

    /// Whether a cancellation request is safe to send. A pooler that loses statements may be PgBouncer 1.18, which crashes
    /// ("bad client state") when the connection of a request closes before it has forwarded the request.
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

    /// Checks whether a prepared statement outlives its transaction. It does unless a pooler gives each transaction another
    /// session.
    ///
    /// Behind a pooler, the transaction of the second connection may take the session in which the statement was prepared.
    /// The first connection then gets another session, which does not know the statement. It is the first statement that
    /// this process prepares, so its name and text are the same in all processes: where a pooler mixes sessions, no process
    /// can run the statement of another one.
    async fn check_for_pooler(&self) -> Result<(), ConnectError> {
        let ((first, first_driver, _), (second, second_driver, _)) =
            (self.connect(self.deadline()).await?, self.connect(self.deadline()).await?);
        let (first_driver, second_driver) = (tokio::spawn(first_driver), tokio::spawn(second_driver));
        let check = async {
            // A pooler may also give the same session to both transactions of the first connection.
            for _ in 0..3 {
                let statement = first.prepare("SELECT 1").await?;
                second.batch_execute("BEGIN").await?;
                first.query(&statement, &[]).await?;
                second.batch_execute("COMMIT").await?;
            }
            Ok::<_, PostgresError>(())
        };
        // A pooler with a single session makes the first wait for the second until the timeout.
        let kept = timeout(self.wait, check).await;
        drop((first, second));
        let _ = tokio::join!(first_driver, second_driver);
        match kept {
            Ok(Ok(())) => {}
            Ok(Err(error)) if error.is_closed() => {
                return Err(ConnectError { text: error.to_string(), is_transient: true });
            }
            _ => self.loses_statements(),
        }
        Ok(())
    }
}

/// An equal part of the time that is left, so that a host that does not answer leaves time for the next one.
fn share(deadline: Instant, parts: usize) -> Duration {
    let rest = deadline.saturating_duration_since(Instant::now());
    rest / u32::try_from(parts).unwrap_or(u32::MAX).max(1)
}

fn no_answer(wait: Duration) -> String {
    format!("no answer within {} seconds", (wait.as_secs_f32() * 10.0).round() / 10.0)
}

/// The error text for the operator.
fn explain(error: &PostgresError, mode: SslMode) -> String {
    let text = with_source(error);
    if mode == SslMode::Require && text.contains("server does not support TLS") {
        return "it offers no TLS, and nothing is sent unencrypted beyond this machine (unless the URL says \
                sslmode=disable)"
            .into();
    }
    text
}

/// Whether a later retry may succeed.
fn is_transient(error: &PostgresError) -> bool {
    match error.code() {
        Some(code) => {
            // 08 connection, 53 out of resources, 57 shutting down or starting up.
            matches!(&code.code()[..2], "08" | "53" | "57")
        }
        // A TLS error, such as an invalid certificate, is permanent.
        None => error.is_closed() || io_kind(error).is_some_and(|kind| kind != ErrorKind::InvalidData),
    }
}
