//! The metadata of a protected resource: which issuer clients get their tokens from (RFC 9728).

use axum::{Router, routing::get};
use serde_json::json;

use super::external_issuer::ExternalIssuer;
use crate::oauth::{
    document::{any_origin, cached_for_an_hour},
    scope::Scope,
};

/// The well-known name of the metadata (RFC 9728, 3.1).
const NAME: &str = "oauth-protected-resource";

/// The address of the metadata of the service at this address.
pub(super) fn metadata_of(service: &str) -> String {
    web::well_known(service, NAME)
}

/// The routes for the metadata of a service and of its API.
pub(crate) fn resource_router<S: Clone + Send + Sync + 'static>(
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
        router.route(&format!("/.well-known/{NAME}{part}"), get(async move || cached_for_an_hour(&document)))
    })
}

/// The routes of a service with an external issuer, instead of those of an authorization server: they tell clients which
/// issuer that is. `prefix` is where the API's paths begin, `/v3`.
pub fn external_router(issuer: &ExternalIssuer, scopes: &[Scope], prefix: &str) -> Router {
    resource_router(issuer.service, &issuer.resource, &issuer.url, scopes, prefix).layer(any_origin())
}
