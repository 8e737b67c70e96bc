//! The security log: a line and a counter for each event that the investigation of an attack needs.
//!
//! Every event is declared here. A line has no secret, and no name as a user typed it: users type passwords into name fields.
//! It has the ids of accounts.

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use axum::extract::FromRequestParts;
use db::Word;
use http::request::Parts;
use model::Words;
use tracing::field::display;
use uuid::Uuid;
use web::RequestContext;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Event {
    /// A password was checked: on a page, by HTTP Basic or by a log-in. A cached result is not logged again.
    SignIn,
    /// A client failed to authenticate. Success is not logged.
    ClientAuthentication,
    /// An API key was unknown. Valid keys are not logged.
    ApiKey,
    /// A code was used again: its grant is revoked.
    CodeReuse,
    /// A refresh token was used again: its grant is revoked.
    RefreshTokenReuse,
    /// A user decided what a client may do.
    Consent,
    TokenRevocation,
    ClientRegistration,
    AccountCreation,
    AccountRemoval,
    PasswordChange,
}

/// The outcome of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Outcome {
    /// It was done, or granted.
    Ok,
    /// The name, the password or the secret was wrong.
    Wrong,
    /// There were too many tries before.
    Throttled,
    /// A user denied it.
    Denied,
    /// The caller is not allowed to do it.
    Refused,
    /// The grant is revoked.
    Revoked,
}

/// The origin of a request, as an extractor. Without a request it is empty.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    service: Option<&'static str>,
    address: Option<IpAddr>,
    request: Option<Arc<str>>,
}

impl Origin {
    pub fn of(parts: &Parts) -> Self {
        let context = RequestContext::of(&parts.extensions);
        Origin {
            service: context.map(RequestContext::service),
            address: context.map(RequestContext::client_ip),
            request: context.map(|context| context.id().clone()),
        }
    }

    /// The address of the caller.
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
