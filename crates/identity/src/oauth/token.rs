//! `/oauth/token`: codes, refresh tokens and clients' own credentials become access tokens.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use db::WriteTx;
use http::{HeaderMap, HeaderValue, header};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;
use web::{Form, Problem};

use super::{
    AuthorizationServer, Inner,
    access::{self, NewToken},
    client::Client,
    error::Refusal,
    request::Parameters,
    store::{self, Grant},
};
use crate::secret;

pub(super) const CODE_LIFETIME: SignedDuration = SignedDuration::from_secs(60);
const REFRESH_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 30);
/// How long a grant lasts at the most, however often it is refreshed.
const GRANT_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 180);

#[derive(Serialize)]
struct TokenAnswer {
    access_token: String,
    token_type: &'static str,
    expires_in: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    scope: String,
}

pub(super) async fn redeem(
    State(server): State<AuthorizationServer>,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Result<Response, Refusal> {
    let Form(pairs) = form.map_err(Refusal::Problem)?;
    let parameters = Parameters(pairs);
    let get = |name| parameters.get(name).map_err(Refusal::invalid_request);
    let grant_type = get("grant_type")?.ok_or_else(|| Refusal::invalid_request("grant_type is required"))?;
    let client = server.authenticate(&headers, &parameters).await?;
    let answer = match grant_type {
        "authorization_code" => {
            let required =
                |name| get(name)?.ok_or_else(|| Refusal::invalid_request(format!("{name} is required")));
            let (code, redirect_uri) = (required("code")?, required("redirect_uri")?);
            let verifier = required("code_verifier")?;
            server.redeem_code(&client, code, redirect_uri, verifier, get("resource")?).await?
        }
        "refresh_token" => {
            let token =
                get("refresh_token")?.ok_or_else(|| Refusal::invalid_request("refresh_token is required"))?;
            server.refresh(&client, token, get("scope")?, get("resource")?).await?
        }
        "client_credentials" => server.client_credentials(&client, get("scope")?, get("resource")?).await?,
        _ => {
            return Err(Refusal::new(
                "unsupported_grant_type",
                "grant_type must be authorization_code, refresh_token or client_credentials",
            ));
        }
    };
    Ok(json_no_store(&answer))
}

pub(super) fn json_no_store(body: &impl Serialize) -> Response {
    // What we answer are strings and numbers, which always serialise.
    let mut response = serde_json::to_vec(body).unwrap_or_default().into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What became of a code or a refresh token. Not an error of the transaction: what was used up must stay so.
enum Outcome {
    Good(Grant),
    Bad(&'static str),
    /// The scope is more than was granted. Nothing is used up by that.
    Scope,
    /// So is the resource.
    Target,
}

impl AuthorizationServer {
    /// Which client is calling: by HTTP Basic, by parameters, or, if it is public, by its id alone.
    pub(super) async fn authenticate(
        &self,
        headers: &HeaderMap,
        parameters: &Parameters<'_>,
    ) -> Result<Client, Refusal> {
        let get = |name| parameters.get(name).map_err(Refusal::invalid_request);
        let (id, secret) = (get("client_id")?, get("client_secret")?);
        let (id, secret) = match basic(headers)? {
            Some(_) if secret.is_some() => {
                return Err(Refusal::invalid_request("the client authenticates in more than one way"));
            }
            Some((basic, _)) if id.is_some_and(|id| id != basic) => {
                return Err(Refusal::invalid_request(
                    "client_id differs from the one in the Authorization header",
                ));
            }
            Some((id, secret)) => (id, Some(secret)),
            None => {
                let id = id.ok_or_else(|| Refusal::invalid_client("the client does not say who it is"))?;
                (id.to_owned(), secret.map(str::to_owned))
            }
        };
        let wrong = || Refusal::invalid_client("the client is unknown, or its secret is wrong");
        let client = self.client(&id).await.map_err(Refusal::Problem)?.ok_or_else(wrong)?;
        let right = match (&client.secret_hash, secret) {
            (Some(stored), Some(secret)) => bool::from(stored.ct_eq(&secret::hash(&secret))),
            (None, None) => true,
            _ => false,
        };
        if right { Ok(client) } else { Err(wrong()) }
    }

    async fn redeem_code(
        &self,
        client: &Client,
        code: &str,
        redirect_uri: &str,
        verifier: &str,
        resource: Option<&str>,
    ) -> Result<TokenAnswer, Refusal> {
        let inner = &self.0;
        let now = inner.clock.now();
        let refresh = secret::new(&inner.chance);
        let proof = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
        let proven = is_verifier(verifier);
        let (hash, refresh_hash) = (secret::hash(code), secret::hash(&refresh));
        let (client_id, redirect_uri) = (client.id.clone(), redirect_uri.to_owned());
        let resource = resource.map(str::to_owned);
        let outcome = inner
            .db
            .write(move |tx| {
                let Some((grant, owner)) = store::client_of_code(tx, &hash)? else {
                    return Ok::<_, db::Error>(Outcome::Bad("the code is unknown or has expired"));
                };
                if owner != client_id {
                    return Ok(Outcome::Bad("the code was given to another client"));
                }
                if !is_for(tx, grant, resource.as_deref(), now)? {
                    return Ok(Outcome::Target);
                }
                let Some(code) = store::take_code(tx, &hash, now)? else {
                    // Somebody has a copy. Whoever of the two is the thief, nobody keeps anything.
                    store::revoke_grant(tx, grant, now)?;
                    return Ok(Outcome::Bad("the code was used before"));
                };
                if code.expires_at <= now {
                    return Ok(Outcome::Bad("the code is unknown or has expired"));
                }
                if code.redirect_uri != redirect_uri {
                    return Ok(Outcome::Bad(
                        "redirect_uri differs from the one in the authorization request",
                    ));
                }
                if !proven || !bool::from(code.challenge.as_bytes().ct_eq(proof.as_bytes())) {
                    return Ok(Outcome::Bad("code_verifier does not match code_challenge"));
                }
                store::extend_grant(tx, grant, now + GRANT_LIFETIME)?;
                continue_grant(tx, grant, &refresh_hash, now)
            })
            .await?;
        inner.answer(outcome, None, Some(refresh), now).await
    }

    async fn refresh(
        &self,
        client: &Client,
        token: &str,
        scope: Option<&str>,
        resource: Option<&str>,
    ) -> Result<TokenAnswer, Refusal> {
        let inner = &self.0;
        let now = inner.clock.now();
        let refresh = secret::new(&inner.chance);
        let (hash, refresh_hash) = (secret::hash(token), secret::hash(&refresh));
        let (client_id, resource) = (client.id.clone(), resource.map(str::to_owned));
        let wanted = scope.map(|scope| self.choose_scopes(Some(scope), &client.scopes)).transpose();
        let wanted = wanted.map_err(|why| Refusal::new("invalid_scope", why))?;
        let wanted =
            wanted.map(|scopes| scopes.iter().map(|scope| scope.name.to_owned()).collect::<Vec<_>>());
        let asked = wanted.clone();
        let outcome = inner
            .db
            .write(move |tx| {
                let unknown = Outcome::Bad("the refresh token is unknown, expired or revoked");
                let Some((id, owner, expires_at)) = store::refresh_token(tx, &hash)? else {
                    return Ok(unknown);
                };
                if owner != client_id {
                    return Ok::<_, db::Error>(Outcome::Bad("the refresh token was given to another client"));
                }
                let Some((grant, _)) = store::grant(tx, id, now)? else { return Ok(unknown) };
                if expires_at <= now {
                    return Ok(unknown);
                }
                let more = asked.iter().flatten().any(|scope| !grant.scopes.contains(scope));
                if more {
                    return Ok(Outcome::Scope);
                }
                if resource.as_ref().is_some_and(|resource| *resource != grant.audience) {
                    return Ok(Outcome::Target);
                }
                if !store::take_refresh_token(tx, &hash, now)? {
                    store::revoke_grant(tx, id, now)?;
                    return Ok(Outcome::Bad("the refresh token was used before"));
                }
                continue_grant(tx, id, &refresh_hash, now)
            })
            .await?;
        inner.answer(outcome, wanted, Some(refresh), now).await
    }

    async fn client_credentials(
        &self,
        client: &Client,
        scope: Option<&str>,
        resource: Option<&str>,
    ) -> Result<TokenAnswer, Refusal> {
        if !client.is_confidential() {
            return Err(Refusal::new(
                "unauthorized_client",
                "only a client with a secret can act for itself",
            ));
        }
        let inner = &self.0;
        let scopes =
            self.choose_scopes(scope, &client.scopes).map_err(|why| Refusal::new("invalid_scope", why))?;
        let audience = self.choose_audience(resource).map_err(|why| Refusal::new("invalid_target", why))?;
        let now = inner.clock.now();
        let grant = Grant {
            id: inner.chance.uuid(now),
            client: client.id.clone(),
            account: None,
            scopes: scopes.iter().map(|scope| scope.name.to_owned()).collect(),
            audience,
        };
        let stored = grant.clone();
        inner.db.write(move |tx| store::insert_grant(tx, &stored, now, now + access::LIFETIME)).await?;
        inner.answer(Outcome::Good(grant), None, None, now).await
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
        let stored = grant.clone();
        let added =
            inner.db.write(move |tx| store::insert_grant(tx, &stored, now, now + access::LIFETIME)).await;
        added.map_err(|error: db::Error| error.to_string())?;
        inner.sign(&grant, &grant.scopes.join(" "), now).await.map_err(|error| error.to_string())
    }
}

/// Whether a grant is for the resource that its token is asked for, if one is named (RFC 8707, 2.2).
fn is_for(
    tx: &mut WriteTx<'_>,
    grant: Uuid,
    resource: Option<&str>,
    now: Timestamp,
) -> Result<bool, db::Error> {
    let Some(resource) = resource else { return Ok(true) };
    Ok(store::grant(tx, grant, now)?.is_none_or(|(grant, _)| grant.audience == resource))
}

/// The next refresh token of a grant that is still good.
fn continue_grant(
    tx: &mut WriteTx<'_>,
    id: Uuid,
    refresh_hash: &[u8],
    now: Timestamp,
) -> Result<Outcome, db::Error> {
    let Some((grant, ends_at)) = store::grant(tx, id, now)? else {
        return Ok(Outcome::Bad("what this was granted by was revoked"));
    };
    store::insert_refresh_token(tx, refresh_hash, id, ends_at.min(now + REFRESH_LIFETIME))?;
    Ok(Outcome::Good(grant))
}

impl Inner {
    async fn answer(
        &self,
        outcome: Outcome,
        scopes: Option<Vec<String>>,
        refresh_token: Option<String>,
        now: Timestamp,
    ) -> Result<TokenAnswer, Refusal> {
        let grant = match outcome {
            Outcome::Good(grant) => grant,
            Outcome::Bad(description) => return Err(Refusal::invalid_grant(description)),
            Outcome::Target => {
                return Err(Refusal::new("invalid_target", "the resource is not what was granted"));
            }
            Outcome::Scope => {
                return Err(Refusal::new("invalid_scope", "the scope is more than was granted"));
            }
        };
        let scope = scopes.as_ref().unwrap_or(&grant.scopes).join(" ");
        Ok(TokenAnswer {
            access_token: self.sign(&grant, &scope, now).await?,
            token_type: "Bearer",
            expires_in: access::LIFETIME.as_secs(),
            refresh_token,
            scope,
        })
    }

    async fn sign(&self, grant: &Grant, scope: &str, now: Timestamp) -> Result<String, super::OpenError> {
        let subject = grant.account.map_or_else(|| grant.client.clone(), |account| account.to_string());
        let unique = u128::from_be_bytes(self.chance.bytes());
        let token = NewToken {
            issuer: &self.settings.issuer,
            audience: &grant.audience,
            subject: &subject,
            client: &grant.client,
            scope,
            id: format!("{}.{unique:032x}", grant.id.simple()),
            lifetime: access::LIFETIME,
        };
        access::sign(&self.keys, &token, now).await
    }
}

/// How long a token for somebody else lasts.
const LENT_FOR: SignedDuration = SignedDuration::from_mins(5);

impl AuthorizationServer {
    /// A token by which somebody else can tell that a message is ours, and whose it is. It is for them: our own operations
    /// refuse it, since its audience is another.
    pub async fn token_elsewhere(
        &self,
        subject: &str,
        audience: &str,
        scope: &str,
    ) -> Result<String, super::OpenError> {
        let inner = &self.0;
        let unique = u128::from_be_bytes(inner.chance.bytes());
        let token = NewToken {
            issuer: &inner.settings.issuer,
            audience,
            subject,
            client: &inner.settings.issuer,
            scope,
            id: format!("{unique:032x}"),
            lifetime: LENT_FOR,
        };
        access::sign(&inner.keys, &token, inner.clock.now()).await
    }
}

/// A client's id and secret from the Authorization header, each form-encoded (RFC 6749, 2.3.1).
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, Refusal> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let Some(value) = sent.next() else { return Ok(None) };
    let malformed = || Refusal::invalid_client("the Authorization header is not HTTP Basic");
    if sent.next().is_some() {
        return Err(malformed());
    }
    let (scheme, encoded) =
        value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return Err(malformed());
    }
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let decoded = decoded.ok_or_else(malformed)?;
    let (id, secret) = decoded.split_once(':').ok_or_else(malformed)?;
    let decode =
        |text: &str| web::input::form_decode(text).map(|text| text.into_owned()).map_err(|_| malformed());
    Ok(Some((decode(id)?, decode(secret)?)))
}

/// RFC 7636, 4.1.
fn is_verifier(text: &str) -> bool {
    (43..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
}
