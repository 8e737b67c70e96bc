//! Whose access tokens a service takes: those of its own authorization server, or of an issuer elsewhere.

use std::time::Duration;

use axum::Router;
use db::{Db, Tx};
use tokio::time::timeout;
use uuid::Uuid;
use web::{Chance, Clock, IssuedBy};

use super::{
    AuthorizationServer, ExternalIssuer, IssuerError, OpenError, Settings, Signer, Verifier,
    discovery::openid_configuration, external_router, keys::Keys,
};
use crate::Accounts;

/// How long a start waits for an issuer to say where its endpoints are.
const PATIENCE: Duration = Duration::from_secs(5);

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
    /// Who issues its access tokens, if it does not do so itself.
    pub issued_by: Option<IssuedBy>,
    /// What signs messages to others: the service's own keys, with an external issuer as well.
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
                issued_by: None,
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
        let unknown = IssuedBy::Discovery(openid_configuration(&issuer.url));
        let verifier = Verifier::external(issuer, clock)?;
        // An issuer that is down or slow must not keep the service from starting.
        let known = timeout(PATIENCE, verifier.endpoints()).await.ok().flatten();
        let known = known.map(|(authorization, token)| IssuedBy::Endpoints { authorization, token });
        Ok(TokenSource { verifier, router, issued_by: Some(known.unwrap_or(unknown)), signer })
    }
}

impl Elsewhere {
    /// Where clients get its tokens, without asking it.
    pub fn issued_by(&self) -> IssuedBy {
        IssuedBy::Discovery(openid_configuration(&self.url))
    }
}

/// Whether what this subject has came with a demo: it is a demo account, or a client of a demo. Outside of one it is refused.
pub fn is_demo_subject(tx: &mut Tx<'_>, subject: &str) -> Result<bool, db::Error> {
    let account = subject.parse::<Uuid>().unwrap_or_default();
    let found = tx.row(
        "SELECT 1 FROM account WHERE id = $1 AND demo UNION ALL SELECT 1 FROM oauth_client WHERE id = $2 AND demo",
        &[account.into(), subject.into()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
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
