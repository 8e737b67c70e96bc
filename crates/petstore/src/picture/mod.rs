//! Pictures of pets, drawn from what identifies them: the same pet has the same picture, and no two are alike.
//!
//! A picture needs no credentials, since it is drawn from its address alone and reads no data.

mod colour;
mod dice;
mod draw;
mod scene;
mod shape;
mod species;

use axum::{
    Router,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderValue, header};
use model::Parameters;
use web::{Query, Result};

use crate::pet::LONGEST_NAME;

pub(crate) const PATH: &str = "/app/picture.svg";

/// What identifies a pet.
#[derive(Parameters)]
struct Subject {
    id: Option<i64>,
    #[field(rule = text(0..=LONGEST_NAME))]
    name: Option<String>,
    #[field(rule = text(0..=LONGEST_NAME))]
    category: Option<String>,
}

pub(crate) fn routes() -> Router {
    Router::new().route(PATH, get(picture))
}

async fn picture(Query(Subject { id, name, category }): Query<Subject>) -> Result<Response> {
    let image = draw::pet(id.unwrap_or_default(), &name.unwrap_or_default(), &category.unwrap_or_default());
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=86400")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((headers, image).into_response())
}
