//! A recorded call.

use std::{
    borrow::Cow,
    fmt,
    net::IpAddr,
    time::{Duration, Instant},
};

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
pub(super) const MOST_EVENTS: usize = 100;

/// A call that was answered, or whose connection was closed.
#[derive(Debug, Clone)]
pub struct NewCall<'a> {
    pub service: &'a str,
    /// The `operationId`; none for pages, documents, and paths that do not exist.
    pub operation: Option<&'a str>,
    pub request_id: &'a str,
    /// When it began, by the clock of the sandbox.
    pub time: Timestamp,
    pub duration: Duration,
    /// Calls are listed in this order.
    pub ended: Instant,
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
    pub problem: Option<&'a str>,
    /// The fault that was applied to the answer, by its name in the log.
    pub fault: Option<&'a str>,
    /// Whether the answer was not sent, or not to its end.
    pub aborted: bool,
    pub events: &'a [Uuid],
}

/// The headers of a message, and the beginning of its body.
#[derive(Debug, Clone, Default)]
pub struct Message<'a> {
    pub headers: CapturedHeaders<'a>,
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
    /// The bytes that it takes in the journal.
    #[cfg(test)]
    pub(super) size: usize,
    pub service: Box<str>,
    pub operation: Option<Box<str>>,
    pub request_id: Box<str>,
    pub time: Timestamp,
    pub duration: Duration,
    pub user: Option<Box<str>>,
    pub client: Option<Box<str>>,
    pub address: IpAddr,
    pub version: Version,
    pub method: Method,
    pub path: Box<str>,
    pub(super) query: Option<Box<str>>,
    /// Whether the path or the query was cut.
    pub(super) is_target_cut: bool,
    pub(super) headers: Headers,
    pub(super) body: KeptBody,
    pub(super) read_to_end: bool,
    pub status: Option<StatusCode>,
    pub(super) answer_headers: Headers,
    pub(super) answer_body: KeptBody,
    pub problem: Option<Box<str>>,
    pub fault: Option<Box<str>>,
    pub aborted: bool,
    /// The events that the call caused.
    pub events: Box<[Uuid]>,
}

impl Entry {
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
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut entry = f.debug_struct("Entry");
        entry.field("number", &self.number).field("method", &self.method).field("path", &self.path);
        entry.field("status", &self.status).finish_non_exhaustive()
    }
}
