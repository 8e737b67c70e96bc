//! The headers of a message, and the first bytes of its body.

use http::{HeaderMap, HeaderName};

use super::headers::{self, CapturedHeaders};

/// How many bytes of a body are captured.
const MOST: usize = 16 * 1024;

/// Room for a usual body. A longer one gets more memory when it arrives.
const USUAL: u64 = 1024;

/// A message while it passes: its headers, then the first 16 KiB of its body, in one allocation.
#[derive(Debug, Clone)]
pub struct CapturedMessage {
    bytes: Vec<u8>,
    /// How many of the bytes are headers, and how many of these are headers that other messages may have as well.
    header_bytes: usize,
    common: usize,
    /// The length of the whole body: what was read or sent of it, or what its sender declared if that is more.
    pub length: u64,
    /// Whether the body was read or sent to its end.
    pub complete: bool,
    passed: u64,
}

impl CapturedMessage {
    /// A message before its body is read or sent. No other message has its header with the name `own`.
    pub(super) fn new(headers: &HeaderMap, own: Option<&HeaderName>, body: &impl http_body::Body) -> Self {
        let declared = body.size_hint().exact();
        let length = declared.unwrap_or_default();
        let complete = declared == Some(0) || body.is_end_stream();
        let (bytes, common) = headers::copy(headers, own, length.min(USUAL) as usize);
        CapturedMessage { header_bytes: bytes.len(), bytes, common, length, complete, passed: 0 }
    }

    pub fn headers(&self) -> CapturedHeaders<'_> {
        CapturedHeaders::in_message(&self.bytes[..self.header_bytes], self.common)
    }

    /// The first 16 KiB of the body.
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.header_bytes..]
    }

    /// Adds a part of the body.
    pub(super) fn add(&mut self, part: &[u8]) {
        self.passed += part.len() as u64;
        self.length = self.length.max(self.passed);
        let room = self.header_bytes + MOST - self.bytes.len();
        self.bytes.extend_from_slice(&part[..part.len().min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use bytes::Bytes;
    use futures_util::{StreamExt, stream};

    use super::*;

    fn captured(body: &Body, parts: &[&[u8]]) -> CapturedMessage {
        let headers = HeaderMap::from_iter([(http::header::ACCEPT, "a".parse().unwrap())]);
        let mut message = CapturedMessage::new(&headers, None, body);
        for part in parts {
            message.add(part);
        }
        assert_eq!(message.headers(), CapturedHeaders::new(&headers));
        message
    }

    fn of_unknown_length() -> Body {
        Body::from_stream(stream::pending::<std::io::Result<Bytes>>().boxed())
    }

    #[test]
    fn parts_are_joined() {
        let message = captured(&of_unknown_length(), &[b"ab", b"", b"c", b"def"]);
        assert_eq!((message.body(), message.length), (&b"abcdef"[..], 6));
    }

    #[test]
    fn first_16_kib_are_captured_and_the_rest_is_counted() {
        let (large, piece) = (vec![b'x'; 3 * MOST], vec![b'y'; MOST - 10]);
        let message = captured(&of_unknown_length(), &[&large]);
        assert_eq!((message.body(), message.length), (&large[..MOST], 3 * MOST as u64));
        let message = captured(&of_unknown_length(), &[&piece, &piece, &piece]);
        assert_eq!((message.body(), message.length), (&[b'y'; MOST][..], 3 * piece.len() as u64));
    }

    #[test]
    fn declared_length_counts_if_less_was_read() {
        let message = captured(&vec![b'x'; 100].into(), &[b"abc"]);
        assert_eq!((message.body(), message.length, message.complete), (&b"abc"[..], 100, false));
        assert_eq!(captured(&"xx".into(), &[b"abc"]).length, 3);
        assert!(captured(&Body::empty(), &[]).complete && !captured(&of_unknown_length(), &[]).complete);
    }
}
