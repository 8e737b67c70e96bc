//! What the OpenAPI document says beside the operations.

use utoipa::{
    OpenApi,
    openapi::security::{AuthorizationCode, Flow, OAuth2, Scopes, SecurityScheme},
};

use crate::SCOPES;

/// The document without its operations, of a service at this address.
pub(crate) fn empty(address: &str) -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    let scopes = Scopes::from_iter(SCOPES.iter().map(|scope| (scope.name, scope.words)));
    let (authorize, token) = (format!("{address}/oauth/authorize"), format!("{address}/oauth/token"));
    let flow = AuthorizationCode::with_refresh_url(authorize, token.clone(), scopes, token);
    let scheme = SecurityScheme::OAuth2(OAuth2::new([Flow::AuthorizationCode(flow)]));
    document.components.get_or_insert_default().add_security_scheme("OAuth2", scheme);
    document
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Train travel",
        version = "1.0.0",
        description = "Stations, trips, bookings and payments of imaginary trains between real stations in Europe.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    servers((url = "/", description = "This service")),
    tags(
        (name = "Stations", description = "Where trains start from and go to."),
        (name = "Trips", description = "Trains on a day, with what is left of their seats."),
        (name = "Bookings", description = "Seats that are held, and confirmed once they are paid for."),
        (name = "Payments", description = "Paying for a booking by card or from a bank account."),
    ),
)]
struct Document;
