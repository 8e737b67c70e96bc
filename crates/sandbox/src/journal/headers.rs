//! Headers of a call.

use http::{HeaderName, HeaderValue};
use web::{observe::CapturedHeaders, redact};

/// Headers as they came. Secrets are redacted when they are read, as that takes longer than to record a call may take.
#[derive(Default)]
pub(super) struct Headers(pub(super) CapturedHeaders);

impl Headers {
    /// The names and values, with secrets redacted.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, String)> {
        self.0.iter().filter_map(|(name, value)| {
            let value = String::from_utf8_lossy(value);
            let (header, value) = (HeaderName::try_from(name).ok()?, HeaderValue::try_from(&*value).ok()?);
            Some((name, redact::header_value(&header, &value).into_owned()))
        })
    }

    pub(super) fn get(&self, wanted: &HeaderName) -> Option<String> {
        self.iter().find(|(name, _)| wanted == *name).map(|(_, value)| value)
    }

    pub(super) fn size(&self) -> usize {
        self.0.size()
    }
}
