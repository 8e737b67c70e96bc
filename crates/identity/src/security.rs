//! The security log: a line and a counter for each event that an investigation of a break-in needs.
//!
//! Every event is declared here. A line has no secret, and no name that was typed: people type passwords where names belong.
//! Accounts stand there by their ids.

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use axum::extract::FromRequestParts;
use http::request::Parts;
use tracing::field::display;
use uuid::Uuid;
use web::{Client, RequestId, ServiceName};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A password was checked: on a page, by HTTP Basic or by a log-in. What is remembered of it is not checked again.
    SignIn,
    /// A client's id or secret was wrong where it must authenticate. Those that are right are not logged.
    ClientAuthentication,
    /// An API key was unknown. Those that are valid are not logged.
    ApiKey,
    /// A code came a second time: its grant is revoked.
    CodeReuse,
    /// So is that of a refresh token.
    RefreshTokenReuse,
    /// A person decided what a client may do.
    Consent,
    TokenRevocation,
    ClientRegistration,
    ClientRemoval,
    AccountCreation,
    AccountRemoval,
    PasswordChange,
}

impl Event {
    fn word(self) -> &'static str {
        match self {
            Event::SignIn => "sign_in",
            Event::ClientAuthentication => "client_authentication",
            Event::ApiKey => "api_key",
            Event::CodeReuse => "code_reuse",
            Event::RefreshTokenReuse => "refresh_token_reuse",
            Event::Consent => "consent",
            Event::TokenRevocation => "token_revocation",
            Event::ClientRegistration => "client_registration",
            Event::ClientRemoval => "client_removal",
            Event::AccountCreation => "account_creation",
            Event::AccountRemoval => "account_removal",
            Event::PasswordChange => "password_change",
        }
    }
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was done, or given.
    Ok,
    /// The name, the password or the secret was wrong.
    Wrong,
    /// There were too many before.
    Throttled,
    /// A person said no.
    Denied,
    /// The caller may not do that.
    Refused,
    /// All that was granted is revoked.
    Revoked,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Wrong => "wrong",
            Outcome::Throttled => "throttled",
            Outcome::Denied => "denied",
            Outcome::Refused => "refused",
            Outcome::Revoked => "revoked",
        }
    }
}

/// Where a request came from. It is an extractor; without a request it is empty.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    service: Option<&'static str>,
    address: Option<IpAddr>,
    request: Option<Arc<str>>,
}

impl Origin {
    pub fn of(parts: &Parts) -> Self {
        let extensions = &parts.extensions;
        Origin {
            service: extensions.get().map(|ServiceName(name)| *name),
            address: extensions.get().map(|Client(address)| *address),
            request: extensions.get().map(|RequestId(id)| id.clone()),
        }
    }

    /// The address, by which callers are told apart.
    pub fn address(&self) -> IpAddr {
        self.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    /// Writes the event's line, and counts it.
    pub fn log(&self, event: Event, outcome: Outcome, account: Option<Uuid>, client: Option<&str>) {
        let Origin { service, address, request } = self;
        let (event, outcome, service) = (event.word(), outcome.word(), service.unwrap_or("none"));
        let (account, address, id) = (account.map(display), address.map(display), request.as_deref());
        tracing::info!(target: "security", event, outcome, service, account, client, address, id, "security");
        metrics::counter!(
            "triptych_security_events_total",
            "service" => service,
            "event" => event,
            "outcome" => outcome,
        )
        .increment(1);
    }
}

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        Origin { address: Some(address), ..Origin::default() }
    }
}

impl From<&Origin> for Origin {
    fn from(origin: &Origin) -> Self {
        origin.clone()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Origin::of(parts))
    }
}
