//! The external issuer of a service's access tokens in the service's document.

use utoipa::openapi::{
    OpenApi, RefOr,
    security::{Flow, OpenIdConnect, SecurityScheme},
};

/// Where clients get the tokens of an external issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssuedBy {
    /// At these endpoints.
    Endpoints { authorization: String, token: String },
    /// At endpoints that are not known here, but described at this address.
    Discovery(String),
}

impl IssuedBy {
    /// Puts the issuer into a document, in place of the service's own endpoints in its OAuth scheme of this name.
    pub fn write(&self, document: &mut OpenApi, name: &str) {
        let Some(components) = &mut document.components else { return };
        let Some(RefOr::T(scheme)) = components.security_schemes.get_mut(name) else { return };
        match (self, scheme) {
            (IssuedBy::Endpoints { authorization, token }, SecurityScheme::OAuth2(scheme)) => {
                for flow in scheme.flows.values_mut() {
                    if let Flow::AuthorizationCode(flow) = flow {
                        flow.authorization_url.clone_from(authorization);
                        flow.token_url.clone_from(token);
                        flow.refresh_url = Some(token.clone());
                    }
                }
            }
            (IssuedBy::Discovery(address), scheme) => {
                *scheme = SecurityScheme::OpenIdConnect(OpenIdConnect::new(address));
            }
            _ => {}
        }
    }
}
