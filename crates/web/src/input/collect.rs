//! Reads the bytes of a body, within limits.

use axum::{body::HttpBody, extract::Request};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use crate::{
    limits::RequestLimits,
    problem::{Problem, TOO_LARGE, TOO_SLOW},
    request::RequestContext,
};

/// Reads the whole body, within the limits on size and time. The rest of a rejected body is not read here: the connection
/// discards it while it closes.
pub(super) async fn collect(request: Request, limits: RequestLimits) -> Result<Bytes, Problem> {
    let context = RequestContext::of(request.extensions()).cloned();
    let body = request.into_body();
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(too_large(limits));
    }
    let read = read_up_to(body, limits, context);
    tokio::time::timeout(limits.body_time, read).await.unwrap_or_else(|_| {
        let seconds = limits.body_time.as_secs();
        Err(Problem::new(&TOO_SLOW, format!("The body did not arrive within {seconds} seconds.")))
    })
}

async fn read_up_to(
    mut body: axum::body::Body,
    limits: RequestLimits,
    context: Option<RequestContext>,
) -> Result<Bytes, Problem> {
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Err(Problem::invalid_at("#", "broke off before its end"));
        };
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + whole.len() + data.len() > limits.body_bytes {
            return Err(too_large(limits));
        }
        if let Some(context) = &context {
            context.reserve(data.len())?;
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

fn too_large(limits: RequestLimits) -> Problem {
    Problem::new(&TOO_LARGE, format!("The body must be at most {} bytes long.", limits.body_bytes))
}
