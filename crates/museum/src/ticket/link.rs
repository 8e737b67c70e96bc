//! The link in the QR code of a ticket: where the ticket is checked and admitted.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::{header, request::Parts, uri::Authority};

use super::Ticket;
use crate::{Museum, SERVICE};

/// The longest host that a link has, with its port.
const LONGEST_HOST: usize = 255;

/// The public address of the museum. If the settings have none, it is the address by which the client called; empty if the
/// client named no host.
pub(crate) struct PublicAddress(String);

impl FromRequestParts<Museum> for PublicAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, museum: &Museum) -> Result<Self, Infallible> {
        if !museum.address.is_empty() {
            return Ok(PublicAddress(museum.address.clone()));
        }
        let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let named = named.or(parts.uri.authority().map(Authority::as_str)).unwrap_or_default();
        let is_host =
            named.len() <= LONGEST_HOST && !named.contains('@') && named.parse::<Authority>().is_ok();
        Ok(PublicAddress(if is_host { format!("http://{named}") } else { String::new() }))
    }
}

impl PublicAddress {
    /// The link of a ticket. Its code proves to any account that the visitor has the ticket.
    pub(crate) fn link(&self, ticket: &Ticket) -> String {
        let Ticket { id, confirmation_code, .. } = ticket;
        format!("{}{}/tickets/{id}/admissions?code={confirmation_code}", self.0, SERVICE.prefix)
    }
}
