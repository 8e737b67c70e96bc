//! The documentation page: Scalar's API reference, from files that are part of the program.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
    sync::Arc,
};

use askama::Template;
use axum::{
    Router,
    http::HeaderMap,
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::{HeaderValue, Uri, header};
use serde_json::{Value, json};
use utoipa::openapi::{
    OpenApi, RefOr,
    security::{Flow, HttpAuthScheme, SecurityScheme},
};

use crate::{
    page::{Frame, Site, TOKENS, add_document_headers, sandbox_of},
    problem::{Problem, Result},
};

/// The reference, compressed. Its version is in its address, so that browsers keep it.
const REFERENCE: &[u8] = include_bytes!("../assets/docs/scalar.js.gz");
const REFERENCE_NAME: &str = "scalar-1.50.0.js";

/// How the documentation page signs in, as far as that is publicly known, and what it sends before an operation.
#[derive(Debug, Clone, Default)]
pub struct DocumentationSetup {
    /// The OAuth client of the page, and the scopes that are selected.
    pub client: Option<&'static str>,
    pub scopes: Vec<String>,
    /// The API key of a demo.
    pub api_key: Option<&'static str>,
    /// The user of a demo, with the password.
    pub user: Option<(&'static str, &'static str)>,
    /// The path whose answer is the token of a session, and the security scheme of sessions.
    pub session: Option<(&'static str, &'static str)>,
    /// In a demo: operations that the page sends before another one, whose id only their answers have. Without an entry it is the
    /// operation that adds to the collection: `POST /bookings` for `/bookings/{bookingId}`. Outside of a demo the page sends
    /// nothing that the visitor did not ask for.
    pub chains: Option<Chains>,
}

/// Operations, each with those before it.
type Chains = &'static [(&'static str, &'static [&'static str])];

#[derive(Template)]
#[template(path = "docs.html")]
struct DocumentationPage<'a> {
    frame: Frame<'a>,
    title: &'static str,
    sandbox: Option<&'a str>,
    configuration: &'a str,
    script: &'static str,
}

#[derive(Template)]
#[template(path = "docs_signed_in.html")]
struct SignedInPage<'a> {
    frame: Frame<'a>,
}

/// The routes of the page of an instance.
pub(crate) fn documentation(openapi: &OpenApi, sign_in: &DocumentationSetup, site: Arc<Site>) -> Router {
    let configuration = configuration(openapi, sign_in, &site).to_string();
    let policy =
        HeaderValue::try_from(policy(openapi)).unwrap_or(HeaderValue::from_static("default-src 'self'"));
    let back = site.clone();
    let to_folder = format!("{}/docs/", site.path);
    let style = format!("{TOKENS}{}", include_str!("../assets/docs/docs.css"));
    Router::new()
        .route("/docs", get(async move || Redirect::to(&to_folder)))
        .route("/docs/", get(async move || page(&site, &configuration, policy)))
        .route("/docs/signed-in", get(async move || signed_in(&back)))
        .route("/docs/docs.css", get(async || ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], style)))
        .route("/docs/start.js", get(async || (SCRIPT, include_str!("../assets/docs/start.js"))))
        .route(&format!("/docs/{REFERENCE_NAME}"), get(reference))
}

const SCRIPT: [(header::HeaderName, &str); 1] = [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")];

fn page(site: &Site, configuration: &str, policy: HeaderValue) -> Result<Response> {
    let frame = Frame { service: site.service, path: &site.path };
    let sandbox = sandbox_of(&site.path);
    let page = DocumentationPage { frame, title: site.title, sandbox, configuration, script: REFERENCE_NAME };
    let mut response = page.render().map_err(Problem::internal)?.into_response();
    add_document_headers(response.headers_mut());
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// The page to which the sign-in of the reference leads back, in a window of its own: the reference reads its address.
fn signed_in(site: &Site) -> Result<Response> {
    let page = SignedInPage { frame: Frame { service: site.service, path: &site.path } };
    let mut response = page.render().map_err(Problem::internal)?.into_response();
    add_document_headers(response.headers_mut());
    Ok(response)
}

async fn reference(headers: HeaderMap) -> Result<Response> {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let accepts_gzip =
        accepted.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(is_gzip);
    let mut response = if accepts_gzip {
        ([(header::CONTENT_ENCODING, "gzip")], Bytes::from_static(REFERENCE)).into_response()
    } else {
        let mut script = Vec::new();
        GzDecoder::new(REFERENCE).read_to_end(&mut script).map_err(Problem::internal)?;
        script.into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(SCRIPT[0].1));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    Ok(response)
}

/// Whether an accepted coding is gzip, and not with the quality 0.
fn is_gzip(coding: &str) -> bool {
    let (name, quality) = coding.split_once(';').unwrap_or((coding, "q=1"));
    let quality = quality.trim().strip_prefix("q=").and_then(|quality| quality.parse::<f32>().ok());
    name.trim() == "gzip" && quality != Some(0.0)
}

/// What the reference is started with, and the credentials that it fills in.
fn configuration(openapi: &OpenApi, sign_in: &DocumentationSetup, site: &Site) -> Value {
    let schemes = openapi.components.iter().flat_map(|components| &components.security_schemes);
    let mut flows = serde_json::Map::new();
    let mut secrets = Vec::new();
    let mut preferred = None;
    for (name, scheme) in schemes {
        let RefOr::T(scheme) = scheme else { continue };
        match scheme {
            SecurityScheme::OAuth2(_) => {
                preferred = Some(name);
                flows.extend(oauth(sign_in, site).map(|flow| (name.clone(), flow)));
            }
            SecurityScheme::ApiKey(_) => {
                let secret = |key| json!({"scheme": name, "type": "apiKey", "token": key});
                secrets.extend(sign_in.api_key.map(secret));
            }
            SecurityScheme::Http(http) if http.scheme == HttpAuthScheme::Basic => {
                preferred = Some(name);
                let secret = |(user, password)| json!({"scheme": name, "type": "http", "username": user, "password": password});
                secrets.extend(sign_in.user.map(secret));
            }
            _ => {}
        }
    }
    json!({
        "url": format!("{}/openapi.json", site.path),
        "authentication": {"preferredSecurityScheme": preferred, "securitySchemes": flows},
        "secrets": secrets,
        "session": sign_in.session.map(|(path, scheme)| json!({"path": path, "scheme": scheme})),
        "chains": sign_in.chains.map(|chains| chains.iter().copied().collect::<BTreeMap<_, _>>()),
    })
}

fn oauth(sign_in: &DocumentationSetup, site: &Site) -> Option<Value> {
    let flow = json!({
        "x-scalar-client-id": sign_in.client?,
        "x-scalar-redirect-uri": format!("{}/docs/signed-in", site.address),
        "x-scalar-credentials-location": "body",
        "x-usePkce": "SHA-256",
        "selectedScopes": sign_in.scopes,
    });
    Some(json!({"flows": {"authorizationCode": flow}}))
}

/// Scripts from this service only. The page calls this service, and where the document says that the API or its tokens are. The
/// reference adds styles to the page. Images may also be part of a style sheet (`data:`) or an answer that is shown (`blob:`).
fn policy(openapi: &OpenApi) -> String {
    let mut policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
                      font-src 'self' data:; connect-src 'self'"
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
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
             font-src 'self' data:; connect-src 'self' https://pets.example https://tokens.example:8443; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        );
    }
}
