//! A body that no parser of JSON or XML accepts.

use axum::{body::Body, response::Response};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;

/// How much of a body is used.
const MOST: usize = 64 * 1024;

/// JSON allows no control character, and XML no U+0001.
const FORBIDDEN: &[u8] = b"\x01";

/// The first half of the body, then a forbidden character. The half of a compressed body would be a fault of the compression, so
/// the answer gets another body instead.
pub(super) async fn malformed(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let first = first(body).await;
    if first.is_empty() {
        return Response::from_parts(parts, Body::empty());
    }
    let kept: &[u8] = match parts.headers.remove(header::CONTENT_ENCODING) {
        Some(_) if is_xml(&parts.headers) => b"<malformed",
        Some(_) => br#"{"malformed":"#,
        None => &first[..first.len() / 2],
    };
    let body = Bytes::from([kept, FORBIDDEN].concat());
    parts.headers.insert(header::CONTENT_LENGTH, body.len().into());
    Response::from_parts(parts, body.into())
}

async fn first(mut body: Body) -> Bytes {
    let mut first = BytesMut::new();
    // A body that breaks off is malformed after what has come of it.
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        first.extend_from_slice(&data[..data.len().min(MOST - first.len())]);
        if first.len() == MOST {
            break;
        }
    }
    first.freeze()
}

fn is_xml(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media_type.is_some_and(|media_type| media_type.contains("xml"))
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    #[tokio::test]
    async fn no_document_is_valid_after_it() {
        let long = format!("[{}1]", "1,".repeat(MOST));
        for json in ["{\"a\":1}", "[]", "12", "\"a b\"", "1", &long] {
            let response = malformed(json.to_owned().into_response()).await;
            let length =
                response.headers()[header::CONTENT_LENGTH].to_str().unwrap().parse::<usize>().unwrap();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!((length, body.len() <= MOST), (body.len(), true));
            assert!(serde_json::from_slice::<serde_json::Value>(&body).is_err(), "{body:?}");
        }
        for xml in ["<a/>", "<?xml version=\"1.0\"?><a>text</a>"] {
            let body = malformed(xml.into_response()).await.into_body().collect().await.unwrap().to_bytes();
            assert!(
                body.starts_with(&xml.as_bytes()[..xml.len() / 2]) && body.ends_with(b"\x01"),
                "{body:?}"
            );
        }
    }

    #[tokio::test]
    async fn compressed_body_is_replaced_by_a_plain_one() {
        for (media_type, text) in
            [("application/problem+xml", "<malformed\x01"), ("application/json", "{\"malformed\":\x01")]
        {
            let headers = [(header::CONTENT_ENCODING, "gzip"), (header::CONTENT_TYPE, media_type)];
            let response = malformed((headers, "compressed").into_response()).await;
            assert!(!response.headers().contains_key(header::CONTENT_ENCODING));
            assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), text);
        }
    }

    #[tokio::test]
    async fn answer_without_a_body_is_not_changed() {
        let response = malformed(http::StatusCode::NO_CONTENT.into_response()).await;
        assert!(response.headers().is_empty());
    }
}
