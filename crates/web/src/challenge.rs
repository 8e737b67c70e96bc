//! The challenges of a 401 answer, by the security schemes of the document. Services write their own; these are for the answers that
//! a gate gives instead of a service.

use http::HeaderValue;
use utoipa::openapi::{
    OpenApi, RefOr,
    path::Operation,
    security::{ApiKey, HttpAuthScheme, SecurityScheme},
};

/// The challenges of the schemes that an operation accepts.
pub(crate) fn of_operation(operation: &Operation, document: &OpenApi, realm: &str) -> Vec<HeaderValue> {
    // A requirement has its names only in its written form.
    let requirements = operation.security.as_ref().or(document.security.as_ref()).into_iter().flatten();
    let requirements = requirements.filter_map(|one| serde_json::to_value(one).ok());
    let names: Vec<String> = requirements
        .flat_map(|one| one.as_object().cloned().unwrap_or_default())
        .map(|(name, _)| name)
        .collect();
    challenges(document, realm, |name| names.iter().any(|one| one == name))
}

/// The challenges of all schemes of a service.
pub(crate) fn of_service(document: &OpenApi, realm: &str) -> Vec<HeaderValue> {
    challenges(document, realm, |_| true)
}

fn challenges(document: &OpenApi, realm: &str, is_accepted: impl Fn(&str) -> bool) -> Vec<HeaderValue> {
    let schemes = document.components.iter().flat_map(|components| &components.security_schemes);
    let schemes = schemes.filter(|(name, _)| is_accepted(name)).filter_map(|(_, scheme)| match scheme {
        RefOr::T(scheme) => challenge(scheme, realm),
        RefOr::Ref(_) => None,
    });
    let mut challenges: Vec<_> = schemes.filter_map(|text| HeaderValue::try_from(text).ok()).collect();
    // Sessions and access tokens are both bearer tokens.
    challenges.dedup();
    challenges
}

fn challenge(scheme: &SecurityScheme, realm: &str) -> Option<String> {
    match scheme {
        SecurityScheme::Http(http) if http.scheme == HttpAuthScheme::Basic => {
            Some(format!("Basic realm=\"{realm}\", charset=\"UTF-8\""))
        }
        SecurityScheme::ApiKey(ApiKey::Header(key)) => {
            Some(format!("ApiKey realm=\"{realm}\", header=\"{}\"", key.name))
        }
        SecurityScheme::ApiKey(_) | SecurityScheme::MutualTls { .. } => None,
        _ => Some(format!("Bearer realm=\"{realm}\"")),
    }
}
