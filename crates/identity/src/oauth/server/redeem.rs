//! The grants of the token endpoint: authorization code, refresh token, client credentials.
//!
//! The access token is signed before the code or refresh token is used up. If signing fails, the client can retry.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use db::WriteTx;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;
use web::Problem;

use super::{
    client::{Client, GrantType},
    error::ErrorResponse,
    refresh::{self, Hashes, RefreshToken},
    state::{AuthorizationServer, Inner},
    store::{self, Code, Grant, ValidGrants},
};
use crate::{
    secret,
    security::{Event, Origin, Outcome},
};

/// Unless the controls set another.
const REFRESH_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 30);
/// The longest lifetime of a grant, however often it is refreshed.
const GRANT_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 180);

#[derive(Serialize)]
pub(super) struct TokenResponse {
    access_token: String,
    token_type: &'static str,
    expires_in: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    scope: String,
    /// The name of the user, for the service's own pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
}

/// The outcome of redeeming a code or a refresh token. None is an error of the transaction: what was used up stays used.
enum Redeemed {
    Ok,
    Invalid(&'static str),
    /// It was used before, and its grant is revoked.
    Reused(&'static str),
}

/// A code, and the parameters that come with it.
pub(super) struct CodeGrant<'a> {
    pub(super) code: &'a str,
    pub(super) redirect_uri: Option<&'a str>,
    pub(super) verifier: &'a str,
    pub(super) resource: Option<&'a str>,
}

const UNKNOWN_CODE: &str = "the code is unknown or has expired";
const UNKNOWN_TOKEN: &str = "the refresh token is unknown, expired or revoked";
const REVOKED: &str = "what this was granted by was revoked";

impl AuthorizationServer {
    pub(super) async fn redeem_code(
        &self,
        client: &Client,
        grant: CodeGrant<'_>,
        origin: &Origin,
    ) -> Result<TokenResponse, ErrorResponse> {
        let inner = &self.0;
        let CodeGrant { code, redirect_uri, verifier, resource } = grant;
        let (now, valid) = (inner.clock.now(), inner.valid_grants());
        let hash = secret::hash(code);
        let key = hash.clone();
        let found = inner.db.snapshot(move |tx| match store::code(tx, &key)? {
            Some(code) => {
                let grant = store::grant(tx, code.grant, now, valid)?;
                Ok::<_, db::Error>(Some((code, grant)))
            }
            None => Ok(None),
        });
        let Some((code, grant)) = found.await? else {
            return Err(ErrorResponse::invalid_grant(UNKNOWN_CODE));
        };
        if code.client != client.id {
            return Err(ErrorResponse::invalid_grant("the code was given to another client"));
        }
        if code.redirect_named && redirect_uri.is_none() {
            return Err(ErrorResponse::invalid_request("redirect_uri is required"));
        }
        let grant = grant.map(|(grant, _)| grant);
        if let (Some(resource), Some(grant)) = (resource, &grant) {
            check_resource(grant, resource)?;
        }
        let error = code_error(&code, redirect_uri, verifier, now);
        let refresh = client.may(GrantType::RefreshToken).then(|| RefreshToken::first(&inner.random));
        let lifetime = inner.signer.lifetime();
        let mut response = match (&grant, error) {
            (Some(grant), None) => Some(inner.response(grant, None, refresh.as_ref(), lifetime, now).await?),
            _ => None,
        };
        if let (true, Some(response), Some(account)) = (client.is_of_pages(), &mut response, code.account) {
            response.username = inner.accounts.name(account).await?;
        }
        let id = code.grant;
        let refresh_lifetime = inner.refresh_lifetime();
        let redeemed = inner
            .db
            .write(move |tx| {
                if !store::use_code(tx, &hash, now)? {
                    // The code was copied. Which of the two callers stole it is unknown, so both lose the grant.
                    store::revoke_grant(tx, id, now)?;
                    return Ok::<_, db::Error>(Redeemed::Reused("the code was used before"));
                }
                if let Some(error) = error {
                    return Ok(Redeemed::Invalid(error));
                }
                let lifetime = if refresh.is_some() { GRANT_LIFETIME } else { lifetime };
                store::extend_grant(tx, id, now + lifetime)?;
                let Some((_, ends_at)) = store::grant(tx, id, now, valid)? else {
                    return Ok(Redeemed::Invalid(REVOKED));
                };
                if let Some(refresh) = &refresh {
                    refresh::insert(tx, refresh, id, ends_at.min(now + refresh_lifetime))?;
                }
                Ok(Redeemed::Ok)
            })
            .await?;
        if let Redeemed::Reused(_) = redeemed {
            origin.log(Event::CodeReuse, Outcome::Revoked, code.account, Some(&client.id));
        }
        response_of(redeemed, response)
    }

    pub(super) async fn refresh(
        &self,
        client: &Client,
        token: &str,
        scope: Option<&str>,
        resource: Option<&str>,
        origin: &Origin,
    ) -> Result<TokenResponse, ErrorResponse> {
        let inner = &self.0;
        let (now, valid) = (inner.clock.now(), inner.valid_grants());
        let requested = scope.map(|scope| self.choose_scopes(Some(scope), &client.scopes)).transpose();
        let requested = requested.map_err(|why| ErrorResponse::new("invalid_scope", why))?;
        let requested =
            requested.map(|scopes| scopes.iter().map(|scope| scope.name.to_owned()).collect::<Vec<_>>());
        let hashes = Hashes::of(token);
        let key = hashes.clone();
        let found = inner.db.snapshot(move |tx| match refresh::family(tx, &key)? {
            Some(family) => {
                let grant = store::grant(tx, family.grant, now, valid)?;
                Ok::<_, db::Error>(Some((family, grant)))
            }
            None => Ok(None),
        });
        let unknown = || ErrorResponse::invalid_grant(UNKNOWN_TOKEN);
        let (family, grant) = found.await?.ok_or_else(unknown)?;
        if family.client != client.id {
            return Err(ErrorResponse::invalid_grant("the refresh token was given to another client"));
        }
        let (grant, _) = grant.filter(|_| family.expires_at > now).ok_or_else(unknown)?;
        if requested.iter().flatten().any(|scope| !grant.scopes.contains(scope)) {
            return Err(ErrorResponse::new("invalid_scope", "the scope is more than was granted"));
        }
        if let Some(resource) = resource {
            check_resource(&grant, resource)?;
        }
        let account = grant.account;
        let next = RefreshToken::after(token, &inner.random);
        let (lifetime, refresh_lifetime) = (inner.signer.lifetime(), inner.refresh_lifetime());
        let response = inner.response(&grant, requested.as_deref(), Some(&next), lifetime, now).await?;
        let redeemed = inner
            .db
            .write(move |tx| {
                let Some((grant, ends_at)) = store::grant(tx, grant.id, now, valid)? else {
                    return Ok(Redeemed::Invalid(UNKNOWN_TOKEN));
                };
                let expires_at = ends_at.min(now + refresh_lifetime);
                if refresh::replace(tx, &hashes, &next, grant.id, expires_at, now)? {
                    return Ok::<_, db::Error>(Redeemed::Ok);
                }
                store::revoke_grant(tx, grant.id, now)?;
                Ok(Redeemed::Reused("the refresh token was used before"))
            })
            .await?;
        if let Redeemed::Reused(_) = redeemed {
            origin.log(Event::RefreshTokenReuse, Outcome::Revoked, account, Some(&client.id));
        }
        response_of(redeemed, Some(response))
    }

    pub(super) async fn client_credentials(
        &self,
        client: &Client,
        scope: Option<&str>,
        resource: Option<&str>,
    ) -> Result<TokenResponse, ErrorResponse> {
        let inner = &self.0;
        let scopes = self
            .choose_scopes(scope, &client.scopes)
            .map_err(|why| ErrorResponse::new("invalid_scope", why))?;
        let audience =
            self.choose_audience(resource).map_err(|why| ErrorResponse::new("invalid_target", why))?;
        let now = inner.clock.now();
        let scopes: Vec<_> = scopes.iter().map(|scope| scope.name.to_owned()).collect();
        // One grant for all tokens of the client with these scopes: a token must not cost a row.
        let (id, asked, of) = (client.id.clone(), scopes.clone(), audience.clone());
        let own = inner.db.read(move |tx| store::own_grant(tx, &id, &asked, &of, now)).await?;
        let id = own.unwrap_or_else(|| inner.random.uuid(now));
        let grant = Grant { id, client: client.id.clone(), account: None, scopes, audience };
        let lifetime = inner.signer.lifetime();
        let response = inner.response(&grant, None, None, lifetime, now).await?;
        let ends_at = now + lifetime;
        let added = inner.db.write(move |tx| match own {
            Some(id) => store::extend_grant(tx, id, ends_at),
            None => store::insert_grant(tx, &grant, now, ends_at).map(|()| true),
        });
        if added.await? {
            return Ok(response);
        }
        Err(ErrorResponse::Problem(Problem::from(db::Error::Busy)))
    }

    /// An access token for an account, without its consent, as `triptych token` prints it: the operator can read the database
    /// too.
    pub async fn token_for(&self, account: Uuid, scope: Option<&str>) -> Result<String, String> {
        let inner = &self.0;
        let client = self.command_line_client().await.map_err(|error| error.to_string())?;
        let scopes = self.choose_scopes(scope, &client.scopes)?;
        let now = inner.clock.now();
        let grant = Grant {
            id: inner.random.uuid(now),
            client: client.id.clone(),
            account: Some(account),
            scopes: scopes.iter().map(|scope| scope.name.to_owned()).collect(),
            audience: inner.settings.issuer.clone(),
        };
        let lifetime = inner.signer.lifetime();
        let token = inner.signer.access_token(&grant, &grant.scopes.join(" "), lifetime, now).await;
        let token = token.map_err(|error| error.to_string())?;
        let added =
            inner.db.write(move |tx: &mut WriteTx<'_>| store::insert_grant(tx, &grant, now, now + lifetime));
        added.await.map_err(|error: db::Error| error.to_string())?;
        Ok(token)
    }
}

impl Inner {
    /// Which grants codes and refresh tokens are valid for now.
    pub(super) fn valid_grants(&self) -> ValidGrants {
        ValidGrants { demo: self.settings.demo, not_before: self.signer.controls.get().tokens_not_before }
    }

    fn refresh_lifetime(&self) -> SignedDuration {
        self.signer.controls.get().refresh_token_lifetime().unwrap_or(REFRESH_LIFETIME)
    }

    /// The response to the client once its code or refresh token is used up.
    async fn response(
        &self,
        grant: &Grant,
        scopes: Option<&[String]>,
        refresh_token: Option<&RefreshToken>,
        lifetime: SignedDuration,
        now: Timestamp,
    ) -> Result<TokenResponse, ErrorResponse> {
        let scope = scopes.unwrap_or(&grant.scopes).join(" ");
        Ok(TokenResponse {
            access_token: self.signer.access_token(grant, &scope, lifetime, now).await?,
            token_type: "Bearer",
            expires_in: lifetime.as_secs(),
            refresh_token: refresh_token.map(|token| token.text.clone()),
            scope,
            username: None,
        })
    }
}

fn response_of(redeemed: Redeemed, response: Option<TokenResponse>) -> Result<TokenResponse, ErrorResponse> {
    match (redeemed, response) {
        (Redeemed::Ok, Some(response)) => Ok(response),
        (Redeemed::Invalid(why) | Redeemed::Reused(why), _) => Err(ErrorResponse::invalid_grant(why)),
        // A grant that could not be used a moment ago cannot become usable.
        (Redeemed::Ok, None) => {
            Err(ErrorResponse::Problem(Problem::internal("a code was taken without an answer")))
        }
    }
}

/// Whether a grant is for the requested resource (RFC 8707, 2.2).
fn check_resource(grant: &Grant, resource: &str) -> Result<(), ErrorResponse> {
    if grant.audience == resource {
        return Ok(());
    }
    Err(ErrorResponse::new("invalid_target", "the resource is not what was granted"))
}

/// Why a code cannot be redeemed by the request that it came with.
fn code_error(
    code: &Code,
    redirect_uri: Option<&str>,
    verifier: &str,
    now: Timestamp,
) -> Option<&'static str> {
    if code.expires_at <= now {
        return Some(UNKNOWN_CODE);
    }
    if redirect_uri.is_some_and(|address| address != code.redirect_uri) {
        return Some("redirect_uri differs from the one in the authorization request");
    }
    let proof = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
    let proven = is_verifier(verifier) && bool::from(code.challenge.as_bytes().ct_eq(proof.as_bytes()));
    (!proven).then_some("code_verifier does not match code_challenge")
}

/// RFC 7636, 4.1.
fn is_verifier(text: &str) -> bool {
    (43..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
}
