//! Answers that are files of the caller.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{KnownFormat, Schema, SchemaFormat},
    },
};
use web::{input::rules::text_object, negotiate};

/// A file in the media type that the client chose. It has the code of a ticket, so it is not cached.
pub(crate) struct File {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl IntoResponse for File {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.media_type)),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        ];
        let mut response = (headers, self.bytes).into_response();
        negotiate::vary(&mut response);
        response
    }
}

impl PartialSchema for File {
    fn schema() -> RefOr<Schema> {
        text_object().format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))).into()
    }
}

impl ToSchema for File {}
