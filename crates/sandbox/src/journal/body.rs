//! Bodies of a call.

use std::{borrow::Cow, io::Read};

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::read::GzDecoder;
use http::header;
use model::Resource;
use web::redact;

use super::{MOST_BODY_BYTES, headers::Headers};

/// The beginning of a body as it was sent. It is decompressed and redacted when it is shown, as that takes longer than to record
/// a call may take.
#[derive(Default)]
pub(super) struct KeptBody {
    bytes: Box<[u8]>,
    /// The length of the whole body.
    length: u64,
}

/// The compression of a body.
#[derive(PartialEq, Eq)]
enum Encoding {
    None,
    Gzip,
    /// Another one, or several.
    Other,
}

impl Encoding {
    fn of(headers: &Headers) -> Self {
        let values = headers.0.iter().filter(|(name, _)| *name == header::CONTENT_ENCODING.as_str());
        let codings = values.flat_map(|(_, value)| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
        let mut codings =
            codings.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"));
        match (codings.next(), codings.next()) {
            (None, _) => Encoding::None,
            (Some(coding), None) if is_gzip(coding) => Encoding::Gzip,
            _ => Encoding::Other,
        }
    }
}

/// Whether a body with these headers is compressed with gzip.
pub(super) fn is_compressed(headers: &Headers) -> bool {
    Encoding::of(headers) == Encoding::Gzip
}

/// Whether a content coding is gzip.
pub(super) fn is_gzip(coding: &[u8]) -> bool {
    coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip")
}

impl KeptBody {
    pub(super) fn new(bytes: &[u8], length: u64) -> Self {
        KeptBody { bytes: bytes.into(), length: length.max(bytes.len() as u64) }
    }

    /// The length of the whole body as it was sent.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The body without its compression and without secrets. `headers` are those of its message. Of a body that cannot be
    /// decompressed only the length is shown, as secrets cannot be found in it.
    pub(super) fn plain(&self, headers: &Headers) -> PlainBody {
        let media_type = headers.get(&header::CONTENT_TYPE);
        let media_type = media_type.as_deref();
        let (bytes, length, truncated) = match Encoding::of(headers) {
            Encoding::None => (Cow::from(&*self.bytes), self.length, self.length > self.bytes.len() as u64),
            Encoding::Gzip => self.decompressed(),
            Encoding::Other => (Cow::default(), self.length, self.length > 0),
        };
        let mut bytes = redacted(media_type, first(&bytes), truncated).into_owned();
        // Redaction may make a body longer.
        let truncated = truncated || bytes.len() > MOST_BODY_BYTES;
        bytes.truncate(MOST_BODY_BYTES);
        PlainBody { bytes, length, truncated }
    }

    /// The beginning of a compressed body, its length as far as it is known, and whether there is more.
    fn decompressed(&self) -> (Cow<'_, [u8]>, u64, bool) {
        let mut bytes = Vec::new();
        // One more than is shown, so that a longer body is noticed. The beginning of a body ends with an error.
        let read = GzDecoder::new(&*self.bytes).take(MOST_BODY_BYTES as u64 + 1).read_to_end(&mut bytes);
        let truncated = read.is_err() || bytes.len() > MOST_BODY_BYTES;
        let length = if bytes.is_empty() { self.length } else { bytes.len() as u64 };
        (bytes.into(), length, truncated)
    }
}

/// A body, or the first 16 KiB of it.
#[derive(Debug, Clone, PartialEq, Eq, Resource)]
#[resource(name = "JournalBody")]
pub struct RecordedBody {
    /// The body as text, or in base64.
    #[field(rule = text(..))]
    pub text: String,
    /// Whether `text` is base64, as the body is not UTF-8.
    pub base64: bool,
    /// The length of the whole body in bytes; of a compressed body, of what is decompressed of it.
    pub length: i64,
    /// Whether `text` is only the beginning.
    pub truncated: bool,
}

/// The beginning of a body without its compression, with secrets redacted.
pub(super) struct PlainBody {
    pub(super) bytes: Vec<u8>,
    /// The length of the whole body, or, of a compressed one, of what could be decompressed.
    pub(super) length: u64,
    pub(super) truncated: bool,
}

impl PlainBody {
    /// The body as text, if it is UTF-8.
    pub(super) fn text(&self) -> Option<&str> {
        as_text(&self.bytes, self.truncated)
    }

    pub(super) fn base64(&self) -> String {
        BASE64_STANDARD.encode(&self.bytes)
    }

    /// The body as JSON shows it; none if it is empty.
    pub(super) fn shown(&self) -> Option<RecordedBody> {
        if self.length == 0 {
            return None;
        }
        let text = self.text();
        Some(RecordedBody {
            base64: text.is_none(),
            text: text.map_or_else(|| self.base64(), str::to_owned),
            length: i64::try_from(self.length).unwrap_or(i64::MAX),
            truncated: self.truncated,
        })
    }
}

/// A body without secrets.
fn redacted<'b>(media_type: Option<&str>, bytes: &'b [u8], truncated: bool) -> Cow<'b, [u8]> {
    if let Some(text) = as_text(bytes, truncated) {
        return match redact::body(media_type, text) {
            Cow::Borrowed(text) => text.as_bytes().into(),
            Cow::Owned(text) => text.into_bytes().into(),
        };
    }
    if media_type.is_some_and(|media_type| media_type.starts_with("image/")) {
        return bytes.into();
    }
    // A secret must not appear because another byte of the body is wrong.
    let text = String::from_utf8_lossy(bytes);
    let redacted = redact::body(media_type, &text);
    if redacted == text { bytes.into() } else { redacted.into_owned().into_bytes().into() }
}

/// The bytes as text, if they are UTF-8. A character that the limit has cut is left out.
fn as_text(bytes: &[u8], truncated: bool) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() && truncated => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// The part of a body that is kept.
pub(super) fn first(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(MOST_BODY_BYTES)]
}
