//! Extractors of several parts of a request that report the validation errors of all parts together.

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;

use crate::problem::Problem;

/// Two parts of the request's head: the path and the query string.
pub struct Both<A, B>(pub A, pub B);

impl<S, A, B> FromRequestParts<S> for Both<A, B>
where
    S: Send + Sync,
    A: FromRequestParts<S, Rejection = Problem> + Send,
    B: FromRequestParts<S, Rejection = Problem>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let first = A::from_request_parts(parts, state).await;
        let (first, second) = join(first, B::from_request_parts(parts, state).await)?;
        Ok(Both(first, second))
    }
}

/// A part of the request's head, such as the path, and the body.
pub struct WithBody<A, B>(pub A, pub B);

impl<S, A, B> FromRequest<S> for WithBody<A, B>
where
    S: Send + Sync,
    A: FromRequestParts<S, Rejection = Problem> + Send,
    B: FromRequest<S, Rejection = Problem>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let first = A::from_request_parts(&mut parts, state).await;
        let second = B::from_request(Request::from_parts(parts, body), state).await;
        let (first, second) = join(first, second)?;
        Ok(WithBody(first, second))
    }
}

/// Both values, or the validation errors of both.
fn join<A, B>(first: Result<A, Problem>, second: Result<B, Problem>) -> Result<(A, B), Problem> {
    match (first, second) {
        (Ok(first), Ok(second)) => Ok((first, second)),
        (Err(first), Err(second)) => Err(first.with_errors_of(second)),
        (Err(problem), Ok(_)) | (Ok(_), Err(problem)) => Err(problem),
    }
}
