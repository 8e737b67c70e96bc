//! Headers of a call.

use std::fmt::Write;

use http::{HeaderMap, HeaderName, HeaderValue};
use web::redact;

/// How much of the headers of a message is kept, in bytes; further headers are left out.
const MOST_HEADER_BYTES: usize = 16 << 10;

/// Headers, one per line: a single allocation for all of them. A value has no line feed. Secrets are redacted when they are read,
/// as that takes longer than to record a call may take.
#[derive(Default)]
pub(super) struct Headers(Box<str>);

impl Headers {
    pub(super) fn new(headers: &HeaderMap) -> Self {
        let mut text = String::with_capacity(512);
        for (name, value) in headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            if text.len() + name.as_str().len() + value.len() + 3 > MOST_HEADER_BYTES {
                break;
            }
            let _ = writeln!(text, "{name}: {value}");
        }
        Headers(text.into())
    }

    /// The names and values, with secrets redacted.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, String)> {
        self.0.lines().filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let (header, value) = (HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?);
            Some((name, redact::header_value(&header, &value).into_owned()))
        })
    }

    pub(super) fn get(&self, wanted: &HeaderName) -> Option<String> {
        self.iter().find(|(name, _)| wanted == *name).map(|(_, value)| value)
    }

    pub(super) fn size(&self) -> usize {
        self.0.len()
    }
}
