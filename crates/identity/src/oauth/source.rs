//! Whose access tokens a service takes: those of its own authorization server, or of an issuer elsewhere.

use axum::Router;
use db::Db;
use web::{Chance, Clock};

use super::{
    AuthorizationServer, ExternalIssuer, IssuerError, OpenError, Settings, Signer, Verifier, external_router,
    keys::Keys,
};
use crate::Accounts;

/// An issuer elsewhere, as an operator describes it.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// The issuer, to the letter as its tokens name it.
    pub url: String,
    /// What its tokens for this service have as their audience; the service's own address if this is empty.
    pub audience: String,
    /// The types its access tokens have.
    pub types: Vec<String>,
    /// The claim with the scopes.
    pub scope_claim: String,
}

/// What lets callers of a service in, and the routes that go with it.
pub struct TokenSource {
    pub verifier: Verifier,
    /// To stand beside the service's API.
    pub router: Router,
    /// What signs messages to others: the service's own keys, whoever issues its access tokens.
    pub signer: Signer,
}

/// Why nobody could be let in.
#[derive(Debug, thiserror::Error)]
pub enum TokenSourceError {
    #[error(transparent)]
    Own(#[from] OpenError),
    #[error(transparent)]
    Elsewhere(#[from] IssuerError),
}

impl TokenSource {
    /// The service's own authorization server by `settings`, unless tokens come from `elsewhere`.
    pub async fn open(
        settings: Settings,
        elsewhere: Option<Elsewhere>,
        accounts: Accounts,
        db: Db,
        clock: Clock,
        chance: Chance,
    ) -> Result<Self, TokenSourceError> {
        let Some(Elsewhere { url, audience, types, scope_claim }) = elsewhere else {
            let server = AuthorizationServer::open(settings, accounts, db, clock, chance).await?;
            server.remember_address().await.map_err(OpenError::Db)?;
            return Ok(TokenSource {
                verifier: server.verifier(),
                router: server.router(),
                signer: server.signer(),
            });
        };
        let keys = Keys::open(db, clock.clone()).await?;
        let signer = Signer { keys, issuer: settings.issuer.clone(), clock: clock.clone(), chance };
        let issuer = ExternalIssuer {
            service: settings.service,
            audience: if audience.is_empty() { settings.issuer.clone() } else { audience },
            resource: settings.issuer,
            url,
            types,
            scope_claim,
        };
        let router = external_router(&issuer, settings.scopes, settings.prefix).merge(signer.router());
        Ok(TokenSource { verifier: Verifier::external(issuer, clock)?, router, signer })
    }
}

/// Where the service was last started, so that a command can make tokens for it without serving.
pub async fn last_address(db: &Db) -> Result<Option<String>, db::Error> {
    db.read(|tx| tx.row("SELECT address FROM oauth_address", &[], |row| row.get(0))).await
}

impl AuthorizationServer {
    async fn remember_address(&self) -> Result<(), db::Error> {
        let address = self.0.settings.issuer.clone();
        self.0
            .db
            .write(move |tx| {
                tx.execute(
                    "INSERT INTO oauth_address (id, address) VALUES (1, $1)
                     ON CONFLICT (id) DO UPDATE SET address = excluded.address",
                    &[(&address).into()],
                )
                .map(drop)
            })
            .await
    }
}
