//! What is recorded of a span.

use std::time::{Duration, Instant, SystemTime};

use crate::context::TraceContext;

/// What a span is about, with its number in OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A call that this process answers.
    Server = 2,
    /// A call that this process makes.
    Client = 3,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Word(&'static str),
    Text(String),
    Number(i64),
}

impl From<&'static str> for Value {
    fn from(word: &'static str) -> Self {
        Value::Word(word)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Value::Number(number.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Number(number)
    }
}

/// What is recorded of a span.
pub(crate) struct Recorded {
    pub(crate) service: &'static str,
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) context: TraceContext,
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) start: SystemTime,
    pub(crate) started: Instant,
    pub(crate) took: Duration,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    pub(crate) failed: bool,
}
