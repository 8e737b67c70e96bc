//! The habits of the public sample server, which the pet store has while its controls say `public-petstore`.
//!
//! Each is one field here and one row of `docs/compat.md`, with a test.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, Uri, header, uri::PathAndQuery};
use web::{Adapter, Compat, KeepBody, Problem};

use crate::Petstore;

/// The path in front of the API's own prefix on the public server.
const API: &str = "/api";

/// What the store does as the public server does. Strict is none of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Habits {
    /// The API answers below `/api/v3` as well.
    pub(crate) api_prefix: bool,
    /// No operation needs credentials.
    pub(crate) sign_in_off: bool,
    /// A log-in accepts any name and password.
    pub(crate) login_accepts_anyone: bool,
    /// Every caller can change and delete every user of the demo.
    pub(crate) anyone_changes_users: bool,
    /// An order can be for a pet that does not exist.
    pub(crate) orders_for_missing_pets: bool,
    /// Orders with an id above 1000 can be deleted.
    pub(crate) any_order_is_deleted: bool,
    /// Deleting a resource that does not exist is a success.
    pub(crate) missing_is_deleted: bool,
    /// In JSON, `"10"` is a number and `"true"` a boolean.
    pub(crate) texts_as_values: bool,
    /// Errors, and answers without a resource, are plain text.
    pub(crate) plain_text: bool,
    /// An image can be sent as a part of a form.
    pub(crate) multipart_upload: bool,
}

impl Habits {
    const PUBLIC_PETSTORE: Habits = Habits {
        api_prefix: true,
        sign_in_off: true,
        login_accepts_anyone: true,
        anyone_changes_users: true,
        orders_for_missing_pets: true,
        any_order_is_deleted: true,
        missing_is_deleted: true,
        texts_as_values: true,
        plain_text: true,
        multipart_upload: true,
    };

    pub(crate) fn of(compat: Compat) -> Self {
        match compat {
            Compat::Strict => Habits::default(),
            Compat::PublicPetstore => Habits::PUBLIC_PETSTORE,
        }
    }

    /// The answer to a call that succeeded and has no resource to show.
    pub(crate) fn done(self, sentence: &'static str) -> Response {
        if self.plain_text { plain_text(StatusCode::OK, sentence) } else { StatusCode::OK.into_response() }
    }

    /// The answer to a call that deletes a resource.
    pub(crate) fn deleted(
        self,
        found: bool,
        sentence: &'static str,
        unknown: Problem,
    ) -> Result<Response, Problem> {
        if found || self.missing_is_deleted { Ok(self.done(sentence)) } else { Err(unknown) }
    }
}

fn plain_text(status: StatusCode, text: impl Into<Body>) -> Response {
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    (status, [(header::CONTENT_TYPE, plain)], text.into()).into_response()
}

/// The text of a problem. A text has no list of validation errors, so that it names the first of several.
fn message(problem: &Problem) -> String {
    match problem.errors() {
        [first, _, ..] => {
            let count = problem.errors().len();
            format!("{} {}. This is the first of {count} errors.", first.pointer, first.detail)
        }
        _ => problem.detail().to_owned(),
    }
}

/// The habits that hold for every request: where the API is, and the format of its errors.
impl Adapter for Petstore {
    fn request(&self, request: &mut Request) {
        if !request.uri().path().starts_with("/api/v3") || !self.habits().api_prefix {
            return;
        }
        let path = request.uri().path_and_query().and_then(|path| path.as_str().strip_prefix(API));
        let Some(path) = path.and_then(|path| path.parse::<PathAndQuery>().ok()) else { return };
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(path);
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }

    fn response(&self, response: &mut Response) {
        // The cause of a server error must reach the log.
        if !response.status().is_client_error() || !self.habits().plain_text {
            return;
        }
        let Some(problem) = response.extensions_mut().remove::<Arc<Problem>>() else { return };
        let text = message(&problem);
        response.headers_mut().insert(header::CONTENT_LENGTH, text.len().into());
        let (parts, body) = plain_text(problem.status(), text).into_parts();
        response.headers_mut().extend(parts.headers);
        response.extensions_mut().insert(KeepBody);
        *response.body_mut() = body;
    }
}
