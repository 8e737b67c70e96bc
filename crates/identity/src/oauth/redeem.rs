//! What the token endpoint gives out: for a code, for a refresh token, for a client's own credentials.
//!
//! The answer is signed before anything is used up. If it cannot be given, the client can try again with what it has.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use db::WriteTx;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;
use web::Problem;

use super::{
    AuthorizationServer, Inner, access,
    client::{Client, GrantType},
    error::Refusal,
    refresh::{self, Hashes, RefreshToken},
    store::{self, Code, Grant},
};
use crate::{
    secret,
    security::{Event, Origin, Outcome},
};

const REFRESH_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 30);
/// How long a grant lasts at the most, however often it is refreshed.
const GRANT_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 180);

#[derive(Serialize)]
pub(super) struct TokenAnswer {
    access_token: String,
    token_type: &'static str,
    expires_in: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    scope: String,
}

/// What became of a code or a refresh token. Not an error of the transaction: what was used up must stay so.
enum Taken {
    Good,
    Bad(&'static str),
    /// It was used before, and what it followed from is revoked.
    Reused(&'static str),
}

/// What comes with a code.
pub(super) struct ByCode<'a> {
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
        by: ByCode<'_>,
        origin: &Origin,
    ) -> Result<TokenAnswer, Refusal> {
        let inner = &self.0;
        let ByCode { code, redirect_uri, verifier, resource } = by;
        let (now, demo) = (inner.clock.now(), inner.settings.demo);
        let hash = secret::hash(code);
        let asked = hash.clone();
        let found = inner.db.snapshot(move |tx| match store::code(tx, &asked)? {
            Some(code) => {
                let grant = store::grant(tx, code.grant, now, demo)?;
                Ok::<_, db::Error>(Some((code, grant)))
            }
            None => Ok(None),
        });
        let Some((code, grant)) = found.await? else { return Err(Refusal::invalid_grant(UNKNOWN_CODE)) };
        if code.client != client.id {
            return Err(Refusal::invalid_grant("the code was given to another client"));
        }
        if code.redirect_named && redirect_uri.is_none() {
            return Err(Refusal::invalid_request("redirect_uri is required"));
        }
        let grant = grant.map(|(grant, _)| grant);
        if let (Some(resource), Some(grant)) = (resource, &grant) {
            is_for(grant, resource)?;
        }
        let fault = fault_of(&code, redirect_uri, verifier, now);
        let refresh = client.may(GrantType::RefreshToken).then(|| RefreshToken::first(&inner.chance));
        let answer = match (&grant, fault) {
            (Some(grant), None) => Some(inner.answer(grant, None, refresh.as_ref(), now).await?),
            _ => None,
        };
        let id = code.grant;
        let taken = inner
            .db
            .write(move |tx| {
                if !store::take_code(tx, &hash, now)? {
                    // The code was copied. Which of the two callers stole it is unknown, so both lose the grant.
                    store::revoke_grant(tx, id, now)?;
                    return Ok::<_, db::Error>(Taken::Reused("the code was used before"));
                }
                if let Some(fault) = fault {
                    return Ok(Taken::Bad(fault));
                }
                let lifetime = if refresh.is_some() { GRANT_LIFETIME } else { access::LIFETIME };
                store::extend_grant(tx, id, now + lifetime)?;
                let Some((_, ends_at)) = store::grant(tx, id, now, demo)? else {
                    return Ok(Taken::Bad(REVOKED));
                };
                if let Some(refresh) = &refresh {
                    refresh::insert(tx, refresh, id, ends_at.min(now + REFRESH_LIFETIME))?;
                }
                Ok(Taken::Good)
            })
            .await?;
        if let Taken::Reused(_) = taken {
            origin.log(Event::CodeReuse, Outcome::Revoked, code.account, Some(&client.id));
        }
        given(taken, answer)
    }

    pub(super) async fn refresh(
        &self,
        client: &Client,
        token: &str,
        scope: Option<&str>,
        resource: Option<&str>,
        origin: &Origin,
    ) -> Result<TokenAnswer, Refusal> {
        let inner = &self.0;
        let (now, demo) = (inner.clock.now(), inner.settings.demo);
        let wanted = scope.map(|scope| self.choose_scopes(Some(scope), &client.scopes)).transpose();
        let wanted = wanted.map_err(|why| Refusal::new("invalid_scope", why))?;
        let wanted =
            wanted.map(|scopes| scopes.iter().map(|scope| scope.name.to_owned()).collect::<Vec<_>>());
        let hashes = Hashes::of(token);
        let asked = hashes.clone();
        let found = inner.db.snapshot(move |tx| match refresh::family(tx, &asked)? {
            Some(family) => {
                let grant = store::grant(tx, family.grant, now, demo)?;
                Ok::<_, db::Error>(Some((family, grant)))
            }
            None => Ok(None),
        });
        let unknown = || Refusal::invalid_grant(UNKNOWN_TOKEN);
        let (family, grant) = found.await?.ok_or_else(unknown)?;
        if family.client != client.id {
            return Err(Refusal::invalid_grant("the refresh token was given to another client"));
        }
        let (grant, _) = grant.filter(|_| family.expires_at > now).ok_or_else(unknown)?;
        if wanted.iter().flatten().any(|scope| !grant.scopes.contains(scope)) {
            return Err(Refusal::new("invalid_scope", "the scope is more than was granted"));
        }
        if let Some(resource) = resource {
            is_for(&grant, resource)?;
        }
        let account = grant.account;
        let next = RefreshToken::after(token, &inner.chance);
        let answer = inner.answer(&grant, wanted.as_deref(), Some(&next), now).await?;
        let taken = inner
            .db
            .write(move |tx| {
                let Some((grant, ends_at)) = store::grant(tx, grant.id, now, demo)? else {
                    return Ok(Taken::Bad(UNKNOWN_TOKEN));
                };
                let expires_at = ends_at.min(now + REFRESH_LIFETIME);
                if refresh::replace(tx, &hashes, &next, grant.id, expires_at, now)? {
                    return Ok::<_, db::Error>(Taken::Good);
                }
                store::revoke_grant(tx, grant.id, now)?;
                Ok(Taken::Reused("the refresh token was used before"))
            })
            .await?;
        if let Taken::Reused(_) = taken {
            origin.log(Event::RefreshTokenReuse, Outcome::Revoked, account, Some(&client.id));
        }
        given(taken, Some(answer))
    }

    pub(super) async fn client_credentials(
        &self,
        client: &Client,
        scope: Option<&str>,
        resource: Option<&str>,
    ) -> Result<TokenAnswer, Refusal> {
        let inner = &self.0;
        let scopes =
            self.choose_scopes(scope, &client.scopes).map_err(|why| Refusal::new("invalid_scope", why))?;
        let audience = self.choose_audience(resource).map_err(|why| Refusal::new("invalid_target", why))?;
        let now = inner.clock.now();
        let scopes: Vec<_> = scopes.iter().map(|scope| scope.name.to_owned()).collect();
        // One grant for all that the client asks for itself: a token each must not be a row each.
        let (id, asked, of) = (client.id.clone(), scopes.clone(), audience.clone());
        let own = inner.db.read(move |tx| store::own_grant(tx, &id, &asked, &of, now)).await?;
        let id = own.unwrap_or_else(|| inner.chance.uuid(now));
        let grant = Grant { id, client: client.id.clone(), account: None, scopes, audience };
        let answer = inner.answer(&grant, None, None, now).await?;
        let ends_at = now + access::LIFETIME;
        let added = inner.db.write(move |tx| match own {
            Some(id) => store::extend_grant(tx, id, ends_at),
            None => store::insert_grant(tx, &grant, now, ends_at).map(|()| true),
        });
        if added.await? {
            return Ok(answer);
        }
        Err(Refusal::Problem(Problem::from(db::Error::Busy)))
    }

    /// An access token for an account without any of the steps before it, as `triptych token` prints it. It comes from
    /// the machine's own operator, who could read the database as well.
    pub async fn token_for(&self, account: Uuid, scope: Option<&str>) -> Result<String, String> {
        let inner = &self.0;
        let client = self.command_line_client().await.map_err(|error| error.to_string())?;
        let scopes = self.choose_scopes(scope, &client.scopes)?;
        let now = inner.clock.now();
        let grant = Grant {
            id: inner.chance.uuid(now),
            client: client.id.clone(),
            account: Some(account),
            scopes: scopes.iter().map(|scope| scope.name.to_owned()).collect(),
            audience: inner.settings.issuer.clone(),
        };
        let token = inner.signer.access_token(&grant, &grant.scopes.join(" "), now).await;
        let token = token.map_err(|error| error.to_string())?;
        let added = inner
            .db
            .write(move |tx: &mut WriteTx<'_>| store::insert_grant(tx, &grant, now, now + access::LIFETIME));
        added.await.map_err(|error: db::Error| error.to_string())?;
        Ok(token)
    }
}

impl Inner {
    /// What the client is told once what it presented is used up.
    async fn answer(
        &self,
        grant: &Grant,
        scopes: Option<&[String]>,
        refresh_token: Option<&RefreshToken>,
        now: Timestamp,
    ) -> Result<TokenAnswer, Refusal> {
        let scope = scopes.unwrap_or(&grant.scopes).join(" ");
        Ok(TokenAnswer {
            access_token: self.signer.access_token(grant, &scope, now).await?,
            token_type: "Bearer",
            expires_in: access::LIFETIME.as_secs(),
            refresh_token: refresh_token.map(|token| token.text.clone()),
            scope,
        })
    }
}

fn given(taken: Taken, answer: Option<TokenAnswer>) -> Result<TokenAnswer, Refusal> {
    match (taken, answer) {
        (Taken::Good, Some(answer)) => Ok(answer),
        (Taken::Bad(why) | Taken::Reused(why), _) => Err(Refusal::invalid_grant(why)),
        // A grant that could not be used a moment ago cannot become usable.
        (Taken::Good, None) => Err(Refusal::Problem(Problem::internal("a code was taken without an answer"))),
    }
}

/// Whether a grant is for the resource that its token is asked for (RFC 8707, 2.2).
fn is_for(grant: &Grant, resource: &str) -> Result<(), Refusal> {
    if grant.audience == resource {
        return Ok(());
    }
    Err(Refusal::new("invalid_target", "the resource is not what was granted"))
}

/// Why a code does not fit the request that it came with.
fn fault_of(code: &Code, redirect_uri: Option<&str>, verifier: &str, now: Timestamp) -> Option<&'static str> {
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
