//! `/oauth/token`: authenticates the client, and reads what it asks for.

use axum::{extract::State, response::Response};
use db::Word;
use http::HeaderMap;
use subtle::ConstantTimeEq;
use web::{Form, Problem};

use super::{
    client::{Client, GrantType},
    error::ErrorResponse,
    redeem::CodeGrant,
    request::Parameters,
    response::json_no_store,
    state::AuthorizationServer,
};
use crate::{
    authorization, secret,
    security::{Event, Origin, Outcome},
};

pub(super) async fn redeem(
    State(server): State<AuthorizationServer>,
    origin: Origin,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Result<Response, ErrorResponse> {
    let parameters = Parameters::of_form(form)?;
    let get = |name| parameters.get(name).map_err(ErrorResponse::invalid_request);
    let required =
        |name| get(name)?.ok_or_else(|| ErrorResponse::invalid_request(format!("{name} is required")));
    let grant_type = required("grant_type")?;
    let client = server.authenticate(&headers, &parameters, &origin).await?;
    let grant_type = GrantType::from_word(grant_type).ok_or_else(|| {
        ErrorResponse::new(
            "unsupported_grant_type",
            "grant_type must be authorization_code, refresh_token or client_credentials",
        )
    })?;
    if !client.may(grant_type) {
        let why = format!("the client is not registered for {}", grant_type.word());
        return Err(ErrorResponse::new("unauthorized_client", why));
    }
    let resource = parameters.resource().map_err(|why| ErrorResponse::new("invalid_target", why))?;
    let response = match grant_type {
        GrantType::AuthorizationCode => {
            let (code, verifier) = (required("code")?, required("code_verifier")?);
            let grant = CodeGrant { code, redirect_uri: get("redirect_uri")?, verifier, resource };
            server.redeem_code(&client, grant, &origin).await?
        }
        GrantType::RefreshToken => {
            let token = required("refresh_token")?;
            server.refresh(&client, token, get("scope")?, resource, &origin).await?
        }
        GrantType::ClientCredentials => server.client_credentials(&client, get("scope")?, resource).await?,
    };
    Ok(json_no_store(&response))
}

impl AuthorizationServer {
    /// Authenticates the client: by HTTP Basic, by parameters, or, if it is public, by its id alone.
    pub(super) async fn authenticate(
        &self,
        headers: &HeaderMap,
        parameters: &Parameters<'_>,
        origin: &Origin,
    ) -> Result<Client, ErrorResponse> {
        let get = |name| parameters.get(name).map_err(ErrorResponse::invalid_request);
        let (id, secret) = (get("client_id")?, get("client_secret")?);
        let (id, secret) = match basic(headers)? {
            Some(_) if secret.is_some() => {
                return Err(ErrorResponse::invalid_request("the client authenticates in more than one way"));
            }
            Some((basic, _)) if id.is_some_and(|id| id != basic) => {
                return Err(ErrorResponse::invalid_request(
                    "client_id differs from the one in the Authorization header",
                ));
            }
            Some((id, secret)) => (id, Some(secret)),
            None => {
                let id =
                    id.ok_or_else(|| ErrorResponse::invalid_client("the client does not say who it is"))?;
                (id.to_owned(), secret.map(str::to_owned))
            }
        };
        // A public client may send an empty secret (RFC 6749, 2.3.1).
        let secret = secret.filter(|secret| !secret.is_empty());
        // An unknown id is not logged: it may be a secret in the wrong parameter.
        let wrong = |known: Option<&str>| {
            origin.log(Event::ClientAuthentication, Outcome::Wrong, None, known);
            ErrorResponse::invalid_client("the client is unknown, or its secret is wrong")
        };
        let client = self.client(&id).await.map_err(ErrorResponse::Problem)?.ok_or_else(|| wrong(None))?;
        let right = match (&client.secret_hash, secret) {
            (Some(stored), Some(secret)) => bool::from(stored.ct_eq(&secret::hash(&secret))),
            (None, None) => true,
            _ => false,
        };
        if right { Ok(client) } else { Err(wrong(Some(&client.id))) }
    }
}

/// The id and the secret of a client in the Authorization header, each form-encoded (RFC 6749, 2.3.1).
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, ErrorResponse> {
    let malformed = || ErrorResponse::invalid_client("the Authorization header is not HTTP Basic");
    let Some((id, secret)) = authorization::basic(headers).map_err(|_| malformed())? else { return Ok(None) };
    let decode =
        |text: &str| web::input::form_decode(text).map(|text| text.into_owned()).map_err(|_| malformed());
    Ok(Some((decode(&id)?, decode(&secret)?)))
}
