//! The authorization server of a service, over the service's own accounts.
//!
//! There is one per service, each an issuer at its own address. It follows RFC 9700: the authorization code grant with PKCE
//! for every client, rotating refresh tokens, client credentials for confidential clients; no implicit grant, no password
//! grant. Access tokens are signed JWTs (RFC 9068).
//!
//! - [`state`]: settings and state; [`error`], [`response`]: error responses and JSON responses
//! - [`client`]: clients and their redirect addresses; [`clients`]: adding and removing them; [`register`]: dynamic registration
//! - [`request`]: authorization requests; [`authorize`]: `/oauth/authorize`, where users consent
//! - [`sign_in`], [`sign_up`]: pages for sessions and accounts; [`page`], [`cookie`], [`notice`]: what pages are made of
//! - [`token`]: `/oauth/token`; [`redeem`]: its grants; [`refresh`]: refresh tokens
//! - [`introspect`]: introspection and revocation; [`metadata`]: metadata and keys
//! - [`keys`], [`signer`]: what signs access tokens; [`own_issuer`]: how a resource server checks them
//! - [`store`]: the SQL

mod authorize;
pub(super) mod client;
mod clients;
mod cookie;
mod error;
mod introspect;
pub(super) mod keys;
pub(super) mod metadata;
mod notice;
mod own_issuer;
mod page;
mod redeem;
mod refresh;
mod register;
mod request;
mod response;
mod sign_in;
mod sign_up;
pub(super) mod signer;
pub(super) mod state;
pub(super) mod store;
mod token;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};
use db::Db;
use web::{Clock, Random};

use crate::{
    accounts::Accounts,
    oauth::{document::any_origin, resource::metadata::resource_router, resource::verifier::Verifier},
    session::Sessions,
    throttle::Throttle,
};
use keys::{KeyError, Keys, OldKeys};
use signer::Signer;
use state::{AuthorizationServer, Inner, Settings};

impl AuthorizationServer {
    pub async fn open(
        settings: Settings,
        accounts: Accounts,
        db: Db,
        clock: Clock,
        random: Random,
    ) -> Result<Self, KeyError> {
        let controls = accounts.controls().clone();
        let keys = Keys::open(db.clone(), clock.clone(), controls.clone()).await?;
        let sessions = Sessions::new(settings.demo, db.clone(), clock.clone(), random.clone())
            .controlled_by(controls.clone());
        let verifier = own_issuer::verifier(&settings, keys.clone(), &accounts, db.clone(), clock.clone());
        let throttle = Throttle::new(db.clone(), &clock);
        let signer = Signer {
            keys,
            issuer: settings.issuer.clone(),
            clock: clock.clone(),
            random: random.clone(),
            controls,
        };
        let inner = Inner { settings, db, clock, random, accounts, sessions, throttle, signer, verifier };
        let server = AuthorizationServer(Arc::new(inner));
        server.add_own_clients().await?;
        Ok(server)
    }

    /// Checks the access tokens of this server.
    pub fn verifier(&self) -> Verifier {
        self.0.verifier.clone()
    }

    /// Makes a new signing key, which signs from now on. Other processes sign with it once their controls are set or touched, or
    /// after a minute.
    pub async fn rotate_keys(&self, old: OldKeys) -> Result<(), KeyError> {
        self.0.signer.keys.rotate(old).await
    }

    /// Signs with the keys of this server.
    pub fn signer(&self) -> Signer {
        self.0.signer.clone()
    }

    /// The routes, to be merged with those of the service's API.
    pub fn router(&self) -> Router {
        let pages = Router::new()
            .route("/oauth/authorize", get(authorize::show).post(authorize::decide))
            .route("/oauth/sign-up", get(sign_up::show).post(sign_up::sign_up))
            .route("/oauth/sign-out", get(sign_in::show_sign_out).post(sign_in::sign_out));
        let settings = &self.0.settings;
        let (issuer, scopes, prefix) = (&settings.issuer, settings.scopes, settings.prefix);
        // Programs in a browser call these from other origins. The pages are only navigated to.
        let endpoints = Router::new()
            .route("/oauth/token", post(token::redeem))
            .route("/oauth/revoke", post(introspect::revoke))
            .route("/oauth/register", post(register::register))
            .route(metadata::JWKS, get(metadata::jwks))
            .route("/.well-known/oauth-authorization-server", get(metadata::server))
            .merge(resource_router(settings.service, issuer, issuer, scopes, prefix))
            .layer(any_origin());
        let direct = Router::new().route("/oauth/introspect", post(introspect::introspect));
        pages.merge(endpoints).merge(direct).with_state(self.clone())
    }
}
