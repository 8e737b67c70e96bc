//! Headers of a call.

use http::{HeaderName, HeaderValue};
use web::{observe::CapturedHeaders, redact};

/// Headers as they came. Secrets are redacted when they are read, as that takes longer than to record a call may take.
#[derive(Default)]
pub(super) struct Headers(pub(super) CapturedHeaders<'static>);

impl Headers {
    /// The names and values, with secrets redacted.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, String)> {
        self.0
            .iter()
            .filter_map(|(name, value)| Some((name, redacted(&HeaderName::try_from(name).ok()?, value)?)))
    }

    pub(super) fn get(&self, wanted: &HeaderName) -> Option<String> {
        redacted(wanted, self.0.get(wanted)?)
    }
}

fn redacted(name: &HeaderName, value: &[u8]) -> Option<String> {
    let value = HeaderValue::try_from(&*String::from_utf8_lossy(value)).ok()?;
    Some(redact::header_value(name, &value).into_owned())
}
