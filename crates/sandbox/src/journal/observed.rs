//! Calls that the edge has observed.

use std::sync::Arc;

use web::observe::{CapturedMessage, Observed, Observer};

use super::{Journal, Message, NewCall};

/// Records the calls to an instance in a journal. Each call changes its reference count, so it shares no cache line with other data.
#[repr(align(128))]
pub struct Recorder {
    journal: Arc<Journal>,
    service: &'static str,
    path_prefix: Box<str>,
}

impl Recorder {
    /// `path_prefix` is in front of the paths of the instance; entries do not have it.
    pub fn new(journal: Arc<Journal>, service: &'static str, path_prefix: &str) -> Self {
        Recorder { journal, service, path_prefix: path_prefix.into() }
    }
}

/// Whether the call loaded a style sheet, a script or a picture of a page. A page loads many, and they say nothing about the API.
fn is_file_of_a_page(call: &Observed<'_>) -> bool {
    let Some(route) = call.route() else { return false };
    route.contains("/assets/") || [".css", ".js", ".svg"].iter().any(|kind| route.ends_with(kind))
}

impl Observer for Recorder {
    fn observed(&self, call: &Observed<'_>) {
        let operation = call.operation_id();
        if operation.is_none() && is_file_of_a_page(call) {
            return;
        }
        let (request, answer) = (call.request, call.answer);
        let path = request.path();
        self.journal.record(&NewCall {
            service: self.service,
            operation,
            request_id: call.id(),
            time: call.started_at,
            duration: call.duration,
            ended: call.ended,
            user: call.user(),
            client: call.client(),
            address: call.client_ip(),
            version: request.version,
            method: &request.method,
            path: path.strip_prefix(&*self.path_prefix).unwrap_or(path),
            query: request.query(),
            request: message(&request.message),
            read_to_end: request.message.complete,
            status: answer.map(|answer| answer.status),
            answer: answer.map(|answer| message(&answer.message)).unwrap_or_default(),
            problem: call.problem.map(|problem| problem.kind().name),
            fault: call.fault,
            aborted: call.aborted,
            events: &call.take_events(),
        });
    }
}

fn message(message: &CapturedMessage) -> Message<'_> {
    Message { headers: message.headers(), body: message.body(), length: message.length }
}
