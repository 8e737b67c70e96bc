//! The trace context of W3C: which trace a call belongs to.

use std::{fmt::Write, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

const SAMPLED: u8 = 1;

/// The flags that are passed on: whether the trace is recorded, and whether its id is random.
const KNOWN_FLAGS: u8 = 3;

/// The most characters of `tracestate` that are passed on. Every system has to take as many.
const LONGEST_STATE: usize = 512;

/// A span of a trace, as calls pass it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    pub(crate) trace_id: [u8; 16],
    pub(crate) span_id: [u8; 8],
    pub(crate) flags: u8,
    pub(crate) state: Option<Arc<str>>,
}

impl TraceContext {
    pub(crate) fn new(trace_id: [u8; 16], span_id: [u8; 8], sampled: bool) -> Self {
        TraceContext { trace_id, span_id, flags: u8::from(sampled), state: None }
    }

    /// Another span of the same trace.
    pub(crate) fn with_span(&self, span_id: [u8; 8]) -> Self {
        TraceContext { span_id, ..self.clone() }
    }

    /// The context in the headers of a call; `None` if there is none, or if it is not valid.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
        let states: Option<Vec<_>> =
            headers.get_all(TRACESTATE).iter().map(|state| state.to_str().ok()).collect();
        TraceContext::parse(parent.to_str().ok()?, &states.unwrap_or_default().join(","))
    }

    /// The context in a text that [`TraceContext::to_text`] wrote.
    pub fn from_text(text: &str) -> Option<Self> {
        let (parent, state) = text.split_once(' ').unwrap_or((text, ""));
        TraceContext::parse(parent, state)
    }

    fn parse(parent: &str, state: &str) -> Option<Self> {
        let mut parts = parent.split('-');
        let [version] = digits(parts.next()?)?;
        let (trace_id, span_id) = (digits(parts.next()?)?, digits(parts.next()?)?);
        let [flags] = digits(parts.next()?)?;
        // A later version may have more parts.
        let is_version = version != 0xff && (version > 0 || parts.next().is_none());
        if !is_version || trace_id == [0; 16] || span_id == [0; 8] {
            return None;
        }
        let is_state = !state.is_empty() && state.len() <= LONGEST_STATE;
        let state = is_state.then(|| state.into());
        Some(TraceContext { trace_id, span_id, flags: flags & KNOWN_FLAGS, state })
    }

    /// The context as one text: `traceparent`, and after a blank `tracestate` if there is one.
    pub fn to_text(&self) -> String {
        let mut text = self.traceparent();
        if let Some(state) = &self.state {
            text.push(' ');
            text.push_str(state);
        }
        text
    }

    fn traceparent(&self) -> String {
        format!("00-{}-{}-{:02x}", hex(&self.trace_id), hex(&self.span_id), self.flags)
    }

    /// Adds the context to the headers of a call.
    pub fn add_to(&self, headers: &mut HeaderMap) {
        let parent = (TRACEPARENT, Some(self.traceparent()));
        let state = (TRACESTATE, self.state.as_deref().map(str::to_owned));
        for (name, value) in [parent, state] {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(name, value);
            }
        }
    }

    /// The id of the trace, in 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        hex(&self.trace_id)
    }

    /// Whether the spans of the trace are recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes of exactly so many lower-case hexadecimal digits.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    if text.len() != N * 2 || !text.bytes().all(is_digit) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn read(lines: &[(&'static str, &str)]) -> Option<TraceContext> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        TraceContext::from_headers(&headers)
    }

    #[test]
    fn valid_context_is_passed_on_unchanged() {
        let context =
            read(&[("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2,c=3")]).unwrap();
        assert_eq!(context.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert!(context.is_sampled());
        assert_eq!(context.to_text(), format!("{PARENT} a=1,b=2,c=3"));
        assert_eq!(TraceContext::from_text(&context.to_text()), Some(context.clone()));
        let mut headers = HeaderMap::new();
        context.add_to(&mut headers);
        assert_eq!(
            (headers.len(), &headers["traceparent"], &headers["tracestate"]),
            (2, &HeaderValue::from_static(PARENT), &HeaderValue::from_static("a=1,b=2,c=3"))
        );
        let bare = read(&[("traceparent", PARENT)]).unwrap();
        assert_eq!(bare.to_text(), PARENT);
        assert_eq!(TraceContext::from_text(PARENT), Some(bare));
    }

    #[test]
    fn flags_and_later_versions_are_read() {
        let flags = |flags: &str| read(&[("traceparent", &PARENT.replace("-01", flags))]).unwrap().to_text();
        assert!(flags("-00").ends_with("-00") && flags("-02").ends_with("-02"));
        assert!(flags("-ff").ends_with("-03"), "unknown flags are not passed on");
        for later in [PARENT.replacen("00", "01", 1), PARENT.replacen("00", "fe", 1) + "-more"] {
            assert_eq!(read(&[("traceparent", &later)]).unwrap().to_text(), PARENT);
        }
    }

    #[test]
    fn invalid_context_is_none() {
        for parent in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47360-0f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-0f067aa0ba902b7-01",
        ] {
            assert_eq!(read(&[("traceparent", parent)]), None, "{parent}");
        }
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[("tracestate", "a=1")]), None);
        assert_eq!(read(&[("traceparent", PARENT), ("traceparent", PARENT)]), None);
    }

    #[test]
    fn invalid_state_does_not_lose_the_trace() {
        for state in ["a=\u{e9}".to_owned(), "a".repeat(LONGEST_STATE + 1), String::new()] {
            let context = read(&[("traceparent", PARENT), ("tracestate", &state)]).unwrap();
            assert_eq!(context.to_text(), PARENT);
        }
    }
}
