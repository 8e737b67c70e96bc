//! The query string as a typed [`Input`].

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::{Input, form, read::read_query};
use crate::{problem::Problem, request::RequestContext};

/// The query string, read as a `T`.
pub struct Query<T>(pub T);

impl<S: Sync, T: Input> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let text = parts.uri.query().unwrap_or_default();
        let parameters = form::pairs(text).map_err(|why| Problem::invalid_at("?", why))?;
        read_query(&parameters, RequestContext::validation(&parts.extensions)).map(Query)
    }
}
