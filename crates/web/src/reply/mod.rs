//! Successful answers.

mod list;
mod response_format;

use std::cell::RefCell;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;

pub use list::{Batch, list};
pub use response_format::ResponseFormat;

use crate::{negotiate::JSON, problem::Problem};

/// An answer in JSON.
pub struct Reply<T>(pub T);

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        match json(&self.0) {
            Ok(body) => answer(JSON, body),
            Err(error) => Problem::internal(error).into_response(),
        }
    }
}

/// An answer to a request that created a resource: 201, with its `Location`.
pub struct Created<T> {
    pub location: Option<String>,
    pub body: T,
}

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        created(self.location, Reply(self.body).into_response())
    }
}

/// Changes a 200 to 201 with a `Location`. A problem is not changed.
fn created(location: Option<String>, mut response: Response) -> Response {
    if response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::CREATED;
        if let Some(Ok(location)) = location.map(HeaderValue::try_from) {
            response.headers_mut().insert(header::LOCATION, location);
        }
    }
    response
}

/// A value as JSON. It is written into a buffer of the thread, so that the answer is allocated once, with its exact length.
fn json<T: Serialize>(value: &T) -> serde_json::Result<Bytes> {
    /// Larger buffers are not kept.
    const KEPT: usize = 64 * 1024;
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        serde_json::to_writer(&mut *buffer, value)?;
        let body = Bytes::copy_from_slice(buffer);
        if buffer.capacity() > KEPT {
            *buffer = Vec::new();
        }
        Ok(body)
    })
}

/// Room for the headers that dispatch and edge add, so that the map does not grow.
const HEADERS: usize = 12;

fn answer(media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.headers_mut() = HeaderMap::with_capacity(HEADERS);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
