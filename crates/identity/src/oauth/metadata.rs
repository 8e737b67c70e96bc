//! What other programs can find out about this server (RFC 8414, RFC 9728).

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, Method, header};
use serde_json::{Value, json};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use web::Result;

use super::{AuthorizationServer, ExternalIssuer, Scope, Signer, error::Refusal};

pub(super) async fn server(State(server): State<AuthorizationServer>) -> Response {
    let settings = &server.0.settings;
    let issuer = &settings.issuer;
    let methods = json!(["none", "client_secret_basic", "client_secret_post"]);
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
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "authorization_response_iss_parameter_supported": true,
        "protected_resources": settings.audiences(),
    });
    if settings.demo || settings.registration_token.is_some() {
        document["registration_endpoint"] = format!("{issuer}/oauth/register").into();
    }
    json_for_an_hour(&document)
}

/// Where the service at this address, or the part of it under this prefix, is described (RFC 9728, 3.1).
const RESOURCE: &str = "/.well-known/oauth-protected-resource";

/// The routes that say who guards a service and its API.
pub(super) fn resource_router<S: Clone + Send + Sync + 'static>(
    service: &str,
    address: &str,
    issuer: &str,
    scopes: &[Scope],
    prefix: &str,
) -> Router<S> {
    let scopes: Vec<_> = scopes.iter().map(|scope| scope.name).collect();
    let parts = if prefix.is_empty() { vec![""] } else { vec!["", prefix] };
    // The document at …/oauth-protected-resource/v3 is about …/v3.
    parts.into_iter().fold(Router::new(), |router, part| {
        let document = json!({
            "resource": format!("{address}{part}"),
            "resource_name": service,
            "authorization_servers": [issuer],
            "scopes_supported": scopes,
            "bearer_methods_supported": ["header"],
            "resource_documentation": format!("{address}/docs"),
        });
        router.route(&format!("{RESOURCE}{part}"), get(async move || json_for_an_hour(&document)))
    })
}

/// What programs in a browser may call from other origins.
pub(super) fn for_every_origin() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::any())
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
}

/// The routes of a service whose tokens come from an issuer elsewhere, in place of those of an authorization server of its
/// own: they tell clients which issuer that is. `prefix` is where the API's paths begin, `/v3`.
pub fn external_router(issuer: &ExternalIssuer, scopes: &[Scope], prefix: &str) -> Router {
    resource_router(issuer.service, &issuer.resource, &issuer.url, scopes, prefix).layer(for_every_origin())
}

/// Where the public keys of a service are.
pub(super) const JWKS: &str = "/oauth/jwks.json";

pub(super) async fn jwks(State(server): State<AuthorizationServer>) -> Result<Response, Refusal> {
    jwks_of(&server.0.signer).await
}

pub(super) async fn jwks_of(signer: &Signer) -> Result<Response, Refusal> {
    // Short, so that a new key is known long before it signs.
    Ok(json_for(&signer.keys.jwks().await?, "public, max-age=300"))
}

fn json_for_an_hour(document: &Value) -> Response {
    json_for(document, "public, max-age=3600")
}

fn json_for(document: &Value, cached: &'static str) -> Response {
    let json = HeaderValue::from_static("application/json");
    let cached = HeaderValue::from_static(cached);
    ([(header::CONTENT_TYPE, json), (header::CACHE_CONTROL, cached)], document.to_string()).into_response()
}
