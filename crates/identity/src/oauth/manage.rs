//! Revocation (RFC 7009), introspection (RFC 7662) and registration (RFC 7591).

use std::net::IpAddr;

use axum::{Extension, extract::State, response::Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use secrecy::ExposeSecret;
use serde_json::json;
use subtle::ConstantTimeEq;
use web::{
    Body, Client as Peer, Form, Problem,
    input::{Fields, Input, rules},
};

use super::{
    AuthorizationServer,
    access::TokenError,
    authorize::address,
    client::{ClientError, NewClient},
    error::Refusal,
    request::Parameters,
    store,
    token::json_no_store,
};
use crate::{
    secret,
    throttle::{self, REGISTRATION},
};

pub(super) async fn revoke(
    State(server): State<AuthorizationServer>,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Result<StatusCode, Refusal> {
    let Form(pairs) = form.map_err(Refusal::Problem)?;
    let parameters = Parameters(pairs);
    let client = server.authenticate(&headers, &parameters).await?;
    let token = required_token(&parameters)?;
    let inner = &server.0;
    let now = inner.clock.now();
    match inner.verifier.check_now(token).await {
        Ok(claims) if claims.client == client.id => {
            let (id, expires_at) = (claims.id, claims.expires_at);
            inner.db.write(move |tx| store::revoke_token(tx, &id, expires_at, now)).await?;
            inner.verifier.forget(token);
        }
        Ok(_) | Err(TokenError::Invalid(_)) => {
            let hash = secret::hash(token);
            inner
                .db
                .write(move |tx| match store::refresh_token(tx, &hash)? {
                    Some((grant, owner, _)) if owner == client.id => store::revoke_grant(tx, grant, now),
                    _ => Ok::<_, db::Error>(()),
                })
                .await?;
        }
        Err(error) => return Err(failed(error)),
    }
    // A token that nobody knows is as good as revoked.
    Ok(StatusCode::OK)
}

pub(super) async fn introspect(
    State(server): State<AuthorizationServer>,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Result<Response, Refusal> {
    let Form(pairs) = form.map_err(Refusal::Problem)?;
    let parameters = Parameters(pairs);
    let client = server.authenticate(&headers, &parameters).await?;
    if !client.is_confidential() {
        return Err(Refusal::invalid_client("only a client with a secret may ask about tokens"));
    }
    let token = required_token(&parameters)?;
    let inner = &server.0;
    match inner.verifier.check_now(token).await {
        Ok(claims) => {
            return Ok(json_no_store(&json!({
                "active": true,
                "token_type": "Bearer",
                "iss": inner.settings.issuer,
                "sub": claims.subject,
                "client_id": claims.client,
                "scope": claims.scopes.join(" "),
                "exp": claims.expires_at.as_second(),
                "jti": claims.id,
            })));
        }
        Err(TokenError::Invalid(_)) => {}
        Err(error) => return Err(failed(error)),
    }
    let (hash, now) = (secret::hash(token), inner.clock.now());
    let grant = inner
        .db
        .read(move |tx| match store::live_refresh_token(tx, &hash, now)? {
            Some((grant, expires_at)) => {
                Ok(store::grant(tx, grant, now)?.map(|(grant, _)| (grant, expires_at)))
            }
            None => Ok::<_, db::Error>(None),
        })
        .await?;
    // Only its own client learns anything about a refresh token: nobody else has any use for one.
    Ok(json_no_store(&match grant.filter(|(grant, _)| grant.client == client.id) {
        Some((grant, expires_at)) => json!({
            "active": true,
            "iss": inner.settings.issuer,
            "sub": grant.account.map(|account| account.to_string()),
            "client_id": grant.client,
            "scope": grant.scopes.join(" "),
            "exp": expires_at.as_second(),
        }),
        None => json!({"active": false}),
    }))
}

/// What a program says about itself when it registers.
pub(super) struct Registration {
    new: NewClient,
    method: &'static str,
}

impl Input for Registration {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let methods: &[_] = &[
            ("none", "none"),
            ("client_secret_basic", "client_secret_basic"),
            ("client_secret_post", "client_secret_post"),
        ];
        let name = fields.optional("client_name", rules::text(1..=100));
        let redirect_uris = fields.optional("redirect_uris", rules::list(0..=10, rules::text(1..=2000)));
        let method = fields.optional("token_endpoint_auth_method", rules::one_of(methods));
        let scope = fields.optional("scope", rules::text(0..=1000));
        let method = method?.unwrap_or("client_secret_basic");
        let scopes = scope?.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect();
        let new = NewClient {
            name: name?.unwrap_or_else(|| "An application".into()),
            redirect_uris: redirect_uris?.unwrap_or_default(),
            scopes,
            confidential: method != "none",
        };
        Some(Registration { new, method })
    }
}

pub(super) async fn register(
    State(server): State<AuthorizationServer>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Result<Body<Registration>, Problem>,
) -> Result<Response, Refusal> {
    server.may_register(&headers)?;
    let Body(Registration { new, method }) = body.map_err(Refusal::Problem)?;
    if server.0.settings.demo {
        server.charge_registration(address(peer)).await?;
    }
    let (client, secret) = server.add_client(new).await.map_err(|error| match error {
        ClientError::Db(error) => error.into(),
        ClientError::Redirect(..) | ClientError::NoRedirect => {
            Refusal::new("invalid_redirect_uri", error.to_string())
        }
        error => Refusal::new("invalid_client_metadata", error.to_string()),
    })?;
    let mut answer = json!({
        "client_id": client.id,
        "client_id_issued_at": server.0.clock.now().as_second(),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "scope": client.scopes.join(" "),
        "token_endpoint_auth_method": method,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
    });
    if let Some(secret) = secret {
        answer["client_secret"] = secret.into();
        answer["client_secret_expires_at"] = 0.into();
        answer["grant_types"] = json!(["authorization_code", "refresh_token", "client_credentials"]);
    }
    let mut response = json_no_store(&answer);
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

impl AuthorizationServer {
    async fn charge_registration(&self, address: IpAddr) -> Result<(), Refusal> {
        self.0.throttle.charge_address(&REGISTRATION, address).await.map_err(|refusal| {
            Refusal::Problem(match refusal {
                throttle::Refusal::Db(error) => error.into(),
                throttle::Refusal::Wait(seconds) => Problem::new(
                    &web::problem::TOO_MANY_REQUESTS,
                    format!(
                        "Too many clients were registered from this address. Try again in {seconds} seconds."
                    ),
                )
                .retry_after(seconds),
            })
        })
    }

    /// Everybody in a demo; elsewhere who has the initial access token, if there is one.
    fn may_register(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let settings = &self.0.settings;
        if settings.demo {
            return Ok(());
        }
        let mut all = headers.get_all(header::AUTHORIZATION).iter();
        let sent = match (all.next().and_then(|value| value.to_str().ok()?.split_once(' ')), all.next()) {
            (Some((scheme, token)), None) if scheme.eq_ignore_ascii_case("Bearer") => Some(token.trim()),
            _ => None,
        };
        let right = match (&settings.registration_token, sent) {
            (Some(token), Some(sent)) => {
                bool::from(secret::hash(token.expose_secret()).ct_eq(&secret::hash(sent)))
            }
            _ => false,
        };
        if right {
            return Ok(());
        }
        let problem = Problem::new(
            &web::problem::UNAUTHORIZED,
            "Registering a client needs this server's initial access token, as a bearer token.",
        );
        let challenge = if sent.is_some() { "Bearer error=\"invalid_token\"" } else { "Bearer" };
        let challenge = HeaderValue::from_static(challenge);
        Err(Refusal::Problem(problem.with_header(header::WWW_AUTHENTICATE, challenge)))
    }
}

fn required_token<'a>(parameters: &'a Parameters<'_>) -> Result<&'a str, Refusal> {
    let token = parameters.get("token").map_err(Refusal::invalid_request)?;
    token.ok_or_else(|| Refusal::invalid_request("token is required"))
}

fn failed(error: TokenError) -> Refusal {
    Refusal::Problem(error.into_problem())
}
