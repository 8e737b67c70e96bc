//! The parts of the OpenAPI document that are not operations.

use utoipa::{
    OpenApi,
    openapi::security::{
        ApiKey, ApiKeyValue, AuthorizationCode, Flow, HttpAuthScheme, HttpBuilder, OAuth2, Scopes,
        SecurityScheme,
    },
};

use crate::service::{OAUTH, SCOPES};

/// The document without its operations, of a service at this address.
pub(crate) fn empty(address: &str) -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    let scopes = Scopes::from_iter(SCOPES.iter().map(|scope| (scope.name, scope.words)));
    let (authorize, token) = (format!("{address}/oauth/authorize"), format!("{address}/oauth/token"));
    let flow = AuthorizationCode::with_refresh_url(authorize, token.clone(), scopes, token);
    let key = ApiKeyValue::with_description(
        "api_key",
        "A key from `triptych key add petstore NAME`. The header `X-API-Key` does as well, since some proxies drop names with \
         an underscore.",
    );
    let session = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some(
            "A session from `/user/login`, as a bearer token; browsers may send it as its cookie.",
        ))
        .build();
    let components = document.components.get_or_insert_default();
    components
        .add_security_scheme(OAUTH, SecurityScheme::OAuth2(OAuth2::new([Flow::AuthorizationCode(flow)])));
    components.add_security_scheme("api_key", SecurityScheme::ApiKey(ApiKey::Header(key)));
    components.add_security_scheme("session", SecurityScheme::Http(session));
    document
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Pet store",
        version = "1.0.20-SNAPSHOT",
        description = "Pets, orders and users of an imaginary pet store.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    servers((url = "/v3", description = "This service")),
    tags(
        (name = "pet", description = "Pets in the store, and their images."),
        (name = "store", description = "What is in the store, and orders."),
        (name = "user", description = "Users, and logging in as one."),
    ),
)]
struct Document;
