//! The server: how it is reached, and what is known of it.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio_postgres::{CancelToken, Client, Config, Connection, NoTls, Socket, tls::NoTlsStream};

use crate::{Error, OpenError, error::with_source};

pub(super) struct Server {
    config: Config,
    /// How long each answer may take.
    pub(super) wait: Duration,
    keeps_statements: AtomicBool,
}

impl Server {
    pub(super) fn new(url: &str, wait: Duration) -> Result<Self, OpenError> {
        let invalid = |why: &str| OpenError::new(&format!("the database URL is not valid: {why}"));
        // Anything else is taken for a list of settings, and the message about it quotes all of it, password
        // and all.
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(invalid("it does not begin with postgres://"));
        }
        let mut config: Config = url.parse().map_err(|error| invalid(&with_source(&error)))?;
        if config.get_application_name().is_none() {
            config.application_name("triptych");
        }
        Ok(Server { config, wait, keeps_statements: AtomicBool::new(true) })
    }

    pub(super) async fn connect(&self) -> Result<(Client, Connection<Socket, NoTlsStream>), Error> {
        Ok(self.config.connect(NoTls).await?)
    }

    /// Asks the server to stop what a connection has it doing.
    pub(super) async fn cancel(&self, token: CancelToken) {
        let _ = token.cancel_query(NoTls).await;
    }

    pub(super) fn late(&self) -> Error {
        Error::Unavailable(format!("no answer within {} seconds", self.wait.as_secs_f32()))
    }

    /// Whether a statement that was prepared is still there in the next transaction.
    pub(super) fn keeps_statements(&self) -> bool {
        self.keeps_statements.load(Ordering::Relaxed)
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
    pub(super) async fn find_out(&self) -> Result<(), Error> {
        for _ in 0..3 {
            let ((first, first_driver), (second, second_driver)) =
                (self.connect().await?, self.connect().await?);
            let (first_driver, second_driver) = (tokio::spawn(first_driver), tokio::spawn(second_driver));
            let kept = async {
                let statement = first.prepare("SELECT 1").await?;
                second.batch_execute("BEGIN").await?;
                first.query(&statement, &[]).await.map(drop)
            };
            // Where there is one session for both, the first waits for the second in vain.
            let kept = tokio::time::timeout(self.wait.min(Duration::from_secs(1)), kept).await;
            drop((first, second));
            let _ = tokio::join!(first_driver, second_driver);
            match kept {
                Ok(Ok(())) => {}
                Ok(Err(error)) if error.is_closed() => return Err(error.into()),
                _ => {
                    self.loses_statements();
                    break;
                }
            }
        }
        Ok(())
    }
}
