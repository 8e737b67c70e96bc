//! The settings and the state of an authorization server.

use std::sync::Arc;

use db::Db;
use secrecy::SecretString;
use web::{Clock, Random};

use super::signer::Signer;
use crate::{
    accounts::Accounts,
    oauth::{resource::verifier::Verifier, scope::Scope},
    session::Sessions,
    throttle::Throttle,
};

/// The settings of a service's authorization server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The service's name, `petstore`.
    pub name: &'static str,
    /// The service's name in words, as pages show it.
    pub service: &'static str,
    /// The address of the service, without a slash at the end: the issuer of its tokens, and their audience.
    pub issuer: String,
    /// Where the API's paths begin: `/v3`.
    pub prefix: &'static str,
    pub scopes: &'static [Scope],
    /// Whether users can create accounts on a page.
    pub sign_up: bool,
    pub demo: bool,
    /// The initial access token, which registration requires outside of a demo.
    pub registration_token: Option<SecretString>,
}

impl Settings {
    /// A path of this server, as in links and redirects.
    pub(super) fn path(&self, path: &str) -> String {
        format!("{}{path}", web::path_of(&self.issuer))
    }

    /// The audiences that a token can have: the service as a whole, or its API.
    pub(super) fn audiences(&self) -> Vec<String> {
        let mut all = vec![self.issuer.clone(), format!("{}{}", self.issuer, self.prefix)];
        all.dedup();
        all
    }
}

/// A service's authorization server. Cloning it is cheap.
#[derive(Clone)]
pub struct AuthorizationServer(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) settings: Settings,
    pub(super) db: Db,
    pub(super) clock: Clock,
    pub(super) random: Random,
    pub(super) accounts: Accounts,
    pub(super) sessions: Sessions,
    pub(super) throttle: Throttle,
    pub(super) signer: Signer,
    pub(super) verifier: Verifier,
}
