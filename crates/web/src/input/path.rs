//! A parameter in the path.

use axum::extract::{FromRequestParts, MatchedPath, RawPathParams};
use http::request::Parts;
use uuid::Uuid;

use super::{rules, unknown::UnknownParameters};
use crate::problem::Problem;

/// The last parameter of the path, read as a `T`.
pub struct Path<T>(pub T);

/// A type of a path parameter.
pub trait Param: Sized {
    /// The validation error for any other text.
    const WANTED: &'static str;

    fn parse(text: &str) -> Option<Self>;
}

impl Param for Uuid {
    const WANTED: &'static str = rules::NOT_A_UUID;

    fn parse(text: &str) -> Option<Self> {
        rules::parse_uuid(text)
    }
}

impl Param for i64 {
    const WANTED: &'static str = rules::NOT_AN_ID;

    fn parse(text: &str) -> Option<Self> {
        rules::whole(text)
    }
}

impl Param for String {
    const WANTED: &'static str = "must be text";

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl<S: Send + Sync, T: Param> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, state).await.map_err(|_| {
            let route = parts.extensions.get().map_or("", MatchedPath::as_str);
            Problem::invalid_at(format!("{{{}}}", last_name(route)), "has percent codes that are not UTF-8")
        })?;
        let Some((name, text)) = params.iter().last() else {
            return Err(Problem::internal("a handler reads a path parameter that its route does not have"));
        };
        let read = T::parse(text).map(Path);
        let read = read.ok_or_else(|| Problem::invalid_at(format!("{{{name}}}"), T::WANTED));
        UnknownParameters::join(UnknownParameters::of(&parts.extensions, false), read)
    }
}

/// The name of the last parameter of a route: `eventId` of `/special-events/{eventId}`.
fn last_name(route: &str) -> &str {
    let last = route.rsplit_once('{').and_then(|(_, rest)| rest.split_once('}'));
    last.map_or("", |(name, _)| name)
}
