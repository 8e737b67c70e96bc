//! Calls that the edge has observed.

use std::sync::Arc;

use web::observe::{CapturedBody, CapturedHeaders, Observed, Observer};

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
fn is_file_of_a_page(call: &Observed) -> bool {
    let Some(route) = call.route().filter(|_| call.operation_id().is_none()) else { return false };
    route.contains("/assets/") || [".css", ".js", ".svg"].iter().any(|kind| route.ends_with(kind))
}

impl Observer for Recorder {
    fn observed(&self, mut call: Observed) {
        if is_file_of_a_page(&call) {
            return;
        }
        let request_headers = std::mem::take(&mut call.request.headers);
        let answer_headers = call.answer.as_mut().map(|answer| std::mem::take(&mut answer.headers));
        let (request, answer) = (&call.request, call.answer.as_ref());
        let path = request.target.path();
        self.journal.record(&NewCall {
            service: self.service,
            operation: call.operation_id(),
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
            query: request.target.query(),
            request: message(request_headers, Some(&request.body)),
            read_to_end: request.body.complete,
            status: answer.map(|answer| answer.status),
            answer: message(answer_headers.unwrap_or_default(), answer.map(|answer| &answer.body)),
            problem: call.problem.as_ref().map(|problem| problem.kind().name),
            fault: call.fault,
            aborted: call.aborted,
            events: &call.take_events(),
        });
    }
}

fn message(headers: CapturedHeaders, body: Option<&CapturedBody>) -> Message<'_> {
    let (body, length) = body.map_or((&[][..], 0), |body| (&*body.first, body.length));
    Message { headers, body, length }
}
