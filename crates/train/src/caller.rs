//! The caller: an access token with the scope of the operation, and a call left in this hour.

use std::{
    marker::PhantomData,
    sync::{Arc, OnceLock},
};

use axum::{
    extract::{FromRequestParts, Request},
    middleware::Next,
    response::Response,
};
use http::{HeaderName, HeaderValue, request::Parts};
use identity::{
    oauth::bearer::{Authorized, Scopes},
    quota::{QuotaError, QuotaStatus},
};
use web::{Problem, Result};

use crate::Train;

pub(crate) struct Read;
impl Scopes for Read {
    const NEEDED: &'static [&'static str] = &["read"];
}

pub(crate) struct Write;
impl Scopes for Write {
    const NEEDED: &'static [&'static str] = &["write"];
}

/// A caller with the scope `S`.
pub(crate) struct Caller<S> {
    /// The subject of the token. Resources are visible only to the subject that owns them.
    pub(crate) subject: String,
    scopes: PhantomData<S>,
}

impl<S: Scopes> FromRequestParts<Train> for Caller<S> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, train: &Train) -> Result<Self> {
        let authorized = Authorized::<S>::from_request_parts(parts, train).await?;
        let subject = authorized.claims.subject.clone();
        let spent = train.quota.spend(&authorized.claims.metered()).await;
        let standing = match &spent {
            Ok(standing) | Err(QuotaError::UsedUp(standing)) => Some(*standing),
            Err(QuotaError::Db(_)) => None,
        };
        if let (Some(standing), Some(slot)) = (standing, parts.extensions.get::<QuotaSlot>()) {
            let _ = slot.0.set(standing);
        }
        spent.map_err(QuotaError::into_problem)?;
        Ok(Caller { subject, scopes: PhantomData })
    }
}

/// The caller's quota, for the header of the response.
#[derive(Clone, Default)]
struct QuotaSlot(Arc<OnceLock<QuotaStatus>>);

/// A layer that adds the quota of an authenticated caller to the response.
pub(crate) async fn add_rate_limit(mut request: Request, next: Next) -> Response {
    let slot = QuotaSlot::default();
    request.extensions_mut().insert(slot.clone());
    let mut response = next.run(request).await;
    if let Some(QuotaStatus { limit, remaining, reset }) = slot.0.get() {
        let value = format!("limit={limit}, remaining={remaining}, reset={reset}");
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(HeaderName::from_static("ratelimit"), value);
        }
    }
    response
}
