//! Calls that the edge has observed.

use std::sync::{Arc, LazyLock};

use web::observe::{CapturedBody, CapturedHeaders, Observed, Observer};

use super::{Journal, Message, NewCall};

/// Records the calls to an instance in a journal.
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

impl Observer for Recorder {
    fn observed(&self, call: Observed) {
        self.journal.record(&NewCall::of(&call, self.service, &self.path_prefix));
    }
}

impl<'a> NewCall<'a> {
    /// A call that the edge has observed.
    pub fn of(call: &'a Observed, service: &'static str, path_prefix: &str) -> Self {
        let (request, answer) = (&call.request, call.answer.as_ref());
        let path = request.target.path();
        NewCall {
            service,
            operation: call.operation_id.as_ref(),
            request_id: &call.id,
            time: call.started_at,
            duration: call.duration,
            user: call.user.as_deref(),
            client: call.client.as_deref(),
            address: call.client_ip,
            version: request.version,
            method: &request.method,
            path: path.strip_prefix(path_prefix).unwrap_or(path),
            query: request.target.query(),
            request: message(&request.headers, &request.body),
            status: answer.map(|answer| answer.status),
            answer: answer.map_or_else(no_message, |answer| message(&answer.headers, &answer.body)),
            problem: call.problem.as_ref().map(|problem| problem.kind().name),
            fault: call.fault,
            aborted: call.aborted,
            events: &call.events,
        }
    }
}

fn message<'a>(headers: &'a CapturedHeaders, body: &'a CapturedBody) -> Message<'a> {
    Message { headers, body: &body.first, length: body.length }
}

fn no_message<'a>() -> Message<'a> {
    static NO_HEADERS: LazyLock<CapturedHeaders> = LazyLock::new(CapturedHeaders::default);
    Message { headers: &NO_HEADERS, body: &[], length: 0 }
}
