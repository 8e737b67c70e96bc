//! Which access tokens a service accepts: those of its own authorization server, or of an external issuer.

use std::time::Duration;

use axum::Router;
use db::Db;
use tokio::time::timeout;
use web::{Clock, IssuedBy, Random};

use super::{
    resource::{
        discovery::openid_configuration,
        external_issuer::{ExternalIssuer, IssuerError},
        metadata::external_router,
        remote_keys::RemoteKeys,
        verifier::Verifier,
    },
    server::{
        keys::{KeyError, Keys},
        metadata::jwks_router,
        signer::Signer,
        state::{AuthorizationServer, Settings},
        store,
    },
};
use crate::accounts::Accounts;

/// How long the start of a service waits for the metadata of its issuer.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// An external issuer, as an operator configures it.
#[derive(Debug, Clone)]
pub struct ExternalIssuerSettings {
    /// The issuer, exactly as the `iss` claim of its tokens.
    pub url: String,
    /// The `aud` claim of its tokens for this service; the service's own address if this is empty.
    pub audience: String,
    /// The `typ` headers of its access tokens.
    pub types: Vec<String>,
    /// The claim with the scopes.
    pub scope_claim: String,
}

/// The verifier of a service's access tokens, and the routes that go with its issuer.
pub struct TokenIssuer {
    pub verifier: Verifier,
    /// To be merged with the routes of the service's API.
    pub router: Router,
    /// The external issuer, if there is one.
    pub issued_by: Option<IssuedBy>,
    /// Signs messages to other services with this service's own keys, with an external issuer too.
    pub signer: Signer,
}

/// Why the issuer could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum TokenIssuerError {
    #[error(transparent)]
    Own(#[from] KeyError),
    #[error(transparent)]
    External(#[from] IssuerError),
}

impl TokenIssuer {
    /// The service's own authorization server with `settings`, unless there is an external issuer.
    pub async fn open(
        settings: Settings,
        external: Option<ExternalIssuerSettings>,
        accounts: Accounts,
        db: Db,
        clock: Clock,
        random: Random,
    ) -> Result<Self, TokenIssuerError> {
        let Some(ExternalIssuerSettings { url, audience, types, scope_claim }) = external else {
            let address = settings.issuer.clone();
            let server = AuthorizationServer::open(settings, accounts, db.clone(), clock, random).await?;
            store::set_last_address(&db, address).await.map_err(KeyError::Db)?;
            return Ok(TokenIssuer {
                verifier: server.verifier(),
                router: server.router(),
                issued_by: None,
                signer: server.signer(),
            });
        };
        let controls = accounts.controls().clone();
        let keys = Keys::open(db, clock.clone(), controls.clone()).await?;
        let issuer = settings.issuer.clone();
        let signer = Signer { keys, issuer, clock: clock.clone(), random, controls };
        let issuer = ExternalIssuer {
            service: settings.service,
            audience: if audience.is_empty() { settings.issuer.clone() } else { audience },
            resource: settings.issuer,
            url,
            types,
            scope_claim,
        };
        let router =
            external_router(&issuer, settings.scopes, settings.prefix).merge(jwks_router(signer.clone()));
        let unknown = IssuedBy::Discovery(openid_configuration(&issuer.url));
        let keys = RemoteKeys::open(&issuer, &clock)?;
        let verifier = Verifier::with_keys(issuer, keys.clone(), clock, Some(accounts));
        // An issuer that is down or slow must not delay the start of the service.
        let known = timeout(DISCOVERY_TIMEOUT, keys.endpoints()).await.ok().flatten();
        let known = known.map(|(authorization, token)| IssuedBy::Endpoints { authorization, token });
        Ok(TokenIssuer { verifier, router, issued_by: Some(known.unwrap_or(unknown)), signer })
    }
}

impl ExternalIssuerSettings {
    /// The address of the issuer's metadata, without a request to it.
    pub fn issued_by(&self) -> IssuedBy {
        IssuedBy::Discovery(openid_configuration(&self.url))
    }
}
