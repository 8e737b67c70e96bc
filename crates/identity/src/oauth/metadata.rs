//! What other programs can find out about this server (RFC 8414, RFC 9728).

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header};
use serde_json::{Value, json};
use web::Result;

use super::{AuthorizationServer, error::Refusal};

pub(super) async fn server(State(server): State<AuthorizationServer>) -> Response {
    let settings = &server.0.settings;
    let issuer = &settings.issuer;
    let methods = json!(["none", "client_secret_basic", "client_secret_post"]);
    let scopes: Vec<_> = settings.scopes.iter().map(|scope| scope.name).collect();
    let mut document = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/oauth/authorize"),
        "token_endpoint": format!("{issuer}/oauth/token"),
        "jwks_uri": format!("{issuer}/oauth/jwks.json"),
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

pub(super) async fn resource(
    State(server): State<AuthorizationServer>,
    uri: axum::extract::OriginalUri,
) -> Response {
    let settings = &server.0.settings;
    let scopes: Vec<_> = settings.scopes.iter().map(|scope| scope.name).collect();
    // The document at …/oauth-protected-resource/v3 is about …/v3 (RFC 9728, 3.1).
    let path = uri.path().strip_prefix("/.well-known/oauth-protected-resource").unwrap_or_default();
    json_for_an_hour(&json!({
        "resource": format!("{}{path}", settings.issuer),
        "resource_name": settings.service,
        "authorization_servers": [settings.issuer],
        "scopes_supported": scopes,
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{}/docs", settings.issuer),
    }))
}

pub(super) async fn jwks(State(server): State<AuthorizationServer>) -> Result<Response, Refusal> {
    // Short, so that a new key is known long before it signs.
    Ok(json_for(&server.0.keys.jwks().await?, "public, max-age=300"))
}

fn json_for_an_hour(document: &Value) -> Response {
    json_for(document, "public, max-age=3600")
}

fn json_for(document: &Value, cached: &'static str) -> Response {
    let json = HeaderValue::from_static("application/json");
    let cached = HeaderValue::from_static(cached);
    ([(header::CONTENT_TYPE, json), (header::CACHE_CONTROL, cached)], document.to_string()).into_response()
}
