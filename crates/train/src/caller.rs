//! The caller: an access token with the scope of the operation, and a call left in this hour.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use http::{HeaderValue, request::Parts};
use identity::{
    oauth::bearer::{Authorized, Scopes},
    quota::{QuotaError, QuotaStatus},
};
use web::{Problem, RequestContext, Result};

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
        if let Ok(status) | Err(QuotaError::UsedUp(status)) = &spent {
            add_rate_limit(parts, status);
        }
        spent.map_err(QuotaError::into_problem)?;
        Ok(Caller { subject, scopes: PhantomData })
    }
}

/// Adds the quota of an authenticated caller to the response.
fn add_rate_limit(parts: &Parts, QuotaStatus { limit, remaining, reset }: &QuotaStatus) {
    let value = format!("limit={limit}, remaining={remaining}, reset={reset}");
    if let Ok(value) = HeaderValue::try_from(value) {
        RequestContext::set_rate_limit(&parts.extensions, value);
    }
}
