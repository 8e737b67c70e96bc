//! Compression of answers that are large enough for it to be worth the time.

use std::convert::Infallible;

use axum::{body::Body, extract::Request, response::Response};
use http::{HeaderValue, header};
use tower::{Layer, Service, service_fn};
use tower_http::compression::{
    CompressionLayer,
    predicate::{NotForContentType, Predicate, SizeAbove},
};

/// The layer for pages, which are called rarely.
pub fn compression() -> CompressionLayer<impl Predicate> {
    CompressionLayer::new().compress_when(worth_it())
}

/// Images are compressed already. A stream of events must not wait until there is enough to compress.
fn worth_it() -> impl Predicate {
    SizeAbove::new(1400).and(NotForContentType::IMAGES).and(NotForContentType::SSE)
}

/// The answer to a client that sent these values of `Accept-Encoding`.
pub(crate) async fn compress(response: Response, accepted: Vec<HeaderValue>) -> Response {
    // With a quality, the client may reject even an answer that is not compressed.
    let has_quality = accepted.iter().any(|accepted| accepted.as_bytes().contains(&b';'));
    if !has_quality && !worth_it().should_compress(&response) {
        return response;
    }
    let mut request = Request::new(Body::empty());
    for accepted in accepted {
        request.headers_mut().append(header::ACCEPT_ENCODING, accepted);
    }
    let mut response = Some(response);
    let answer = service_fn(move |_: Request| {
        let response = response.take().unwrap_or_default();
        async { Ok::<_, Infallible>(response) }
    });
    let Ok(response) = compression().layer(answer).call(request).await;
    response.map(Body::new)
}
