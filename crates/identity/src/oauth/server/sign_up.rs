//! `/oauth/sign-up`, where users create accounts, if the service allows it.

use axum::{
    extract::{RawQuery, State},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use web::{Form, Problem};

use super::{
    cookie::Cookie,
    notice::Reason,
    page::{FormError, SignUp, page},
    sign_in::Fields,
    state::{AuthorizationServer, Settings},
};
use crate::{error::ChangeError, security::Origin};

pub(super) async fn show(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if !server.0.settings.sign_up {
        return server.no_sign_up();
    }
    let query = query.unwrap_or_default();
    let Some(notice) = server.notice(&headers, &server.0.settings.sign_up_page(&query)) else {
        return server.sign_up_page(&headers, &query, StatusCode::OK, "", None);
    };
    let mut page = server.sign_up_page(&headers, &query, StatusCode::OK, &notice.name, Some(notice.error()));
    server.set_cookie(&mut page, Cookie::Notice, None);
    page
}

impl Settings {
    /// The address of this page.
    fn sign_up_page(&self, query: &str) -> String {
        let page = self.path("/oauth/sign-up");
        if query.is_empty() { page } else { format!("{page}?{query}") }
    }
}

pub(super) async fn sign_up(
    State(server): State<AuthorizationServer>,
    RawQuery(query): RawQuery,
    origin: Origin,
    headers: HeaderMap,
    form: Result<Form, Problem>,
) -> Response {
    if !server.0.settings.sign_up {
        return server.no_sign_up();
    }
    let fields = match form {
        Ok(Form(pairs)) => Fields(pairs),
        Err(problem) => return problem.into_response(),
    };
    if !server.is_own_form(&headers, fields.get("token")) {
        return server.foreign_form();
    }
    let query = query.unwrap_or_default();
    let name = fields.get("name").unwrap_or_default();
    let password = fields.get("password").unwrap_or_default();
    let added = server.0.accounts.sign_up(name, password.into(), &origin).await;
    let again = |reason| server.back_to_form(&headers, &server.0.settings.sign_up_page(&query), reason, name);
    let later = |status, seconds: u64, text: String| {
        let error = FormError { field: None, text };
        let mut response = server.sign_up_page(&headers, &query, status, name, Some(error));
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        response
    };
    match added {
        Ok(account) => {
            let next = if query.is_empty() { "/".into() } else { format!("/oauth/authorize?{query}") };
            let next = server.0.settings.path(&next);
            server.start_session(&headers, account, &next).await
        }
        Err(ChangeError::Taken) => again(Reason::Taken),
        Err(ChangeError::Invalid(error)) => again(Reason::Invalid(error)),
        Err(ChangeError::Busy) => {
            later(StatusCode::SERVICE_UNAVAILABLE, 1, "The service is busy. Try again in a moment.".into())
        }
        Err(ChangeError::Wait(seconds)) => {
            let text =
                format!("Too many accounts were made from your address. Try again in {seconds} seconds.");
            later(StatusCode::TOO_MANY_REQUESTS, seconds, text)
        }
        Err(ChangeError::Db(error)) => Problem::from(error).into_response(),
        Err(error) => Problem::internal(error.to_string()).into_response(),
    }
}

impl AuthorizationServer {
    fn sign_up_page(
        &self,
        headers: &HeaderMap,
        query: &str,
        status: StatusCode,
        name: &str,
        error: Option<FormError>,
    ) -> Response {
        self.with_form(headers, |token| {
            let frame = self.0.settings.frame();
            page(status, &SignUp { frame, query, token, name, error }, None)
        })
    }

    fn no_sign_up(&self) -> Response {
        self.message(
            StatusCode::NOT_FOUND,
            "There is no sign-up here",
            "Accounts are made by the service's operator.",
        )
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use testkit::{Address, Client, Server, Store};
    use web::{Clock, ConnectionLimits, Random};

    use super::*;
    use crate::{accounts::Accounts, migrations, oauth::server::state::Settings};

    async fn start(store: &Store) -> (Accounts, Client, Server) {
        let db = store.open("test", &[migrations::ACCOUNTS, migrations::OAUTH]);
        let clock = Clock::manual("2026-05-13T10:00:00Z".parse().unwrap());
        let accounts = Accounts::new("Test", false, db.clone(), clock.clone(), Random::system()).unwrap();
        let address = Address::free().await;
        let settings = Settings {
            name: "test",
            service: "Test",
            issuer: address.url(),
            prefix: "/v1",
            scopes: &[],
            sign_up: true,
            demo: false,
            registration_token: None,
        };
        let opened = AuthorizationServer::open(settings, accounts.clone(), db, clock, Random::system()).await;
        let server = address.serve(ConnectionLimits::default(), opened.unwrap().router());
        (accounts, Client::new(server.address()), server)
    }

    testkit::on_both_engines! {
        async fn full_password_queue_gets_503_with_retry_after(store: Store) {
            let (accounts, client, _server) = start(&store).await;
            let page = client.get("/oauth/sign-up").send().await;
            let text = page.has_status(200).text();
            let token = text.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
            let token = token.unwrap();
            let cookie = page.header("set-cookie").split(';').next().unwrap().to_owned();
            let sign_up = || {
                client
                    .post("/oauth/sign-up")
                    .header("cookie", &cookie)
                    .body("application/x-www-form-urlencoded", format!("name=ada&password=correct+horse&token={token}"))
                    .send()
            };
            let permits = accounts.0.passwords.free_permits_to_set();
            let busy = sign_up().await;
            assert_eq!(busy.has_status(503).header("retry-after"), "1");
            let text = busy.text();
            assert!(text.contains("The service is busy. Try again in a moment."), "{text}");
            assert!(text.contains("value=\"ada\"") && !text.contains("aria-invalid"), "{text}");
            let changed = accounts.set_password("ada", "correct horse".into()).await;
            assert!(matches!(changed, Err(ChangeError::Busy)), "{changed:?}");
            drop(permits);
            sign_up().await.has_status(303);
        }
    }
}
