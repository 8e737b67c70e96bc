//! A recorded call.

use std::{borrow::Cow, fmt, net::IpAddr, sync::Arc, time::Duration};

use http::{Method, StatusCode, Version};
use jiff::Timestamp;
use uuid::Uuid;
use web::{observe::CapturedHeaders, redact};

use super::{
    body::{KeptBody, PlainBody},
    headers::Headers,
};

/// How much of a path, of a query, or of another text of a call is kept, in bytes.
pub(super) const MOST_TEXT_BYTES: usize = 4 << 10;

/// How many events an entry lists.
const MOST_EVENTS: usize = 100;

/// A call that was answered, or whose connection was closed.
#[derive(Debug, Clone)]
pub struct NewCall<'a> {
    pub service: &'static str,
    /// The `operationId`; none for pages, documents, and paths that do not exist.
    pub operation: Option<&'a Arc<str>>,
    pub request_id: &'a Arc<str>,
    /// When it began, by the clock of the sandbox.
    pub time: Timestamp,
    pub duration: Duration,
    pub user: Option<&'a str>,
    /// The id of the OAuth client, or the name of the API key.
    pub client: Option<&'a str>,
    pub address: IpAddr,
    pub version: Version,
    pub method: &'a Method,
    /// Without the prefix of the sandbox.
    pub path: &'a str,
    pub query: Option<&'a str>,
    pub request: Message<'a>,
    /// Whether the body of the request was read to its end.
    pub read_to_end: bool,
    /// None if the head of the answer was not sent.
    pub status: Option<StatusCode>,
    pub answer: Message<'a>,
    /// The kind of the problem that was answered.
    pub problem: Option<&'static str>,
    /// The fault that was applied to the answer, by its name in the log.
    pub fault: Option<&'static str>,
    /// Whether the answer was not sent, or not to its end.
    pub aborted: bool,
    pub events: &'a [Uuid],
}

/// The headers of a message, and the beginning of its body.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    pub headers: CapturedHeaders,
    /// At least the first [`MOST_BODY_BYTES`](super::MOST_BODY_BYTES) of the body.
    pub body: &'a [u8],
    /// The length of the whole body.
    pub length: u64,
}

/// A recorded call. Long texts are cut. Its query, headers and bodies are private, as they have secrets, which are redacted when
/// they are shown.
pub struct Entry {
    /// Grows by one with each call.
    pub number: u64,
    pub service: &'static str,
    pub operation: Option<Arc<str>>,
    pub request_id: Arc<str>,
    pub time: Timestamp,
    pub duration: Duration,
    pub user: Option<Box<str>>,
    pub client: Option<Box<str>>,
    pub address: IpAddr,
    pub version: Version,
    pub method: Method,
    pub path: Box<str>,
    query: Option<Box<str>>,
    /// Whether the path or the query was cut.
    pub(super) is_target_cut: bool,
    pub(super) headers: Headers,
    pub(super) body: KeptBody,
    pub(super) read_to_end: bool,
    pub status: Option<StatusCode>,
    pub(super) answer_headers: Headers,
    pub(super) answer_body: KeptBody,
    pub problem: Option<&'static str>,
    pub fault: Option<&'static str>,
    pub aborted: bool,
    /// The events that the call caused.
    pub events: Box<[Uuid]>,
}

impl Entry {
    pub(super) fn new(call: NewCall<'_>) -> Self {
        let (body, answer_body) = (KeptBody::new(&call.request), KeptBody::new(&call.answer));
        Entry {
            number: 0,
            service: call.service,
            operation: call.operation.cloned(),
            request_id: call.request_id.clone(),
            time: call.time,
            duration: call.duration,
            user: call.user.map(cut),
            client: call.client.map(cut),
            address: call.address,
            version: call.version,
            method: call.method.clone(),
            path: cut(call.path),
            query: call.query.map(cut),
            is_target_cut: call.path.len().max(call.query.map_or(0, str::len)) > MOST_TEXT_BYTES,
            headers: Headers(call.request.headers),
            body,
            read_to_end: call.read_to_end,
            status: call.status,
            answer_headers: Headers(call.answer.headers),
            answer_body,
            problem: call.problem,
            fault: call.fault,
            aborted: call.aborted,
            events: call.events[..call.events.len().min(MOST_EVENTS)].into(),
        }
    }

    /// The query, with secrets redacted.
    pub fn query(&self) -> Option<Cow<'_, str>> {
        self.query.as_deref().map(redact::form)
    }

    /// The path with the query, with secrets redacted.
    pub fn target(&self) -> String {
        match self.query() {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.to_string(),
        }
    }

    pub(super) fn plain_body(&self) -> PlainBody {
        self.body.plain(&self.headers)
    }

    pub(super) fn plain_answer_body(&self) -> PlainBody {
        self.answer_body.plain(&self.answer_headers)
    }

    /// The bytes that it takes.
    pub(super) fn size(&self) -> usize {
        let texts = [&self.user, &self.client, &self.query];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        size_of::<Self>()
            + texts
            + self.request_id.len()
            + self.path.len()
            + self.method.as_str().len()
            + self.headers.size()
            + self.answer_headers.size()
            + self.body.size()
            + self.answer_body.size()
            + self.events.len() * size_of::<Uuid>()
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut entry = f.debug_struct("Entry");
        entry.field("number", &self.number).field("method", &self.method).field("path", &self.path);
        entry.field("status", &self.status).finish_non_exhaustive()
    }
}

/// The beginning of a text, up to a limit.
fn cut(text: &str) -> Box<str> {
    let mut end = text.len().min(MOST_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].into()
}
