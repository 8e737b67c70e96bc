//! Destinations in this process: addresses of the service itself.
//!
//! Deliveries to them need no connection, so that no other address of the machine or the network has to be allowed for them, and
//! they arrive also where the service cannot be reached at its public address from inside.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode};
use url::Url;

use crate::Webhooks;

/// Receives deliveries in this process.
pub trait Receiver: Send + Sync {
    /// Whether this URL is one of its addresses, or below one of them.
    fn has(&self, url: &Url) -> bool;

    /// Takes a request, and gives the status of the answer.
    fn receive(&self, url: Url, headers: HeaderMap, body: String) -> BoxFuture<'static, StatusCode>;
}

impl Webhooks {
    /// The receiver of this URL, if it is in this process.
    pub(crate) fn receiver_of(&self, url: &Url) -> Option<&Arc<dyn Receiver>> {
        self.0.settings.receiver.as_ref().filter(|receiver| receiver.has(url))
    }

    /// Checks a destination. The error completes a sentence that starts with "the address".
    pub(crate) fn check(&self, url: &Url) -> Result<(), &'static str> {
        match self.receiver_of(url) {
            Some(_) => Ok(()),
            None => self.0.settings.destinations.check(url),
        }
    }
}
