//! `/oauth/authorize`, where users sign in and decide what a client may do.

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode};
use jiff::SignedDuration;
use uuid::Uuid;
use web::{Form, Problem, input::Pairs};

use super::{
    client::Client,
    cookie::Cookie,
    error::described,
    notice::Notice,
    page::{Consent, Leave, SignIn, page, see_other},
    request::{AuthorizationRequest, Parameters, RequestError},
    sign_in::Fields,
    state::AuthorizationServer,
    store::{self, Code, Grant},
};
use crate::{
    secret,
    security::{Event, Origin, Outcome},
    session,
};

const CODE_LIFETIME: SignedDuration = SignedDuration::from_secs(60);

/// The longest request in a body: it becomes the address of a page.
const MAX_REQUEST: usize = 8 * 1024;

const INVALID_REQUEST: &str = "This request cannot be answered";

/// Shows the sign-in page, or after sign-in the consent page. The service's own pages need no consent.
pub(super) async fn show(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    origin: Origin,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let request = match server.request(&query).await {
        Ok(request) => request,
        Err(answer) => return answer,
    };
    match server.visitor(&headers).await {
        Ok(Some((account, _))) if request.client.is_of_pages() => {
            let this_page = server.0.settings.path(&format!("/oauth/authorize?{query}"));
            server.allow(&headers, &request, account, &this_page, &origin).await
        }
        Ok(Some((_, name))) => server.consent_page(&headers, &query, &request, &name),
        Ok(None) => server.sign_in_page(&headers, &query, &request),
        Err(problem) => problem.into_response(),
    }
}

/// Processes the forms of these pages, and requests in a body (RFC 6749, 3.1).
pub(super) async fn decide(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    origin: Origin,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Response {
    let query = query.unwrap_or_default();
    // No form of these pages has such a field.
    if let Ok(Form(pairs)) = &form
        && pairs.iter().any(|(name, _)| name == "client_id")
    {
        return server.redirect_to_page(&query, pairs);
    }
    let request = match server.request(&query).await {
        Ok(request) => request,
        Err(answer) => return answer,
    };
    let fields = match form {
        Ok(Form(pairs)) => Fields(pairs),
        Err(problem) => return problem.into_response(),
    };
    if !server.is_own_form(&headers, fields.get("token")) {
        return server.foreign_form();
    }
    let visitor = match server.visitor(&headers).await {
        Ok(visitor) => visitor,
        Err(problem) => return problem.into_response(),
    };
    let this_page = server.0.settings.path(&format!("/oauth/authorize?{query}"));
    match (fields.get("intent"), visitor) {
        (Some("sign-in"), _) => server.try_sign_in(&headers, &this_page, &fields, &origin).await,
        (Some("allow"), Some((account, _))) => {
            server.allow(&headers, &request, account, &this_page, &origin).await
        }
        (Some("deny"), Some((account, _))) => server.deny(&request, account, &origin),
        (Some("switch"), _) => server.end_session(&headers, see_other(&this_page)).await,
        // The session has expired since the page was shown.
        _ => see_other(&this_page),
    }
}

impl AuthorizationServer {
    /// The request that the user is to decide on, or the response to an invalid one.
    async fn request(&self, query: &str) -> Result<AuthorizationRequest, Response> {
        let pairs = web::input::form_pairs(query)
            .map_err(|why| self.error_page(&format!("The address of this page {why}.")))?;
        self.check_request(&Parameters(pairs)).await.map_err(|error| match error {
            RequestError::Page(text) => self.error_page(&text),
            RequestError::Problem(problem) => problem.into_response(),
            RequestError::Client { client, redirect_uri, state, error, description } => {
                let description = described(&description);
                let answer = [("error", error), ("error_description", description.as_str())];
                if client.registered_openly() {
                    self.leave_page(&client, &redirect_uri, state.as_deref(), &answer, &description)
                } else {
                    self.send_back(&redirect_uri, state.as_deref(), &answer)
                }
            }
        })
    }

    /// Redirects a request in a body to its page. A parameter that is in the address too is then repeated, and rejected.
    fn redirect_to_page(&self, query: &str, pairs: &Pairs<'_>) -> Response {
        let mut address = String::from(query);
        let mut all = url::form_urlencoded::Serializer::for_suffix(&mut address, 0);
        all.extend_pairs(pairs).finish();
        if address.len() > MAX_REQUEST {
            return self.error_page("The request is too long.");
        }
        see_other(&self.0.settings.path(&format!("/oauth/authorize?{address}")))
    }

    fn send_back(&self, redirect_uri: &str, state: Option<&str>, answer: &[(&str, &str)]) -> Response {
        match self.redirect_address(redirect_uri, state, answer) {
            Ok(address) => see_other(address.as_str()),
            Err(problem) => problem.into_response(),
        }
    }

    async fn allow(
        &self,
        headers: &HeaderMap,
        request: &AuthorizationRequest,
        account: Uuid,
        this_page: &str,
        origin: &Origin,
    ) -> Response {
        let inner = &self.0;
        let session = secret::hash(&self.cookie(headers, Cookie::Session).unwrap_or_default());
        let now = inner.clock.now();
        let code = secret::new(&inner.random);
        let grant = Grant {
            id: inner.random.uuid(now),
            client: request.client.id.clone(),
            account: Some(account),
            scopes: request.scopes.iter().map(|scope| scope.name.to_owned()).collect(),
            audience: request.audience.clone(),
        };
        let hash = secret::hash(&code);
        let stored = Code {
            grant: grant.id,
            client: grant.client.clone(),
            account: grant.account,
            redirect_uri: request.redirect_uri.clone(),
            redirect_named: request.redirect_named,
            challenge: request.challenge.clone(),
            expires_at: now + CODE_LIFETIME,
        };
        let allowed = inner
            .db
            .write(move |tx| {
                // Locks the session until the commit: a password change waits, and then revokes this grant.
                if !session::lock(tx, &session)? {
                    return Ok(false);
                }
                store::delete_oldest_grants(tx, account, &grant.client)?;
                // The grant expires with its code, until that is redeemed.
                store::insert_grant(tx, &grant, now, stored.expires_at)?;
                store::insert_code(tx, &hash, &stored)?;
                Ok::<_, db::Error>(true)
            })
            .await;
        match allowed {
            Ok(false) => see_other(this_page),
            Ok(true) => {
                origin.log(Event::Consent, Outcome::Ok, Some(account), Some(&request.client.id));
                self.send_back(&request.redirect_uri, request.state.as_deref(), &[("code", &code)])
            }
            Err(error) => Problem::from(error).into_response(),
        }
    }

    fn deny(&self, request: &AuthorizationRequest, account: Uuid, origin: &Origin) -> Response {
        origin.log(Event::Consent, Outcome::Denied, Some(account), Some(&request.client.id));
        let answer = [("error", "access_denied"), ("error_description", "the request was denied")];
        self.send_back(&request.redirect_uri, request.state.as_deref(), &answer)
    }

    fn sign_in_page(&self, headers: &HeaderMap, query: &str, request: &AuthorizationRequest) -> Response {
        let notice = self.notice(headers, &self.0.settings.path(&format!("/oauth/authorize?{query}")));
        let mut response = self.with_form(headers, |token| {
            let settings = &self.0.settings;
            let (frame, client) = (settings.frame(), request.client.name.as_str());
            let name = notice.as_ref().map_or("", |notice| &notice.name);
            let error = notice.as_ref().map(Notice::error);
            let (sign_up, demo) = (settings.sign_up, settings.demo);
            let template = SignIn { frame, client, query, token, name, error, sign_up, demo };
            // After sign-in, the next page may redirect to the client.
            page(StatusCode::OK, &template, Some(&request.redirect_uri))
        });
        if notice.is_some() {
            self.set_cookie(&mut response, Cookie::Notice, None);
        }
        response
    }

    fn consent_page(
        &self,
        headers: &HeaderMap,
        query: &str,
        request: &AuthorizationRequest,
        name: &str,
    ) -> Response {
        self.with_form(headers, |token| {
            let template = Consent {
                frame: self.0.settings.frame(),
                client: &request.client.name,
                query,
                token,
                name,
                scopes: &request.scopes,
                returns_to: &request.redirect_uri,
            };
            page(StatusCode::OK, &template, Some(&request.redirect_uri))
        })
    }

    /// In a demo, every program may register a client. This server must not redirect to any site without the user's consent
    /// (RFC 9700, 4.11), so it shows a link.
    fn leave_page(
        &self,
        client: &Client,
        redirect_uri: &str,
        state: Option<&str>,
        answer: &[(&str, &str)],
        text: &str,
    ) -> Response {
        match self.redirect_address(redirect_uri, state, answer) {
            Ok(address) => {
                let template = Leave {
                    frame: self.0.settings.frame(),
                    title: INVALID_REQUEST,
                    client: &client.name,
                    text,
                    returns_to: redirect_uri,
                    address: address.as_str(),
                };
                page(StatusCode::BAD_REQUEST, &template, None)
            }
            Err(problem) => problem.into_response(),
        }
    }

    fn error_page(&self, text: &str) -> Response {
        self.message(StatusCode::BAD_REQUEST, INVALID_REQUEST, text)
    }
}
