//! Decisions about calls and deliveries before they are done.
//!
//! A gate decides about a call before it is done. An application sets one with [`crate::RequestContext::set_gate`], for example to
//! let calls fail on purpose. Requests without a gate cost nothing more.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

use crate::problem::Result;

/// Decides about a call. It may let the call wait. An error is the answer instead of the work.
pub trait Gate: Send + Sync {
    /// Before the call of an operation, by its id in the OpenAPI document, or of another path.
    fn before<'a>(&'a self, operation: Option<&'a str>) -> BoxFuture<'a, Result<()>>;

    /// When the caller is known, before the work. A call that needs two credentials comes here twice.
    fn signed_in<'a>(&'a self, user: Option<&'a str>, client: Option<&'a str>) -> BoxFuture<'a, Result<()>>;
}

/// How a delivery of a webhook fails on purpose, instead of being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryFault {
    /// As if it was answered with this status.
    Status(u16),
    /// As if it was not answered.
    Timeout,
}

/// Decides whether a delivery fails on purpose.
#[derive(Clone)]
pub struct DeliveryGate(pub Arc<dyn Fn() -> BoxFuture<'static, Option<DeliveryFault>> + Send + Sync>);

impl fmt::Debug for DeliveryGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeliveryGate")
    }
}
