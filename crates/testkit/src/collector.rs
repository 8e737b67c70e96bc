//! Receives spans by OTLP over HTTP, as a collector does.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value},
    resource::v1::Resource,
    trace::v1::{Span, status::StatusCode},
};
use prost::Message;
use serde_json::{Value, json};

use crate::receiver::{Got, Receiver, Reply};

/// The first part of the path to which spans are sent.
const PATH: &str = "v1";

/// A collector, with scripted answers.
pub struct Collector(Receiver);

/// A span that arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// The attributes of its resource.
    pub resource: Value,
    pub name: String,
    /// 2 for a server, 3 for a client.
    pub kind: i32,
    pub trace_id: String,
    pub id: String,
    /// Empty if it starts a trace.
    pub parent: String,
    pub state: String,
    pub attributes: Value,
    pub failed: bool,
    /// When it started and ended, in nanoseconds since 1970.
    pub time: (u64, u64),
}

impl Collector {
    pub async fn start() -> Self {
        Collector(Receiver::start().await)
    }

    /// Its address, as the setting `traces.endpoint` names it.
    pub fn endpoint(&self) -> String {
        self.0.url("").as_str().trim_end_matches('/').to_owned()
    }

    /// Sets its answers: these in order, and then always the last one. The default is 204.
    pub fn script(&self, first: &[Reply], then: Reply) {
        self.0.script(PATH, first, then);
    }

    /// Waits for so many requests, and gives them.
    pub async fn requests(&self, count: usize) -> Vec<Got> {
        self.0.wait_for(PATH, count).await
    }

    /// Waits for so many spans, and gives them in the order in which they ended.
    #[track_caller]
    pub fn spans(&self, count: usize) -> impl Future<Output = Vec<Collected>> {
        let enough = move || spans(&self.0.got(PATH)).len() >= count;
        let arrived = self.0.wait_until(PATH, enough);
        async move {
            let spans = spans(&arrived.await);
            assert_eq!(spans.len(), count, "{spans:#?}");
            spans
        }
    }
}

/// The spans in these requests.
pub fn spans(requests: &[Got]) -> Vec<Collected> {
    requests.iter().flat_map(spans_of).collect()
}

fn spans_of(request: &Got) -> Vec<Collected> {
    assert_eq!((&*request.path, request.header("content-type")), ("/v1/traces", "application/x-protobuf"));
    let request = ExportTraceServiceRequest::decode(&*request.body).expect("a request of OTLP");
    let mut found = Vec::new();
    for of_resource in request.resource_spans {
        let Resource { attributes, .. } = of_resource.resource.expect("a resource");
        let resource = values(&attributes);
        for of_scope in of_resource.scope_spans {
            assert_eq!(of_scope.scope.expect("a scope").name, "triptych");
            found.extend(of_scope.spans.into_iter().map(|span| collected(span, &resource)));
        }
    }
    found
}

fn collected(span: Span, resource: &Value) -> Collected {
    Collected {
        resource: resource.clone(),
        name: span.name,
        kind: span.kind,
        trace_id: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        state: span.trace_state,
        attributes: values(&span.attributes),
        failed: span.status.is_some_and(|status| status.code == i32::from(StatusCode::Error)),
        time: (span.start_time_unix_nano, span.end_time_unix_nano),
    }
}

fn values(attributes: &[KeyValue]) -> Value {
    let value = |attribute: &KeyValue| match attribute.value.clone().and_then(|value| value.value) {
        Some(any_value::Value::StringValue(text)) => json!(text),
        Some(any_value::Value::IntValue(number)) => json!(number),
        other => panic!("{other:?}"),
    };
    let values: BTreeMap<_, _> =
        attributes.iter().map(|attribute| (attribute.key.clone(), value(attribute))).collect();
    assert_eq!(values.len(), attributes.len(), "an attribute is there twice");
    json!(values)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
