//! A body of any media type.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;

use super::collect::collect;
use crate::{limits::RequestLimits, problem::Problem, request::RequestContext};

/// The bytes of a body of at most `MAX` bytes.
pub struct RawBody<const MAX: usize>(pub Bytes);

impl<S: Sync, const MAX: usize> FromRequest<S> for RawBody<MAX> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let limits = RequestLimits { body_bytes: MAX, ..RequestContext::limits(request.extensions()) };
        collect(request, limits).await.map(RawBody)
    }
}
