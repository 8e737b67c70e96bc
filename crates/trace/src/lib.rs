//! Traces: the spans of a request and of what it causes, sent to a collector by OTLP over HTTP.
//!
//! - [`TraceContext`] is what calls pass on in the headers `traceparent` and `tracestate`.
//! - [`Traces`] starts spans. A [`Span`] is recorded when it is dropped; [`child`] starts one within another.
//! - [`Exporter`] sends recorded spans in the background. Recording never waits: above a limit, spans are dropped and counted.
//!
//! Without a [`Traces`] there are no spans, and [`child`] looks at one value of the task.

mod context;
mod export;
mod otlp;
mod queue;
mod recorded;
mod span;

pub use context::TraceContext;
pub use export::{Exporter, Settings};
pub use recorded::{Kind, Value};
pub use span::{Span, Traces, child};
