//! What a verifier needs of an issuer.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::jwk::PublicKey;
use crate::oauth::claims::{Claims, TokenError};

/// The issuer of access tokens: this service's authorization server, or an external one.
pub(crate) trait Issuer: Send + Sync {
    /// The public key of this id.
    fn key<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Arc<PublicKey>>, TokenError>>;

    /// Whether the token with these claims was revoked; `false` if the issuer cannot be asked.
    fn is_revoked<'a>(&'a self, claims: &'a Claims) -> BoxFuture<'a, Result<bool, db::Error>>;
}
