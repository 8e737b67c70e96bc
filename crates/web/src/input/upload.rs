//! A body that is a file.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;

use super::{
    collect::{collect, limits},
    content_type::{ContentType, unsupported},
};
use crate::{limits::RequestLimits, problem::Problem};

/// The bytes of a file of at most `MAX` bytes: an image, or whatever says nothing about itself.
pub struct Upload<const MAX: usize>(pub Bytes);

impl<S: Sync, const MAX: usize> FromRequest<S> for Upload<MAX> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        match ContentType::of(request.headers()) {
            Some(given) if !is_file(given) => {
                return Err(unsupported(&["application/octet-stream", "image/*"], Some(given.essence)));
            }
            _ => {}
        }
        let limits = RequestLimits { body_bytes: MAX, ..limits(&request) };
        collect(request, limits).await.map(Upload)
    }
}

fn is_file(given: ContentType<'_>) -> bool {
    let (kind, subtype) = given.essence.split_once('/').unwrap_or_default();
    given.is("application/octet-stream") || kind.eq_ignore_ascii_case("image") && !subtype.is_empty()
}
