//! The body as a typed [`Input`].

use std::borrow::Cow;

use axum::{
    body::HttpBody,
    extract::{FromRequest, Request},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde_json::Value;

use super::{
    Fields, Input,
    form::{self, Pairs},
    repeats,
};
use crate::{
    limits::RequestLimits,
    problem::{Problem, TOO_LARGE, TOO_SLOW, UNSUPPORTED_MEDIA_TYPE},
};

/// The body, read as a `T`.
pub struct Body<T>(pub T);

impl<S: Sync, T: Input> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        expect_json(request.headers())?;
        let bytes = collect(request).await?;
        let body = parse(&bytes)?;
        Fields::of_body(&body).map(Body)
    }
}

/// A form (`application/x-www-form-urlencoded`) as its names and values.
pub struct Form(pub Pairs<'static>);

impl<S: Sync> FromRequest<S> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        const FORM: &str = "application/x-www-form-urlencoded";
        let essence = essence(request.headers());
        if !essence.is_some_and(|essence| essence.eq_ignore_ascii_case(FORM)) {
            return Err(Problem::new(&UNSUPPORTED_MEDIA_TYPE, format!("The body must be sent as {FORM}.")));
        }
        let bytes = collect(request).await?;
        let text = std::str::from_utf8(&bytes).map_err(|_| Problem::invalid_at("#", "is not UTF-8"))?;
        let pairs = form::pairs(text).map_err(|why| Problem::invalid_at("#", why))?;
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Ok(Form(pairs.into_iter().map(|(name, value)| (owned(name), owned(value))).collect()))
    }
}

/// What a body says that it is, without its parameters.
fn essence(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or("unreadable"));
    given.map(|value| value.split(';').next().unwrap_or_default().trim())
}

fn expect_json(headers: &HeaderMap) -> Result<(), Problem> {
    match essence(headers) {
        Some(essence) if essence.eq_ignore_ascii_case("application/json") => Ok(()),
        Some(other) => Err(Problem::new(
            &UNSUPPORTED_MEDIA_TYPE,
            format!("The body must be sent as application/json, not as {}.", shortened(other)),
        )),
        None => Err(Problem::new(
            &UNSUPPORTED_MEDIA_TYPE,
            "The body must be sent as application/json; the request has no Content-Type.",
        )),
    }
}

fn parse(bytes: &[u8]) -> Result<Value, Problem> {
    if bytes.is_empty() {
        return Err(Problem::invalid_at("#", "is empty; a JSON object is required"));
    }
    if std::str::from_utf8(bytes).is_err() {
        return Err(Problem::invalid_at("#", "is not UTF-8"));
    }
    let body = serde_json::from_slice(bytes)
        .map_err(|error| Problem::invalid_at("#", format!("is not valid JSON: {error}")))?;
    match repeats::first(bytes) {
        Some(place) => Err(Problem::invalid_at(place, "is given more than once")),
        None => Ok(body),
    }
}

/// Reads the whole body, within the limits on size and time.
async fn collect(request: Request) -> Result<Bytes, Problem> {
    let limits = request.extensions().get().copied().unwrap_or_else(RequestLimits::default);
    let waits = request.headers().contains_key(header::EXPECT);
    let body = request.into_body();
    let read = async {
        if body.size_hint().lower() > limits.body_bytes as u64 {
            // Who waits for a go-ahead has sent nothing yet that would have to be thrown away.
            let body = if waits { axum::body::Body::empty() } else { body };
            return Err(too_large(body, limits).await);
        }
        read_up_to(body, limits).await
    };
    tokio::time::timeout(limits.body_time, read).await.unwrap_or_else(|_| {
        let seconds = limits.body_time.as_secs();
        Err(Problem::new(&TOO_SLOW, format!("The body did not arrive within {seconds} seconds.")))
    })
}

async fn read_up_to(mut body: axum::body::Body, limits: RequestLimits) -> Result<Bytes, Problem> {
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Err(Problem::invalid_at("#", "broke off before its end"));
        };
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + whole.len() + data.len() > limits.body_bytes {
            return Err(too_large(body, limits).await);
        }
        // Nearly every body is one frame, which needs no copy.
        if first.is_empty() && whole.is_empty() {
            first = data;
            continue;
        }
        whole.extend_from_slice(&std::mem::take(&mut first));
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() { first } else { whole.freeze() })
}

/// Refuses a body, having thrown away what is still arriving of it: a client that is still sending when the
/// connection closes never reads the answer. What is thrown away is bounded too.
async fn too_large(mut body: axum::body::Body, limits: RequestLimits) -> Problem {
    let mut left = limits.discarded_bytes;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, Bytes::len);
        let Some(rest) = left.checked_sub(size) else { break };
        left = rest;
    }
    Problem::new(&TOO_LARGE, format!("The body must be at most {} bytes long.", limits.body_bytes))
}

/// What a client sent, short enough to be told back.
fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}
