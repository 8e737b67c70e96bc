//! OAuth 2.0, in two halves that share the form of a token.
//!
//! - [`server`]: the authorization server, which issues tokens for a service's own accounts
//! - [`resource`]: the resource server, which checks the tokens that callers present
//! - [`claims`], [`scope`], [`loopback`], [`document`]: what both halves use
//! - [`token_issuer`]: whether a service issues its tokens itself, or an external issuer does
//!
//! `server` uses `resource` to check its own tokens. `resource` never uses `server`.

mod claims;
mod document;
mod loopback;
mod resource;
mod scope;
mod server;
mod token_issuer;

pub use claims::{Claims, TokenError};
pub use resource::{
    bearer,
    external_issuer::{ExternalIssuer, IssuerError},
    metadata::external_router,
    verifier::Verifier,
};
pub use scope::Scope;
pub use server::{
    client::{
        Client, ClientError, DEMO as DEMO_CLIENT, GUEST as GUEST_CLIENT, NewClient, PAGES as PAGES_CLIENT,
    },
    keys::{KeyError, OldKeys, delete_keys, rotate_keys},
    signer::Signer,
    state::{AuthorizationServer, Settings},
    store::{has_demo_clients, is_demo_subject, last_address},
};
pub use token_issuer::{ExternalIssuerSettings, TokenIssuer, TokenIssuerError};

/// The tables of this part, for services that have it.
pub use crate::migrations::OAUTH as MIGRATIONS;
