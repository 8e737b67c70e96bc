//! Introspection (RFC 7662) and revocation (RFC 7009).

use axum::{extract::State, response::Response};
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;
use web::{Form, Problem};

use super::{
    error::ErrorResponse,
    refresh::{self, Hashes},
    request::Parameters,
    response::json_no_store,
    state::AuthorizationServer,
    store,
};
use crate::{
    oauth::claims::TokenError,
    security::{Event, Origin, Outcome},
};

pub(super) async fn revoke(
    State(server): State<AuthorizationServer>,
    origin: Origin,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Result<StatusCode, ErrorResponse> {
    let parameters = Parameters::of_form(form)?;
    let client = server.authenticate(&headers, &parameters, &origin).await?;
    let token = required_token(&parameters)?;
    let log = |outcome, account| origin.log(Event::TokenRevocation, outcome, account, Some(&client.id));
    match server.revoke_if_own(&client.id, token).await? {
        Revoked::Own(account) => log(Outcome::Ok, account),
        // RFC 7009, 2.1: the token of another client is an error; RFC 6749, 5.2 has its code.
        Revoked::Other(account) => {
            log(Outcome::Refused, account);
            return Err(ErrorResponse::invalid_grant("the token was given to another client"));
        }
        // RFC 7009, 2.2: an invalid token is no error.
        Revoked::Unknown => {}
    }
    Ok(StatusCode::OK)
}

/// Whether the token was issued to this client, and for which account.
enum Revoked {
    Own(Option<Uuid>),
    Other(Option<Uuid>),
    Unknown,
}

impl AuthorizationServer {
    /// Revokes an access token of this client, or, by a refresh token, its whole grant.
    async fn revoke_if_own(&self, client: &str, token: &str) -> Result<Revoked, ErrorResponse> {
        let inner = &self.0;
        let now = inner.clock.now();
        match inner.verifier.check_now(token).await {
            Ok(claims) if claims.client == client => {
                let account = claims.account();
                let (id, expires_at) = (claims.id, claims.expires_at);
                inner.db.write(move |tx| store::revoke_token(tx, &id, expires_at, now)).await?;
                inner.verifier.forget(token);
                return Ok(Revoked::Own(account));
            }
            Ok(claims) => return Ok(Revoked::Other(claims.account())),
            Err(TokenError::Invalid(_)) => {}
            Err(error) => return Err(failed(error)),
        }
        let (hashes, client) = (Hashes::of(token), client.to_owned());
        let revoked = inner.db.write(move |tx| match refresh::family(tx, &hashes)? {
            Some(family) if family.client == client => {
                store::revoke_grant(tx, family.grant, now)?;
                Ok::<_, db::Error>(Revoked::Own(family.account))
            }
            Some(family) => Ok(Revoked::Other(family.account)),
            None => Ok(Revoked::Unknown),
        });
        Ok(revoked.await?)
    }
}

pub(super) async fn introspect(
    State(server): State<AuthorizationServer>,
    origin: Origin,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Result<Response, ErrorResponse> {
    let parameters = Parameters::of_form(form)?;
    let client = server.authenticate(&headers, &parameters, &origin).await?;
    if !client.is_confidential() {
        return Err(ErrorResponse::invalid_client("only a client with a secret may ask about tokens"));
    }
    let token = required_token(&parameters)?;
    let inner = &server.0;
    match inner.verifier.check_now(token).await {
        Ok(claims) => {
            // A client may introspect its own tokens, and those for the resource that it serves.
            let serves = client.resource.as_ref().is_some_and(|resource| claims.audience.contains(resource));
            if claims.client != client.id && !serves {
                return Ok(json_no_store(&json!({"active": false})));
            }
            let audience = match claims.audience.as_slice() {
                [one] => json!(one),
                many => json!(many),
            };
            return Ok(json_no_store(&json!({
                "active": true,
                "token_type": "Bearer",
                "iss": inner.settings.issuer,
                "aud": audience,
                "sub": claims.subject,
                "client_id": claims.client,
                "scope": claims.scopes.join(" "),
                "iat": claims.issued_at.map(Timestamp::as_second),
                "exp": claims.expires_at.as_second(),
                "jti": claims.id,
            })));
        }
        Err(TokenError::Invalid(_)) => {}
        Err(error) => return Err(failed(error)),
    }
    let (hashes, now, valid) = (Hashes::of(token), inner.clock.now(), inner.valid_grants());
    let found = inner
        .db
        .snapshot(move |tx| {
            let Some(family) = refresh::family(tx, &hashes)? else { return Ok(None) };
            if family.expires_at <= now || !refresh::is_newest(tx, &hashes)? {
                return Ok(None);
            }
            let grant = store::grant(tx, family.grant, now, valid)?;
            Ok::<_, db::Error>(grant.map(|(grant, _)| (grant, family)))
        })
        .await?;
    // Only its own client may introspect a refresh token: only that client can use it.
    Ok(json_no_store(&match found.filter(|(grant, _)| grant.client == client.id) {
        Some((grant, family)) => json!({
            "active": true,
            "iss": inner.settings.issuer,
            "aud": grant.audience,
            "sub": grant.account.map(|account| account.to_string()),
            "client_id": grant.client,
            "scope": grant.scopes.join(" "),
            "iat": family.granted_at.as_second(),
            "exp": family.expires_at.as_second(),
        }),
        None => json!({"active": false}),
    }))
}

fn required_token<'a>(parameters: &'a Parameters<'_>) -> Result<&'a str, ErrorResponse> {
    let token = parameters.get("token").map_err(ErrorResponse::invalid_request)?;
    token.ok_or_else(|| ErrorResponse::invalid_request("token is required"))
}

fn failed(error: TokenError) -> ErrorResponse {
    ErrorResponse::Problem(error.into_problem())
}
