//! `/oauth/authorize` and the pages around it: where people sign in, decide, and sign out.

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode};
use jiff::SignedDuration;
use uuid::Uuid;
use web::{Form, Problem, input::Pairs};

use super::{
    AuthorizationServer,
    client::Client,
    error::described,
    notice::{Notice, Why},
    page::{self, Consent, Cookie, Leave, Message, STYLE, SignIn, SignOut, page, see_other},
    request::{Asked, Parameters, Refused},
    store::{self, Code, Grant},
    token::CODE_LIFETIME,
};
use crate::{
    SignInError, secret,
    security::{Event, Origin, Outcome},
    session::{self, Kind},
};

/// How long a browser stays signed in.
const SESSION: SignedDuration = SignedDuration::from_hours(12);

/// How long a request in a body can be: it becomes the address of a page.
const LONGEST_REQUEST: usize = 8 * 1024;

const UNANSWERED: &str = "This request cannot be answered";

/// Shows the sign-in page, or to somebody who has signed in, what they are asked for.
pub(super) async fn show(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let query = query.unwrap_or_default();
    let asked = match server.asked(&query).await {
        Ok(asked) => asked,
        Err(answer) => return answer,
    };
    match server.visitor(&headers).await {
        Ok(Some((_, name))) => server.consent_page(&headers, &query, &asked, &name),
        Ok(None) => server.sign_in_page(&headers, &query, &asked),
        Err(problem) => problem.into_response(),
    }
}

/// Takes what was filled in or decided there, or a client's request in a body (RFC 6749, 3.1).
pub(super) async fn decide(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    origin: Origin,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Response {
    let query = query.unwrap_or_default();
    // None of our own forms has such a field.
    if let Ok(Form(pairs)) = &form
        && pairs.iter().any(|(name, _)| name == "client_id")
    {
        return server.as_page(&query, pairs);
    }
    let asked = match server.asked(&query).await {
        Ok(asked) => asked,
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
    let again = format!("/oauth/authorize?{query}");
    match (fields.get("intent"), visitor) {
        (Some("sign-in"), _) => server.try_sign_in(&headers, &again, &fields, &origin).await,
        (Some("allow"), Some((account, _))) => server.allow(&headers, &asked, account, &again, &origin).await,
        (Some("deny"), Some((account, _))) => server.deny(&asked, account, &origin),
        (Some("switch"), _) => server.end_session(&headers, see_other(&again)).await,
        // The session has ended since the page was shown.
        _ => see_other(&again),
    }
}

pub(super) async fn show_sign_out(State(server): State<AuthorizationServer>, headers: HeaderMap) -> Response {
    let visitor = match server.visitor(&headers).await {
        Ok(visitor) => visitor,
        Err(problem) => return problem.into_response(),
    };
    server.with_form(&headers, |token| {
        let name = visitor.as_ref().map(|(_, name)| name.as_str());
        page(StatusCode::OK, &SignOut { style: STYLE, service: server.0.settings.service, token, name }, None)
    })
}

pub(super) async fn sign_out(
    State(server): State<AuthorizationServer>,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Response {
    let fields = match form {
        Ok(Form(pairs)) => Fields(pairs),
        Err(problem) => return problem.into_response(),
    };
    if !server.is_own_form(&headers, fields.get("token")) {
        return server.foreign_form();
    }
    server.end_session(&headers, see_other("/oauth/sign-out")).await
}

/// What a person filled in. The first of each name counts: forms are our own.
pub(super) struct Fields(pub(super) web::input::Pairs<'static>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_ref())
    }
}

impl AuthorizationServer {
    /// The request that a person is to decide on, or the answer that there is to it already.
    async fn asked(&self, query: &str) -> Result<Asked, Response> {
        let pairs = web::input::form_pairs(query)
            .map_err(|why| self.refusal_page(&format!("The address of this page {why}.")))?;
        self.check_request(&Parameters(pairs)).await.map_err(|refused| match refused {
            Refused::Page(text) => self.refusal_page(&text),
            Refused::Problem(problem) => problem.into_response(),
            Refused::Client { client, redirect_uri, state, error, description } => {
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

    /// The page for a request that came in a body. Whatever stands in the address too is there twice then, and refused.
    fn as_page(&self, query: &str, pairs: &Pairs<'_>) -> Response {
        let mut address = String::from(query);
        let mut all = url::form_urlencoded::Serializer::for_suffix(&mut address, 0);
        all.extend_pairs(pairs).finish();
        if address.len() > LONGEST_REQUEST {
            return self.refusal_page("The request is too long.");
        }
        see_other(&format!("/oauth/authorize?{address}"))
    }

    fn send_back(&self, redirect_uri: &str, state: Option<&str>, answer: &[(&str, &str)]) -> Response {
        match self.answer_at(redirect_uri, state, answer) {
            Ok(address) => see_other(address.as_str()),
            Err(problem) => problem.into_response(),
        }
    }

    /// Who has signed in with this browser.
    async fn visitor(&self, headers: &HeaderMap) -> Result<Option<(Uuid, String)>, Problem> {
        match self.cookie(headers, Cookie::Session) {
            Some(secret) => Ok(self.0.sessions.find(Kind::Browser, &secret).await?),
            None => Ok(None),
        }
    }

    async fn try_sign_in(
        &self,
        headers: &HeaderMap,
        page: &str,
        fields: &Fields,
        origin: &Origin,
    ) -> Response {
        let name = fields.get("name").unwrap_or_default();
        let password = fields.get("password").unwrap_or_default();
        let again = |why| self.back_to_form(headers, page, why, name);
        match self.0.accounts.sign_in(name, password.into(), origin).await {
            Ok(account) => self.start_session(headers, account, page).await,
            Err(SignInError::Wrong) => again(Why::Wrong),
            Err(SignInError::Wait(seconds)) => again(Why::Wait(seconds)),
            Err(SignInError::Busy) => again(Why::Busy),
            Err(SignInError::Db(error)) => Problem::from(error).into_response(),
            Err(SignInError::Broken(cause)) => Problem::internal(cause).into_response(),
        }
    }

    /// A new session with a new secret: one that was planted before is worth nothing now.
    pub(super) async fn start_session(&self, headers: &HeaderMap, account: Uuid, next: &str) -> Response {
        if let Some(old) = self.cookie(headers, Cookie::Session)
            && let Err(error) = self.0.sessions.end(Kind::Browser, &old).await
        {
            return Problem::from(error).into_response();
        }
        match self.0.sessions.start(Kind::Browser, account, SESSION).await {
            Ok(started) => {
                let mut response = see_other(next);
                self.set_cookie(&mut response, Cookie::Session, Some(&started.secret));
                // Forms from before the sign-in are void.
                self.set_cookie(&mut response, Cookie::Form, None);
                response
            }
            Err(error) => Problem::from(error).into_response(),
        }
    }

    async fn end_session(&self, headers: &HeaderMap, mut next: Response) -> Response {
        if let Some(secret) = self.cookie(headers, Cookie::Session)
            && let Err(error) = self.0.sessions.end(Kind::Browser, &secret).await
        {
            return Problem::from(error).into_response();
        }
        self.set_cookie(&mut next, Cookie::Session, None);
        self.set_cookie(&mut next, Cookie::Form, None);
        next
    }

    async fn allow(
        &self,
        headers: &HeaderMap,
        asked: &Asked,
        account: Uuid,
        again: &str,
        origin: &Origin,
    ) -> Response {
        let inner = &self.0;
        let session = secret::hash(&self.cookie(headers, Cookie::Session).unwrap_or_default());
        let now = inner.clock.now();
        let code = secret::new(&inner.chance);
        let grant = Grant {
            id: inner.chance.uuid(now),
            client: asked.client.id.clone(),
            account: Some(account),
            scopes: asked.scopes.iter().map(|scope| scope.name.to_owned()).collect(),
            audience: asked.audience.clone(),
        };
        let hash = secret::hash(&code);
        let stored = Code {
            grant: grant.id,
            client: grant.client.clone(),
            account: grant.account,
            redirect_uri: asked.redirect_uri.clone(),
            redirect_named: asked.redirect_named,
            challenge: asked.challenge.clone(),
            expires_at: now + CODE_LIFETIME,
        };
        let allowed = inner
            .db
            .write(move |tx| {
                // Held until this is committed: a password that is changed meanwhile ends what is allowed here.
                if !session::hold(tx, &session)? {
                    return Ok(false);
                }
                store::end_oldest_grants(tx, account, &grant.client)?;
                // No longer than its code, until that is redeemed.
                store::insert_grant(tx, &grant, now, stored.expires_at)?;
                store::insert_code(tx, &hash, &stored)?;
                Ok::<_, db::Error>(true)
            })
            .await;
        match allowed {
            Ok(false) => see_other(again),
            Ok(true) => {
                origin.log(Event::Consent, Outcome::Ok, Some(account), Some(&asked.client.id));
                self.send_back(&asked.redirect_uri, asked.state.as_deref(), &[("code", &code)])
            }
            Err(error) => Problem::from(error).into_response(),
        }
    }

    fn deny(&self, asked: &Asked, account: Uuid, origin: &Origin) -> Response {
        origin.log(Event::Consent, Outcome::Denied, Some(account), Some(&asked.client.id));
        let answer = [("error", "access_denied"), ("error_description", "the request was denied")];
        self.send_back(&asked.redirect_uri, asked.state.as_deref(), &answer)
    }

    fn sign_in_page(&self, headers: &HeaderMap, query: &str, asked: &Asked) -> Response {
        let notice = self.notice(headers, &format!("/oauth/authorize?{query}"));
        let mut response = self.with_form(headers, |token| {
            let settings = &self.0.settings;
            let (service, client, sign_up) = (settings.service, asked.client.name.as_str(), settings.sign_up);
            let name = notice.as_ref().map_or("", |notice| &notice.name);
            let fault = notice.as_ref().map(Notice::fault);
            let template = SignIn { style: STYLE, service, client, query, token, name, fault, sign_up };
            // After signing in, the next page may lead to the client.
            page(StatusCode::OK, &template, Some(&asked.redirect_uri))
        });
        if notice.is_some() {
            self.set_cookie(&mut response, Cookie::Notice, None);
        }
        response
    }

    fn consent_page(&self, headers: &HeaderMap, query: &str, asked: &Asked, name: &str) -> Response {
        self.with_form(headers, |token| {
            let template = Consent {
                style: STYLE,
                service: self.0.settings.service,
                client: &asked.client.name,
                query,
                token,
                name,
                scopes: &asked.scopes,
                returns_to: &asked.redirect_uri,
            };
            page(StatusCode::OK, &template, Some(&asked.redirect_uri))
        })
    }

    pub(super) fn with_form(&self, headers: &HeaderMap, render: impl FnOnce(&str) -> Response) -> Response {
        let (token, new) = self.form_token(headers);
        let mut response = render(&token);
        if let Some(cookie) = new {
            self.set_cookie(&mut response, Cookie::Form, Some(&cookie));
        }
        response
    }

    /// Anybody may register a client in a demo. A link to this server must not lead to any site in the world by itself
    /// (RFC 9700, 4.11), so the person decides.
    fn leave_page(
        &self,
        client: &Client,
        redirect_uri: &str,
        state: Option<&str>,
        answer: &[(&str, &str)],
        text: &str,
    ) -> Response {
        match self.answer_at(redirect_uri, state, answer) {
            Ok(address) => {
                let template = Leave {
                    style: STYLE,
                    service: self.0.settings.service,
                    title: UNANSWERED,
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

    fn refusal_page(&self, text: &str) -> Response {
        self.message(StatusCode::BAD_REQUEST, UNANSWERED, text)
    }

    pub(super) fn foreign_form(&self) -> Response {
        let text = "This form was not sent from a page of ours, or the page is too old. Go back, load it anew, and try again.";
        self.message(StatusCode::FORBIDDEN, "This form cannot be taken", text)
    }

    pub(super) fn message(&self, status: StatusCode, title: &str, text: &str) -> Response {
        let service = self.0.settings.service;
        page::page(status, &Message { style: STYLE, service, title, text }, None)
    }
}
