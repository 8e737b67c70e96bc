//! A body that is a file.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{KnownFormat, Schema, SchemaFormat},
    },
};

use super::{
    collect::collect,
    content_type::{ContentType, unsupported},
    rules::text_object,
};
use crate::{limits::RequestLimits, problem::Problem, request::RequestContext};

/// A file of at most `MAX` bytes: an image, `application/octet-stream`, or a body without a media type.
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
        let limits = RequestLimits { body_bytes: MAX, ..RequestContext::limits(request.extensions()) };
        collect(request, limits).await.map(Upload)
    }
}

impl<const MAX: usize> PartialSchema for Upload<MAX> {
    fn schema() -> RefOr<Schema> {
        let bytes = text_object().format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)));
        bytes.description(Some("The bytes of an image.")).min_length(Some(1)).into()
    }
}

impl<const MAX: usize> ToSchema for Upload<MAX> {}

fn is_file(given: ContentType<'_>) -> bool {
    let (kind, subtype) = given.essence.split_once('/').unwrap_or_default();
    given.is("application/octet-stream") || kind.eq_ignore_ascii_case("image") && !subtype.is_empty()
}
