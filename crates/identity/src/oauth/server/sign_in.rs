//! Sign-in, sign-out, and the sessions of browsers.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode};
use jiff::SignedDuration;
use uuid::Uuid;
use web::{Form, Problem, input::Pairs};

use super::{
    cookie::Cookie,
    notice::Reason,
    page::{Message, SignOut, page, see_other},
    state::AuthorizationServer,
};
use crate::{error::SignInError, security::Origin, session::Kind};

/// The lifetime of a browser's session.
const SESSION: SignedDuration = SignedDuration::from_hours(12);

/// The fields of a form. Of repeated ones the first counts: the forms are our own.
pub(super) struct Fields(pub(super) Pairs<'static>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_ref())
    }
}

pub(super) async fn show_sign_out(State(server): State<AuthorizationServer>, headers: HeaderMap) -> Response {
    let visitor = match server.visitor(&headers).await {
        Ok(visitor) => visitor,
        Err(problem) => return problem.into_response(),
    };
    server.with_form(&headers, |token| {
        let name = visitor.as_ref().map(|(_, name)| name.as_str());
        page(StatusCode::OK, &SignOut { frame: server.0.settings.frame(), token, name }, None)
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
    server.end_session(&headers, see_other(&server.0.settings.path("/oauth/sign-out"))).await
}

impl AuthorizationServer {
    /// The user of the browser's session.
    pub(super) async fn visitor(&self, headers: &HeaderMap) -> Result<Option<(Uuid, String)>, Problem> {
        match self.cookie(headers, Cookie::Session) {
            Some(secret) => Ok(self.0.sessions.find(Kind::Browser, &secret).await?),
            None => Ok(None),
        }
    }

    pub(super) async fn try_sign_in(
        &self,
        headers: &HeaderMap,
        page: &str,
        fields: &Fields,
        origin: &Origin,
    ) -> Response {
        let name = fields.get("name").unwrap_or_default();
        let password = fields.get("password").unwrap_or_default();
        let again = |reason| self.back_to_form(headers, page, reason, name);
        match self.0.accounts.sign_in(name, password.into(), origin).await {
            Ok(account) => self.start_session(headers, account, page).await,
            Err(SignInError::Wrong) => again(Reason::Wrong),
            Err(SignInError::Wait(seconds)) => again(Reason::Wait(seconds)),
            Err(SignInError::Busy) => again(Reason::Busy),
            Err(SignInError::Db(error)) => Problem::from(error).into_response(),
            Err(SignInError::Broken(cause)) => Problem::internal(cause).into_response(),
        }
    }

    /// Starts a session with a new secret, which prevents session fixation.
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
                // Forms from before the sign-in become invalid.
                self.set_cookie(&mut response, Cookie::Form, None);
                response
            }
            Err(error) => Problem::from(error).into_response(),
        }
    }

    pub(super) async fn end_session(&self, headers: &HeaderMap, mut next: Response) -> Response {
        if let Some(secret) = self.cookie(headers, Cookie::Session)
            && let Err(error) = self.0.sessions.end(Kind::Browser, &secret).await
        {
            return Problem::from(error).into_response();
        }
        self.set_cookie(&mut next, Cookie::Session, None);
        self.set_cookie(&mut next, Cookie::Form, None);
        next
    }

    pub(super) fn with_form(&self, headers: &HeaderMap, render: impl FnOnce(&str) -> Response) -> Response {
        let (token, new) = self.form_token(headers);
        let mut response = render(&token);
        if let Some(cookie) = new {
            self.set_cookie(&mut response, Cookie::Form, Some(&cookie));
        }
        response
    }

    pub(super) fn foreign_form(&self) -> Response {
        let text = "This form was not sent from a page of ours, or the page is too old. Go back, load it anew, and try again.";
        self.message(StatusCode::FORBIDDEN, "This form cannot be taken", text)
    }

    pub(super) fn message(&self, status: StatusCode, title: &str, text: &str) -> Response {
        page(status, &Message { frame: self.0.settings.frame(), title, text }, None)
    }
}
