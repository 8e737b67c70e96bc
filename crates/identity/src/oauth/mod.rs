//! An OAuth 2.0 authorization server over a service's own accounts.
//!
//! One per service, each its own issuer at its own address. It follows RFC 9700: the authorization code grant with PKCE
//! for every client, rotating refresh tokens, client credentials for clients that can keep a secret; no implicit grant, no
//! password grant. Access tokens are signed JWTs (RFC 9068).
//!
//! - [`client`]: who may ask, and where answers may be sent
//! - [`authorize`]: `/oauth/authorize`, where people sign in and decide; [`sign_up`], where they make accounts
//! - [`page`], [`notice`]: what their pages look like, and how they say what was wrong with a form
//! - [`token`]: `/oauth/token`; [`redeem`], what it gives out; [`refresh`], how refresh tokens follow from one another
//! - [`manage`]: revocation and introspection; [`register`]: clients that register themselves
//! - [`metadata`]: what other programs can find out about us
//! - [`keys`], [`signer`], [`access`], [`verify`]: what signs access tokens, what is in one, how one is checked
//! - [`issuer`], [`discovery`], [`jwk`]: the same for tokens of an issuer elsewhere, instead of our own
//! - [`source`]: which of the two a service has
//! - [`bearer`]: the extractor by which an operation demands one
//! - [`store`]: the SQL

mod access;
mod authorize;
pub mod bearer;
mod client;
mod discovery;
mod error;
mod issuer;
mod jwk;
mod keys;
mod manage;
mod metadata;
mod notice;
mod page;
mod redeem;
mod refresh;
mod register;
mod request;
mod sign_up;
mod signer;
mod source;
mod store;
mod token;
mod verify;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};
use db::{Db, Migrations};
use secrecy::SecretString;
use web::{Chance, Clock};

pub use access::{Claims, TokenError};
pub use client::{Client, ClientError, NewClient};
pub use issuer::{ExternalIssuer, IssuerError};
use keys::Keys;
pub use metadata::external_router;
pub use signer::Signer;
pub use source::{Elsewhere, TokenSource, TokenSourceError, is_demo_subject, last_address};
pub use verify::Verifier;

use crate::{Accounts, Sessions, throttle::Throttle};

/// The tables of this part, for services that have it.
pub const MIGRATIONS: Migrations = db::migrations!("oauth": "oauth_0001_grants", "oauth_0002_bounds");

/// Something a client can be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    pub name: &'static str,
    /// What it allows, as the consent page says it: "see your pets".
    pub words: &'static str,
}

/// What a service says about its authorization server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The service's name in words, as pages show it.
    pub service: &'static str,
    /// The address of this service, without a slash at the end: the issuer of its tokens, and the audience they are for.
    pub issuer: String,
    /// Where the API's paths begin: `/v3`.
    pub prefix: &'static str,
    pub scopes: &'static [Scope],
    /// Whether people can make accounts for themselves.
    pub sign_up: bool,
    pub demo: bool,
    /// What a program must present to register a client when this is no demo.
    pub registration_token: Option<SecretString>,
}

/// A service's authorization server. Cloning it is cheap.
#[derive(Clone)]
pub struct AuthorizationServer(Arc<Inner>);

struct Inner {
    settings: Settings,
    db: Db,
    clock: Clock,
    chance: Chance,
    accounts: Accounts,
    sessions: Sessions,
    throttle: Throttle,
    signer: Signer,
    verifier: Verifier,
}

impl AuthorizationServer {
    pub async fn open(
        settings: Settings,
        accounts: Accounts,
        db: Db,
        clock: Clock,
        chance: Chance,
    ) -> Result<Self, OpenError> {
        let keys = Keys::open(db.clone(), clock.clone()).await?;
        let sessions = Sessions::new(settings.demo, db.clone(), clock.clone(), chance.clone());
        let verifier = Verifier::own(&settings, keys.clone(), db.clone(), clock.clone());
        let throttle = Throttle::new(db.clone(), clock.clone());
        let signer =
            Signer { keys, issuer: settings.issuer.clone(), clock: clock.clone(), chance: chance.clone() };
        let inner = Inner { settings, db, clock, chance, accounts, sessions, throttle, signer, verifier };
        let server = AuthorizationServer(Arc::new(inner));
        if server.0.settings.demo {
            server.add_demo_client().await?;
        }
        Ok(server)
    }

    /// What checks the access tokens of this server.
    pub fn verifier(&self) -> Verifier {
        self.0.verifier.clone()
    }

    /// What signs with the keys of this server.
    pub fn signer(&self) -> Signer {
        self.0.signer.clone()
    }

    /// The routes, to stand beside the service's API.
    pub fn router(&self) -> Router {
        let pages = Router::new()
            .route("/oauth/authorize", get(authorize::show).post(authorize::decide))
            .route("/oauth/sign-up", get(sign_up::show).post(sign_up::sign_up))
            .route("/oauth/sign-out", get(authorize::show_sign_out).post(authorize::sign_out));
        let settings = &self.0.settings;
        let (issuer, scopes, prefix) = (&settings.issuer, settings.scopes, settings.prefix);
        // Programs in a browser call these from other origins; pages are only ever visited.
        let endpoints = Router::new()
            .route("/oauth/token", post(token::redeem))
            .route("/oauth/revoke", post(manage::revoke))
            .route("/oauth/register", post(register::register))
            .route(metadata::JWKS, get(metadata::jwks))
            .route("/.well-known/oauth-authorization-server", get(metadata::server))
            .merge(metadata::resource_router(settings.service, issuer, issuer, scopes, prefix))
            .layer(metadata::for_every_origin());
        let direct = Router::new().route("/oauth/introspect", post(manage::introspect));
        pages.merge(endpoints).merge(direct).with_state(self.clone())
    }
}

impl Settings {
    /// What tokens can be for: the service as a whole, or its API.
    fn audiences(&self) -> Vec<String> {
        let mut all = vec![self.issuer.clone(), format!("{}{}", self.issuer, self.prefix)];
        all.dedup();
        all
    }
}

/// Why an authorization server could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Db(#[from] db::Error),
    #[error("cannot make a signing key: {0}")]
    Key(String),
}
