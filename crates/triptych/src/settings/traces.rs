//! Where the spans of traces are sent.

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

use super::SettingsError;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Traces {
    endpoint: String,
    sample_ratio: f64,
    queue: usize,
    /// May contain credentials.
    pub(super) headers: String,
}

impl Traces {
    /// The collector, if there is one.
    pub(crate) fn collector(&self) -> Result<Option<trace::Settings>, SettingsError> {
        if !(0.0..=1.0).contains(&self.sample_ratio) {
            return Err(SettingsError("traces.sample_ratio must be from 0 to 1".into()));
        }
        if self.queue == 0 {
            return Err(SettingsError("traces.queue must be at least 1".into()));
        }
        let headers = read_headers(&self.headers).ok_or_else(|| {
            SettingsError("traces.headers must be like name=value,other=value, with names of headers".into())
        })?;
        if self.endpoint.is_empty() {
            return Ok(None);
        }
        let address = read_address(&self.endpoint).ok_or_else(|| {
            SettingsError(
                "traces.endpoint must be the address of a collector without a user, a query and a fragment, like \
                 http://127.0.0.1:4318"
                    .into(),
            )
        })?;
        let Traces { sample_ratio, queue, .. } = *self;
        Ok(Some(trace::Settings { address, headers, sample_ratio, queue }))
    }
}

/// The address to which spans are sent, below that of the collector.
fn read_address(endpoint: &str) -> Option<Url> {
    let url = Url::parse(endpoint).ok()?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    let is_bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    (is_http && is_bare).then(|| Url::parse(&format!("{}/v1/traces", endpoint.trim_end_matches('/'))).ok())?
}

fn read_headers(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for header in text.split(',').map(str::trim).filter(|header| !header.is_empty()) {
        let (name, value) = header.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.append(HeaderName::try_from(name.trim()).ok()?, value);
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_for_spans_is_below_the_endpoint() {
        for (endpoint, address) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("https://otlp.example.com/a/", "https://otlp.example.com/a/v1/traces"),
        ] {
            assert_eq!(read_address(endpoint).unwrap().as_str(), address);
        }
        for endpoint in [
            "collector",
            "127.0.0.1:4318",
            "grpc://127.0.0.1:4317",
            "http://",
            "http://me@host",
            "http://me:secret@host",
            "http://host?a=b",
            "http://host#a",
        ] {
            assert_eq!(read_address(endpoint), None, "{endpoint}");
        }
    }

    #[test]
    fn headers_are_pairs_of_a_name_and_a_value() {
        let headers = read_headers(" authorization=Basic dXNlcg==, x-a=one%2C%20two,").unwrap();
        let mut found: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        found.sort_unstable();
        assert_eq!(found, [("authorization", "Basic dXNlcg=="), ("x-a", "one, two")]);
        assert!(read_headers("").unwrap().is_empty());
        for wrong in ["name", "na me=value", "=value", "name=%0A", "name=%FF"] {
            assert!(read_headers(wrong).is_none(), "{wrong}");
        }
    }
}
