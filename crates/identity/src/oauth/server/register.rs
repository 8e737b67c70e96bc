//! `/oauth/register`: dynamic client registration (RFC 7591).

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode};
use secrecy::ExposeSecret;
use serde_json::json;
use subtle::ConstantTimeEq;
use web::{
    Body, Problem,
    input::{Fields, Input, rules},
};

use super::{
    client::{AuthMethod, ClientError, GrantType, NewClient},
    error::ErrorResponse,
    response::json_no_store,
    state::AuthorizationServer,
};
use crate::{
    authorization, secret,
    security::{Event, Origin, Outcome},
    throttle::{REGISTRATION, ThrottleError},
};

/// The metadata of a client that registers itself.
pub(super) struct Registration {
    new: NewClient,
    method: AuthMethod,
    grant_types: Vec<GrantType>,
}

impl Input for Registration {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.optional("client_name", rules::text(1..=100));
        let redirect_uris = fields.optional("redirect_uris", rules::list(0..=10, rules::text(1..=2000)));
        let method = fields.optional("token_endpoint_auth_method", rules::word::<AuthMethod>());
        let scope = fields.optional("scope", rules::text(0..=1000));
        let grant_types = fields.optional("grant_types", rules::list(1..=3, rules::word::<GrantType>()));
        let response_types =
            fields.optional("response_types", rules::list(0..=1, rules::one_of(&[("code", ())])));
        let method = method?.unwrap_or(AuthMethod::ClientSecretBasic);
        // The default of RFC 7591, 2.
        let grant_types = grant_types?.unwrap_or_else(|| vec![GrantType::AuthorizationCode]);
        let has = |grant_type| grant_types.contains(&grant_type);
        if has(GrantType::RefreshToken) && !has(GrantType::AuthorizationCode) {
            return fields.fail("grant_types", "must have authorization_code if they have refresh_token");
        }
        if has(GrantType::ClientCredentials) && method == AuthMethod::None {
            return fields.fail("grant_types", "must not have client_credentials without a secret");
        }
        if response_types?.is_some_and(|types| types.is_empty() == has(GrantType::AuthorizationCode)) {
            return fields
                .fail("response_types", "must be code with authorization_code, and nothing without");
        }
        let new = NewClient {
            name: name?.unwrap_or_else(|| "An application".into()),
            redirect_uris: redirect_uris?.unwrap_or_default(),
            scopes: scope?.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect(),
            confidential: method != AuthMethod::None,
        };
        Some(Registration { new, method, grant_types })
    }
}

pub(super) async fn register(
    State(server): State<AuthorizationServer>,
    origin: Origin,
    headers: HeaderMap,
    body: Result<Body<Registration>, Problem>,
) -> Result<Response, ErrorResponse> {
    let openly = server.registers_openly(&headers).inspect_err(|_| {
        origin.log(Event::ClientRegistration, Outcome::Refused, None, None);
    })?;
    let Body(Registration { new, method, grant_types }) = body.map_err(body_error)?;
    if openly {
        server.charge_registration(&origin).await?;
    }
    let added = server.add_client_for(grant_types, None, openly, new).await;
    let (client, secret) = added.map_err(|error| match error {
        ClientError::Db(error) => error.into(),
        ClientError::Redirect(..) | ClientError::NoRedirect => {
            ErrorResponse::new("invalid_redirect_uri", error.to_string())
        }
        error => ErrorResponse::new("invalid_client_metadata", error.to_string()),
    })?;
    origin.log(Event::ClientRegistration, Outcome::Ok, None, Some(&client.id));
    let response_types: &[_] = if client.may(GrantType::AuthorizationCode) { &["code"] } else { &[] };
    let mut response = json!({
        "client_id": client.id,
        "client_id_issued_at": server.0.clock.now().as_second(),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "scope": client.scopes.join(" "),
        "token_endpoint_auth_method": method,
        "grant_types": client.grant_types,
        "response_types": response_types,
    });
    if let Some(secret) = secret {
        response["client_secret"] = secret.into();
        response["client_secret_expires_at"] = 0.into();
    }
    let mut response = json_no_store(&response);
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// The error of an invalid body: `invalid_redirect_uri` if only the redirect addresses are invalid.
fn body_error(problem: Problem) -> ErrorResponse {
    let errors = problem.errors();
    let addresses = errors.iter().all(|error| error.pointer.starts_with("#/redirect_uris"));
    let error =
        if addresses && !errors.is_empty() { "invalid_redirect_uri" } else { "invalid_client_metadata" };
    ErrorResponse::of_body(problem, error)
}

impl AuthorizationServer {
    async fn charge_registration(&self, origin: &Origin) -> Result<(), ErrorResponse> {
        let charged = self.0.throttle.charge_address(&REGISTRATION, origin.address()).await;
        charged.map_err(|error| match error {
            ThrottleError::Db(error) => error.into(),
            ThrottleError::Wait(seconds) => {
                origin.log(Event::ClientRegistration, Outcome::Throttled, None, None);
                ErrorResponse::OAuth {
                    status: StatusCode::TOO_MANY_REQUESTS,
                    error: "temporarily_unavailable",
                    description: format!(
                        "too many clients were registered from this address; try again in {seconds} seconds"
                    )
                    .into(),
                    challenge: None,
                    retry_after: Some(seconds),
                }
            }
        })
    }

    /// Whether the client registers without the initial access token, which is allowed in a demo only.
    fn registers_openly(&self, headers: &HeaderMap) -> Result<bool, ErrorResponse> {
        let settings = &self.0.settings;
        let sent = authorization::bearer(headers).ok().flatten();
        let right = match (&settings.registration_token, sent) {
            (Some(token), Some(sent)) => {
                bool::from(secret::hash(token.expose_secret()).ct_eq(&secret::hash(sent)))
            }
            _ => false,
        };
        if right || settings.demo {
            return Ok(!right);
        }
        Err(ErrorResponse::OAuth {
            status: StatusCode::UNAUTHORIZED,
            error: "invalid_token",
            description: "registering a client needs this server's initial access token, as a bearer token"
                .into(),
            challenge: Some(if sent.is_some() { "Bearer error=\"invalid_token\"" } else { "Bearer" }),
            retry_after: None,
        })
    }
}
