//! Sending an image of a pet, and getting it back.

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;
use web::{
    Both, Path, Problem, Query, Reply, Result, Upload,
    input::{Fields, Input, rules},
    problem::{CONFLICT, NOT_FOUND},
};

use super::{
    LARGEST, PATH, UNKNOWN, media_type,
    store::{self, Kept, NewImage},
};
use crate::{Petstore, caller::PetsCaller, pet};

/// What became of an upload.
#[derive(Serialize, ToSchema)]
pub(crate) struct ApiResponse {
    #[schema(examples(200))]
    code: i32,
    /// The media type that the bytes were found to be of.
    #[serde(rename = "type")]
    #[schema(
        pattern = "^(image/(png|jpeg|gif|webp|avif|bmp)|application/octet-stream)$",
        examples("image/png")
    )]
    media_type: &'static str,
    #[schema(min_length = 1)]
    message: String,
}

/// The bytes of an image.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary, min_length = 1)]
pub(crate) struct Binary(#[expect(dead_code, reason = "only its schema is of use")] String);

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "the OpenAPI document reads it")]
pub(crate) struct UploadParameters {
    /// What there is to say about the image; the answer repeats it.
    #[param(rename = "additionalMetadata", max_length = 1000, required = false)]
    additional_metadata: String,
}

pub(crate) struct Metadata(Option<String>);

impl Input for Metadata {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.optional("additionalMetadata", rules::text(0..=1000)).map(Metadata)
    }
}

/// Send an image of a pet
///
/// The image's address joins the pet's `photoUrls`. A pet has at most 20 images of 50 MiB together; those whose address is
/// no longer among its `photoUrls` when it is replaced are removed.
#[utoipa::path(
    post, path = "/pet/{petId}/uploadImage", operation_id = "uploadFile", tag = "pet",
    params(("petId" = i64, Path, description = "The pet's id."), UploadParameters),
    request_body(description = "The image, of at most 10 MiB.",
        content((inline(Binary) = "application/octet-stream"), (inline(Binary) = "image/*"))),
    responses(
        (status = 200, description = "The image is kept.", body = ApiResponse),
        (status = 400, description = "No file uploaded"),
        (status = 403, description = "The access token lacks a scope."),
        (status = 404, description = "There is no such pet."),
        (status = 409, description = "The pet has as many images as it may have."),
    ),
    security(("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn upload(
    _caller: PetsCaller,
    State(petstore): State<Petstore>,
    Both(Path(pet), Query(Metadata(metadata))): Both<Path<i64>, Query<Metadata>>,
    Upload(bytes): Upload<LARGEST>,
) -> Result<Reply<ApiResponse>> {
    if bytes.is_empty() {
        return Err(Problem::invalid_at("#", "is empty; send the bytes of an image"));
    }
    let (size, media_type) = (bytes.len(), media_type(&bytes));
    let id = petstore.chance.uuid(petstore.clock.now());
    let address = format!("{}{PATH}{id}", petstore.address);
    let kept = petstore
        .db
        .write(move |tx| {
            store::insert(tx, &NewImage { id, pet, address: &address, media_type, bytes: &bytes })
        })
        .await?;
    match kept {
        Kept::Yes => {}
        Kept::NoPet => return Err(pet::api::unknown()),
        Kept::Full => {
            return Err(Problem::new(
                &CONFLICT,
                "The pet has as many images as it may have. Replace the pet with fewer photoUrls first.",
            ));
        }
    }
    let mut message = format!("{size} bytes kept");
    if let Some(metadata) = metadata {
        message = format!("{message}; additionalMetadata: {metadata}");
    }
    Ok(Reply(ApiResponse { code: 200, media_type, message }))
}

/// Get an image of a pet
///
/// Its address is among the pet's `photoUrls`, and all that is needed, so that pages can show it.
#[utoipa::path(
    get, path = "/images/{imageId}", operation_id = "getImage", tag = "pet",
    params(("imageId" = Uuid, Path, description = "The image's id.")),
    responses(
        (status = 200, description = "The bytes of the image. What is not known to be one comes as a download.",
            content((inline(Binary) = "image/*"), (inline(Binary) = "application/octet-stream"))),
        (status = 404, description = "There is no such image."),
    ),
    security(()),
)]
pub(crate) async fn get(State(petstore): State<Petstore>, Path(id): Path<Uuid>) -> Result<Response> {
    let image = petstore.db.read(move |tx| store::by_id(tx, id)).await?;
    let Some((media_type, size)) = image else {
        return Err(Problem::new(&NOT_FOUND, "There is no image with this id."));
    };
    let parts = stream::try_unfold(0, move |number| {
        let db = petstore.db.clone();
        async move {
            let part = db.read_long(move |tx| store::part(tx, id, number)).await?;
            Ok::<_, db::Error>(part.map(|part| (Bytes::from(part), number + 1)))
        }
    });
    let disposition = if media_type == UNKNOWN { "attachment" } else { "inline" };
    let content_type = HeaderValue::try_from(media_type).unwrap_or(HeaderValue::from_static(UNKNOWN));
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_LENGTH, HeaderValue::from(size)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static(disposition)),
        // Whatever it is, no browser is to run any of it.
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
        // The address is that of these bytes for ever.
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    Ok((headers, Body::from_stream(parts)).into_response())
}
