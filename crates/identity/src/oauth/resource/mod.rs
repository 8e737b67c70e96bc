//! The resource server: checks the access tokens that callers present.
//!
//! - [`bearer`]: the extractor by which an operation requires a token
//! - [`verifier`]: how a token is checked; [`issuer`]: what it needs of an issuer
//! - [`external_issuer`], [`remote_keys`], [`discovery`]: an issuer that is not this service, and how its keys are fetched
//! - [`jwk`]: public keys
//! - [`metadata`]: which issuer clients get their tokens from
//!
//! It knows nothing of the authorization server, which is in `server`: that one implements [`issuer::Issuer`].

pub mod bearer;
pub(super) mod discovery;
pub(super) mod external_issuer;
pub(super) mod issuer;
pub(super) mod jwk;
pub(super) mod metadata;
pub(super) mod remote_keys;
pub(super) mod verifier;
