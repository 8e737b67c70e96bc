//! The documentation page: Swagger UI, from files that are part of the program.

use std::collections::BTreeSet;

use axum::{Router, extract::Request, middleware, middleware::Next};
use http::{HeaderValue, Uri, header};
use utoipa::openapi::{
    OpenApi, RefOr,
    security::{Flow, SecurityScheme},
};
use utoipa_swagger_ui::oauth;

/// An OAuth client for the documentation page.
#[derive(Debug, Clone)]
pub struct DocumentationClient {
    pub id: &'static str,
    /// The scopes that are selected by default.
    pub scopes: Vec<String>,
}

/// `path` is in front of all paths of the instance.
pub(crate) fn documentation(openapi: &OpenApi, client: Option<DocumentationClient>, path: &str) -> Router {
    let config = utoipa_swagger_ui::Config::from(format!("{path}/openapi.json"))
        .use_base_layout()
        .try_it_out_enabled(true)
        // Credentials are not stored: any later page of the same origin could read the browser's storage.
        .persist_authorization(false)
        .display_request_duration(true)
        .validator_url("none");
    let page = utoipa_swagger_ui::SwaggerUi::new("/docs").config(config);
    let page: Router = match client {
        None => page.into(),
        Some(client) => page
            .oauth(
                oauth::Config::new()
                    .client_id(client.id)
                    .scopes(client.scopes)
                    .use_pkce_with_authorization_code_grant(true),
            )
            .into(),
    };
    let policy =
        HeaderValue::try_from(policy(openapi)).unwrap_or(HeaderValue::from_static("default-src 'self'"));
    let path = path.to_owned();
    page.layer(middleware::from_fn(move |request: Request, next: Next| {
        let (policy, path) = (policy.clone(), path.clone());
        async move {
            let mut response = next.run(request).await;
            let headers = response.headers_mut();
            // Swagger UI redirects from `/docs` to `/docs/`.
            if let Some(location) = headers.get(header::LOCATION).and_then(|value| value.to_str().ok())
                && let Ok(location) = HeaderValue::try_from(format!("{path}{location}"))
            {
                headers.insert(header::LOCATION, location);
            }
            headers.insert(header::CONTENT_SECURITY_POLICY, policy);
            headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
            headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
            response
        }
    }))
}

/// Scripts and styles from this service only. The page calls this service, and where the document says that the API or its
/// tokens are. Images may also be part of a style sheet (`data:`) or an answer that is shown (`blob:`).
fn policy(openapi: &OpenApi) -> String {
    let mut policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'"
        .to_owned();
    for origin in called(openapi) {
        policy.push(' ');
        policy.push_str(&origin);
    }
    policy.push_str("; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    policy
}

/// The other origins that the document names: servers and token endpoints.
fn called(openapi: &OpenApi) -> BTreeSet<String> {
    let servers = openapi.servers.iter().flatten().map(|server| server.url.as_str());
    let schemes = openapi.components.iter().flat_map(|components| components.security_schemes.values());
    let tokens = schemes.flat_map(|scheme| match scheme {
        RefOr::T(SecurityScheme::OAuth2(oauth)) => oauth.flows.values().filter_map(token_url).collect(),
        RefOr::T(SecurityScheme::OpenIdConnect(connect)) => vec![connect.open_id_connect_url.as_str()],
        _ => Vec::new(),
    });
    servers.chain(tokens).filter_map(origin).collect()
}

fn token_url(flow: &Flow) -> Option<&str> {
    match flow {
        Flow::AuthorizationCode(flow) => Some(&flow.token_url),
        Flow::ClientCredentials(flow) => Some(&flow.token_url),
        Flow::Password(flow) => Some(&flow.token_url),
        Flow::Implicit(_) | Flow::DeviceAuthorization(_) => None,
    }
}

fn origin(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    Some(format!("{scheme}://{authority}"))
}

#[cfg(test)]
mod tests {
    use utoipa::openapi::{
        ComponentsBuilder, OpenApiBuilder, Server,
        security::{AuthorizationCode, OAuth2, Scopes},
    };

    use super::*;

    #[test]
    fn policy_names_the_origins_that_the_document_calls() {
        let flow = AuthorizationCode::new(
            "https://login.example/authorize",
            "https://tokens.example:8443/token",
            Scopes::new(),
        );
        let oauth = SecurityScheme::OAuth2(OAuth2::new([Flow::AuthorizationCode(flow)]));
        let document = OpenApiBuilder::new()
            .servers(Some([Server::new("/v3"), Server::new("https://pets.example/v3")]))
            .components(Some(ComponentsBuilder::new().security_scheme("oauth", oauth).build()))
            .build();
        assert_eq!(
            policy(&document),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
             connect-src 'self' https://pets.example https://tokens.example:8443; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
    }
}
