//! The operations on images of pets.

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use db::Word;
use futures_util::stream;
use http::{HeaderValue, header};
use model::{Parameters, Resource};
use uuid::Uuid;
use web::{
    Both, Path, Problem, Query, Reply, Result, Upload,
    problem::{CONFLICT, NOT_FOUND},
};

use super::{
    LARGEST, LONGEST_METADATA, MediaType,
    file::ImageFile,
    store::{self, Image, Insertion},
};
use crate::{
    Petstore,
    caller::PetsCaller,
    pet::{self, photos::IMAGES},
};

/// The result of an upload.
#[derive(Resource)]
pub(crate) struct ApiResponse {
    #[field(example = 200)]
    code: i32,
    /// The media type that was detected from the bytes.
    #[field(name = "type", example = MediaType::Png)]
    media_type: MediaType,
    #[field(rule = text(1..))]
    message: String,
}

#[derive(Parameters)]
#[resource(case = "camelCase")]
pub(crate) struct Metadata {
    /// A note about the image, which the answer repeats.
    #[field(rule = text(0..=LONGEST_METADATA))]
    additional_metadata: Option<String>,
}

/// The bytes of an image.
type File = Upload<LARGEST>;

/// Send an image of a pet
///
/// The address of the image is added to the pet's `photoUrls`. A pet has at most 20 images with 50 MiB together. When the pet is
/// replaced, images whose address is not among the new `photoUrls` are deleted.
#[utoipa::path(
    post, path = "/pet/{petId}/uploadImage", operation_id = "uploadFile", tag = "pet",
    params(("petId" = i64, Path, description = "The pet's id."), Metadata),
    request_body(description = "The image, of at most 10 MiB.",
        content((inline(File) = "application/octet-stream"), (inline(File) = "image/*"))),
    responses(
        (status = 200, description = "The image is kept.", body = ApiResponse),
        (status = 400, description = "No file uploaded"),
        (status = 404, description = "There is no such pet."),
        (status = 409, description = "The pet has as many images as it may have."),
    ),
    security(("petstore_auth" = ["write:pets", "read:pets"])),
)]
pub(crate) async fn upload(
    _caller: PetsCaller,
    State(petstore): State<Petstore>,
    Both(Path(pet_id), Query(Metadata { additional_metadata })): Both<Path<i64>, Query<Metadata>>,
    ImageFile { bytes, metadata }: ImageFile,
) -> Result<Reply<ApiResponse>> {
    if bytes.is_empty() {
        return Err(Problem::invalid_at("#", "is empty; send the bytes of an image"));
    }
    let (size, media_type) = (bytes.len(), MediaType::of(&bytes));
    let id = petstore.random.uuid(petstore.clock.now());
    let address = format!("{}{IMAGES}{id}", petstore.address);
    let image = Image { id, pet_id, media_type, size: size as i64 };
    let kept = petstore.db.write(move |tx| store::insert(tx, &image, &address, &bytes)).await?;
    match kept {
        Insertion::Yes => {}
        Insertion::NoPet => return Err(pet::api::unknown()),
        Insertion::Full => {
            return Err(Problem::new(
                &CONFLICT,
                "The pet has as many images as it may have. Replace the pet with fewer photoUrls first.",
            ));
        }
    }
    let mut message = format!("{size} bytes kept");
    if let Some(metadata) = additional_metadata.or(metadata) {
        message = format!("{message}; additionalMetadata: {metadata}");
    }
    Ok(Reply(ApiResponse { code: 200, media_type, message }))
}

/// Get an image of a pet
///
/// The address is among the pet's `photoUrls`. No credentials are needed, so that pages can show the image.
#[utoipa::path(
    get, path = "/images/{imageId}", operation_id = "getImage", tag = "pet",
    params(("imageId" = Uuid, Path, description = "The image's id.")),
    responses(
        (status = 200, description = "The bytes of the image. What is not known to be one comes as a download.",
            content((inline(File) = "image/*"), (inline(File) = "application/octet-stream"))),
        (status = 404, description = "There is no such image."),
    ),
    security(()),
)]
pub(crate) async fn get(State(petstore): State<Petstore>, Path(id): Path<Uuid>) -> Result<Response> {
    let image = petstore.db.read(move |tx| store::by_id(tx, id)).await?;
    let Some(Image { media_type, size, .. }) = image else {
        return Err(Problem::new(&NOT_FOUND, "There is no image with this id."));
    };
    let parts = stream::try_unfold(0, move |number| {
        let db = petstore.db.clone();
        async move {
            let part = db.read_long(move |tx| store::part(tx, id, number)).await?;
            Ok::<_, db::Error>(part.map(|part| (Bytes::from(part), number + 1)))
        }
    });
    let disposition = if media_type == MediaType::Unknown { "attachment" } else { "inline" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type.word())),
        (header::CONTENT_LENGTH, HeaderValue::from(size)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static(disposition)),
        // No browser may run any part of the file.
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox")),
        // The bytes at this address never change.
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    Ok((headers, Body::from_stream(parts)).into_response())
}
