//! Access tokens of the demo user, as `triptych token` prints them.

use axum::{extract::Path, response::Response};
use http::StatusCode;
use identity::{Accounts, DEMO_USER, oauth::AuthorizationServer};
use serde::Serialize;
use service::Service;
use tokio::sync::OnceCell;
use web::{
    Problem, Result,
    problem::{FORBIDDEN, NOT_FOUND},
};

use super::{ConsoleService, Operator, json};
use crate::oauth;

/// What issues the tokens of a service. It is opened at the first token.
#[derive(Default)]
pub(super) struct Issuer(OnceCell<(AuthorizationServer, Accounts)>);

/// Whether a service issues its tokens itself.
pub(super) fn issues(service: &dyn Service) -> bool {
    service.description().oauth.is_some()
        && service.oauth().is_none_or(|oauth| oauth.external_issuer().is_none())
}

#[derive(Serialize)]
struct Token {
    token: String,
    user: &'static str,
}

/// Issues a token. Only in a demo and only of its user: with the tokens of other users, the console could do what only its owner may.
pub(super) async fn issue(Operator(running): Operator, Path(name): Path<String>) -> Result<Response> {
    let service = running.services.iter().find(|one| one.service.description().name == name);
    let service = service
        .filter(|one| issues(&*one.service))
        .ok_or_else(|| Problem::new(&NOT_FOUND, "No service of this name issues tokens here."))?;
    if !running.demo {
        let detail =
            "The console issues tokens only in a demo. On the server's machine, triptych token prints one.";
        return Err(Problem::new(&FORBIDDEN, detail));
    }
    let token = service.token().await.map_err(Problem::internal)?;
    json(StatusCode::CREATED, &Token { token, user: DEMO_USER })
}

impl ConsoleService {
    async fn token(&self) -> Result<String, service::Error> {
        let description = self.service.description();
        let open = async || {
            let server = description.authorization_server(&self.instance).await?;
            Ok::<_, service::Error>((server, description.accounts(&self.instance)?))
        };
        let (server, accounts) = self.issuer.0.get_or_try_init(open).await?;
        oauth::token(server, accounts, DEMO_USER, None).await
    }
}
