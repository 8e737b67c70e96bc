//! What the answers to writes promise about later reads.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use testkit::Client;

use crate::installation::Service;

/// The root services or a sandbox, with credentials for them.
pub(crate) struct Place {
    /// What is before the paths.
    pub(crate) prefix: String,
    /// The Authorization headers, in the order of the services.
    pub(crate) authorizations: [String; 3],
}

/// The members that a resource must have; none if it must not exist.
pub(crate) type State = Option<Value>;

/// Resources that are together in one of some states. More than one state is allowed after a request without an answer; then
/// nothing between these states is.
pub(crate) struct Promise {
    pub(crate) service: Service,
    pub(crate) place: Arc<Place>,
    pub(crate) paths: Vec<String>,
    pub(crate) allowed: Vec<Vec<State>>,
    /// The last request that changed it.
    pub(crate) request: String,
}

impl Promise {
    /// Whether it is broken, and how.
    async fn is_broken(&self, clients: &[Client; 3]) -> Option<String> {
        let place = &self.place;
        let mut found = Vec::new();
        for path in &self.paths {
            let call = clients[self.service as usize].get(&format!("{}{path}", place.prefix));
            let call = match self.service {
                Service::Petstore => call.header("api_key", "special-key"),
                _ => call.header("authorization", &place.authorizations[self.service as usize]),
            };
            match call.try_send().await {
                Ok(answer) if answer.status == 200 => found.push(Some(answer.json())),
                Ok(answer) if answer.status == 404 => found.push(None),
                Ok(answer) => return Some(format!("GET {path}: {} {}", answer.status, answer.text())),
                Err(error) => return Some(format!("GET {path}: {error}")),
            }
        }
        let is_as = |states: &Vec<State>| states.iter().zip(&found).all(|(state, found)| has(found, state));
        (!self.allowed.iter().any(is_as)).then(|| {
            let Promise { paths, allowed, request, .. } = self;
            let (prefix, found, allowed) = (&place.prefix, json!(found), json!(allowed));
            format!("{prefix} {paths:?} is {found}, must be one of {allowed} after {request}")
        })
    }
}

/// Whether what was found has all members that it must have.
fn has(found: &State, wanted: &State) -> bool {
    match (found, wanted) {
        (None, None) => true,
        (Some(found), Some(wanted)) => {
            wanted.as_object().into_iter().flatten().all(|(name, value)| &found[name] == value)
        }
        _ => false,
    }
}

/// The promises that are broken.
pub(crate) async fn broken(clients: &[Client; 3], promises: &[Promise]) -> Vec<String> {
    let checks = promises.iter().map(|promise| promise.is_broken(clients));
    stream::iter(checks).buffer_unordered(16).filter_map(std::future::ready).collect().await
}
