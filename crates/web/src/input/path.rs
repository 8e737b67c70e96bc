//! A parameter in the path.

use axum::extract::FromRequestParts;
use http::request::Parts;
use percent_encoding::percent_decode_str;
use uuid::Uuid;

use super::{rules, unknown::UnknownParameters};
use crate::{problem::Problem, request::RequestContext};

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

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let context = RequestContext::of(&parts.extensions);
        let Some((route, encoded)) = context.and_then(RequestContext::path_parameter) else {
            return Err(Problem::internal("a handler reads a path parameter that its route does not have"));
        };
        let invalid = |why: &'static str| Problem::invalid_at(format!("{{{}}}", last_name(route)), why);
        let text = percent_decode_str(encoded).decode_utf8();
        let text = text.map_err(|_| invalid("has percent codes that are not UTF-8"))?;
        let read = T::parse(&text).map(Path).ok_or_else(|| invalid(T::WANTED));
        UnknownParameters::join(UnknownParameters::of(&parts.extensions, false), read)
    }
}

/// The name of the last parameter of a route: `eventId` of `/special-events/{eventId}`.
fn last_name(route: &str) -> &str {
    let last = route.rsplit_once('{').and_then(|(_, rest)| rest.split_once('}'));
    last.map_or("", |(name, _)| name)
}
