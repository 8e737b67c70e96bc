//! The caller: an account that signed in and has a call left in this hour.

use axum::extract::FromRequestParts;
use http::request::Parts;
use identity::quota::{QuotaError, user};
use uuid::Uuid;
use web::Problem;

use crate::Museum;

/// A caller who signed in. An operation with this argument cannot be reached without sign-in.
pub(crate) struct Caller {
    pub(crate) account: Uuid,
}

impl FromRequestParts<Museum> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, museum: &Museum) -> Result<Self, Problem> {
        let identity::Caller { account } = identity::Caller::from_request_parts(parts, museum).await?;
        museum.quota.spend(&user(account)).await.map_err(QuotaError::into_problem)?;
        Ok(Caller { account })
    }
}
