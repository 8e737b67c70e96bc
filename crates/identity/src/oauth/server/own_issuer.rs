//! This service as the issuer of the tokens that it checks: keys and revocations are in its own database.

use std::sync::Arc;

use db::Db;
use futures_util::{FutureExt, future::BoxFuture};
use uuid::Uuid;
use web::Clock;

use super::{
    keys::{KeyError, Keys},
    state::Settings,
    store,
};
use crate::{
    accounts::Accounts,
    oauth::{
        claims::{Claims, TYPE, TokenError},
        resource::{
            issuer::Issuer,
            jwk::PublicKey,
            verifier::{Accepted, Verifier},
        },
    },
};

struct OwnIssuer {
    keys: Keys,
    db: Db,
    demo: bool,
}

/// The verifier for the tokens of an authorization server with these settings.
pub(super) fn verifier(
    settings: &Settings,
    keys: Keys,
    accounts: &Accounts,
    db: Db,
    clock: Clock,
) -> Verifier {
    let accepted = Accepted {
        service: settings.service,
        resource: settings.issuer.clone(),
        issuer: settings.issuer.clone(),
        audiences: settings.audiences(),
        types: vec![TYPE.into()],
        scope_claim: "scope".into(),
        own: true,
    };
    let issuer = OwnIssuer { keys, db, demo: settings.demo };
    Verifier::new(accepted, Box::new(issuer), clock, Some(accounts.clone()))
}

impl Issuer for OwnIssuer {
    fn key<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Arc<PublicKey>>, TokenError>> {
        async move { Ok(self.keys.public(id).await?) }.boxed()
    }

    fn is_revoked<'a>(&'a self, claims: &'a Claims) -> BoxFuture<'a, Result<bool, db::Error>> {
        let (grant, id, demo) = (grant_of(&claims.id), claims.id.clone(), self.demo);
        async move {
            let Some(grant) = grant else { return Ok(true) };
            self.db.read(move |tx| store::is_token_revoked(tx, grant, &id, demo)).await
        }
        .boxed()
    }
}

/// The grant that a token's id names; `signer.rs` writes it.
fn grant_of(token_id: &str) -> Option<Uuid> {
    Uuid::try_parse(token_id.split('.').next()?).ok()
}

impl From<KeyError> for TokenError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Db(error) => TokenError::Db(error),
            KeyError::Key(cause) => TokenError::Broken(cause),
        }
    }
}
