//! Problems in XML, for services that speak it.

use std::panic::AssertUnwindSafe;

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;

use super::render::InXml;
use crate::{
    negotiate::{prefers_xml, vary},
    server::{is_refusal, panicked},
};

/// Goes around a whole service and marks what it refuses, if the client would rather read XML. The edge writes the
/// document, but cannot know whether the service speaks XML. A panic is caught here already, since beyond this
/// layer there is no answer left to mark.
pub(crate) async fn in_xml(request: Request, next: Next) -> Response {
    let xml = prefers_xml(request.headers());
    let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answer.unwrap_or_else(|panic| panicked(panic.as_ref()).into_response());
    if is_refusal(&response) {
        vary(&mut response);
        if xml {
            response.extensions_mut().insert(InXml);
        }
    }
    response
}
