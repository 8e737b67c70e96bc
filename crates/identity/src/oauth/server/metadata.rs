//! The metadata of the authorization server (RFC 8414), and its keys.

use axum::{Router, extract::State, response::Response, routing::get};
use db::Word;
use serde_json::json;
use web::Result;

use super::{
    client::{AuthMethod, GrantType},
    error::ErrorResponse,
    signer::Signer,
    state::AuthorizationServer,
};
use crate::oauth::document::{any_origin, cached_for_an_hour, cached_for_five_minutes};

/// The path of the public keys.
pub(super) const JWKS: &str = "/oauth/jwks.json";

pub(super) async fn server(State(server): State<AuthorizationServer>) -> Response {
    let settings = &server.0.settings;
    let issuer = &settings.issuer;
    let methods = words::<AuthMethod>();
    let scopes: Vec<_> = settings.scopes.iter().map(|scope| scope.name).collect();
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/oauth/authorize"),
        "token_endpoint": format!("{issuer}/oauth/token"),
        "jwks_uri": format!("{issuer}{JWKS}"),
        "revocation_endpoint": format!("{issuer}/oauth/revoke"),
        "introspection_endpoint": format!("{issuer}/oauth/introspect"),
        "scopes_supported": scopes,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": words::<GrantType>(),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "introspection_endpoint_auth_methods_supported": [AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost],
        "authorization_response_iss_parameter_supported": true,
        "protected_resources": settings.audiences(),
    });
    if settings.demo || settings.registration_token.is_some() {
        document["registration_endpoint"] = format!("{issuer}/oauth/register").into();
    }
    cached_for_an_hour(&document)
}

pub(super) async fn jwks(State(server): State<AuthorizationServer>) -> Result<Response, ErrorResponse> {
    jwks_of(&server.0.signer).await
}

/// The route of the keys, for a service without an authorization server.
pub(crate) fn jwks_router(signer: Signer) -> Router {
    let jwks = async move || jwks_of(&signer).await;
    Router::new().route(JWKS, get(jwks)).layer(any_origin())
}

async fn jwks_of(signer: &Signer) -> Result<Response, ErrorResponse> {
    Ok(cached_for_five_minutes(&signer.keys.jwks().await?))
}

fn words<T: Word>() -> Vec<&'static str> {
    T::WORDS.iter().map(|(word, _)| *word).collect()
}
