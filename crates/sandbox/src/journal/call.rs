//! Entries as JSON.

use jiff::Timestamp;
use model::Resource;
use uuid::Uuid;

use super::{
    Entry,
    body::{PlainBody, RecordedBody},
    headers::Headers,
};

/// A call, without its headers and bodies.
#[derive(Debug, Clone, PartialEq, Resource)]
pub struct CallSummary {
    /// Grows by one with each call to the sandbox.
    #[field(example = 17)]
    pub number: i64,
    /// When the call began, by the clock of the sandbox.
    pub time: Timestamp,
    /// Milliseconds until the answer was sent, or the connection was closed.
    #[field(rule = number(0.0..=LONGEST_MS), example = 3.25)]
    pub duration_ms: f64,
    #[field(rule = text(..), example = "petstore")]
    pub service: String,
    /// The `operationId` of the operation.
    #[field(rule = text(..), example = "getPetById")]
    pub operation: Option<String>,
    pub caller: Caller,
    #[field(rule = text(..), example = "GET")]
    pub method: String,
    /// The path without the prefix of the sandbox, with the query.
    #[field(rule = text(..), example = "/v3/pet/1")]
    pub path: String,
    /// The status of the answer; absent if the connection was closed before.
    #[field(rule = integer(100_u16..=599), example = 404)]
    pub status: Option<u16>,
    /// The kind of the problem that was answered.
    #[field(rule = text(..), example = "not-found")]
    pub problem: Option<String>,
    /// The fault that was applied to the answer.
    #[field(rule = text(..), example = "cut-body")]
    pub fault: Option<String>,
    /// Whether the answer was not sent, or not to its end.
    pub aborted: bool,
}

/// What a sandbox was used for, as far as the journal of the process that answers knows.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(name = "SandboxActivity")]
pub struct Activity {
    /// How many calls it got since the journal was cleared.
    #[field(example = 17)]
    pub calls: i64,
    /// How many of them got an error, or no complete answer.
    #[field(example = 2)]
    pub errors: i64,
    pub last_call: Option<CallSummary>,
}

impl Activity {
    pub(super) fn new((calls, errors): (u64, u64), last: Option<&Entry>) -> Self {
        let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
        Activity { calls: number(calls), errors: number(errors), last_call: last.map(Entry::summary) }
    }
}

/// A call with its headers and bodies. Secrets are redacted.
#[derive(Debug, Clone, PartialEq, Resource)]
pub struct JournalCall {
    pub call: CallSummary,
    /// The header `X-Request-Id` of the answer.
    #[field(rule = text(..))]
    pub request_id: String,
    pub request: RecordedMessage,
    /// Without headers and a body if the connection was closed before.
    pub answer: RecordedMessage,
    /// The ids of the events that the call caused.
    #[field(items = 0..=100)]
    pub events: Vec<Uuid>,
    /// The webhook deliveries of the events, as they are now.
    #[field(items = 0..=2000)]
    pub deliveries: Vec<RecordedDelivery>,
}

/// The headers and the body of a request or of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Resource)]
#[resource(name = "JournalMessage")]
pub struct RecordedMessage {
    /// At most 16 KiB of headers.
    #[field(items = 0..=usize::MAX)]
    pub headers: Vec<Header>,
    pub body: Option<RecordedBody>,
}

/// A delivery of an event to a webhook subscription.
#[derive(Debug, Clone, PartialEq, Eq, Resource)]
#[resource(name = "JournalDelivery")]
pub struct RecordedDelivery {
    pub event: Uuid,
    pub subscription: Uuid,
    /// `ready`, `sending`, `waiting`, `delivered` or `failed`.
    #[field(rule = text(..), example = "delivered")]
    pub status: String,
    pub attempts: i64,
}

/// A day; no call takes longer.
const LONGEST_MS: f64 = 86_400_000.0;

/// The caller of a call.
#[derive(Debug, Clone, PartialEq, Eq, Resource)]
#[resource(name = "JournalCaller")]
pub struct Caller {
    /// The name of the user, if the credentials named one.
    #[field(rule = text(..), example = "demo")]
    pub user: Option<String>,
    /// The id of the OAuth client, or the name of the API key.
    #[field(rule = text(..))]
    pub client: Option<String>,
    /// The address of the client.
    #[field(rule = text(..), example = "192.0.2.7")]
    pub address: String,
}

/// A header.
#[derive(Debug, Clone, PartialEq, Eq, Resource)]
#[resource(name = "JournalHeader")]
pub struct Header {
    #[field(rule = text(..), example = "content-type")]
    pub name: String,
    #[field(rule = text(..), example = "application/json")]
    pub value: String,
}

impl Entry {
    /// The call as JSON, without its headers and bodies.
    pub fn summary(&self) -> CallSummary {
        CallSummary {
            number: self.number_in_json(),
            time: self.time,
            duration_ms: self.duration_ms(),
            service: self.service.to_string(),
            operation: text(self.operation.as_deref()),
            caller: self.caller(),
            method: self.method.to_string(),
            path: self.target(),
            status: self.status.map(|status| status.as_u16()),
            problem: text(self.problem.as_deref()),
            fault: text(self.fault.as_deref()),
            aborted: self.aborted,
        }
    }

    /// The call as JSON, with the deliveries of its events.
    pub fn call(&self, deliveries: Vec<RecordedDelivery>) -> JournalCall {
        let message = |headers: &Headers, body: PlainBody| RecordedMessage {
            headers: headers.shown(),
            body: body.shown(),
        };
        JournalCall {
            call: self.summary(),
            request_id: self.request_id.to_string(),
            request: message(&self.headers, self.plain_body()),
            answer: message(&self.answer_headers, self.plain_answer_body()),
            events: self.events.to_vec(),
            deliveries,
        }
    }

    /// Milliseconds, to the microsecond.
    pub(super) fn duration_ms(&self) -> f64 {
        self.duration.as_micros() as f64 / 1000.0
    }

    fn number_in_json(&self) -> i64 {
        i64::try_from(self.number).unwrap_or(i64::MAX)
    }

    fn caller(&self) -> Caller {
        Caller {
            user: text(self.user.as_deref()),
            client: text(self.client.as_deref()),
            address: self.address.to_string(),
        }
    }
}

impl Headers {
    pub(super) fn shown(&self) -> Vec<Header> {
        self.iter().map(|(name, value)| Header { name: name.into(), value }).collect()
    }
}

fn text(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}
