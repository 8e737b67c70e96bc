//! The messages of OTLP that carry spans. Fields that are not used here are left out.
//!
//! The crate that has all messages of OTLP also has the whole SDK of OpenTelemetry; these few are all that is needed.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use prost::{Message, Oneof};

use crate::recorded::{Recorded, Value};

/// The code of a status: an error.
const ERROR: i32 = 2;

#[derive(Message)]
struct ExportTraceServiceRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Message)]
struct InstrumentationScope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Message)]
struct Status {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Message)]
struct AnyValue {
    #[prost(oneof = "AnyValueKind", tags = "1, 3")]
    value: Option<AnyValueKind>,
}

#[derive(Oneof)]
enum AnyValueKind {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Number(i64),
}

/// The request that sends spans. The spans of each service have their own resource.
pub(crate) fn encode(spans: &[Recorded]) -> Vec<u8> {
    let mut by_service = BTreeMap::<_, Vec<_>>::new();
    for span in spans {
        by_service.entry(span.service).or_default().push(message(span));
    }
    let resource_spans = by_service.into_iter().map(|(service, spans)| of_service(service, spans)).collect();
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

fn of_service(service: &'static str, spans: Vec<Span>) -> ResourceSpans {
    let (name, version) = ("triptych", env!("CARGO_PKG_VERSION"));
    let attributes = [("service.name", service), ("service.namespace", name), ("service.version", version)];
    let attributes = attributes.map(|(key, value)| attribute(key, &Value::Word(value)));
    let scope = InstrumentationScope { name: name.into(), version: version.into() };
    ResourceSpans {
        resource: Some(Resource { attributes: attributes.into() }),
        scope_spans: vec![ScopeSpans { scope: Some(scope), spans }],
    }
}

fn message(span: &Recorded) -> Span {
    let context = &span.context;
    Span {
        trace_id: context.trace_id.into(),
        span_id: context.span_id.into(),
        trace_state: context.state.as_deref().unwrap_or_default().into(),
        parent_span_id: span.parent.map(Vec::from).unwrap_or_default(),
        name: span.name.clone(),
        kind: span.kind as i32,
        start_time_unix_nano: nanoseconds(span.start),
        end_time_unix_nano: nanoseconds(span.start + span.took),
        attributes: span.attributes.iter().map(|(key, value)| attribute(key, value)).collect(),
        status: span.failed.then_some(Status { code: ERROR }),
        flags: context.flags.into(),
    }
}

fn attribute(key: &str, value: &Value) -> KeyValue {
    let value = match value {
        Value::Word(word) => AnyValueKind::Text((*word).into()),
        Value::Text(text) => AnyValueKind::Text(text.clone()),
        Value::Number(number) => AnyValueKind::Number(*number),
    };
    KeyValue { key: key.into(), value: Some(AnyValue { value: Some(value) }) }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
