//! Observation of a call, for a journal. An application asks for it with [`RequestContext::observe`]; the edge then gives the
//! observer the request and its answer, once the answer has been sent. Requests without an observer cost nothing more.
//!
//! Headers are copied. Bodies are handles to the buffers of the connection; an observer that keeps them copies them. It removes
//! secrets: see [`crate::redact`].

mod body;
pub(crate) mod call;
mod capture;
mod headers;

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    body::{Body, HttpBody},
    extract::Request,
    response::Response,
};
use bytes::Bytes;
use jiff::Timestamp;
use uuid::Uuid;

pub(crate) use body::ObservedSending;
use body::RequestBody;
use call::Ended;
pub use call::{ObservedAnswer, ObservedRequest};
pub use capture::CapturedBody;
pub use headers::CapturedHeaders;

use crate::{
    fault::Fault,
    problem::Problem,
    request::{CallObserver, RequestContext, RequestRoute},
};

/// Gets the calls that an application has observed.
pub trait Observer: Send + Sync {
    /// Gets a call, once: after its answer was sent, or when the client has disconnected, or when the connection was cut. Runs on a
    /// thread that serves connections, so it must not wait.
    fn observed(&self, call: Observed);
}

/// A call: a request with its answer.
#[derive(Debug)]
pub struct Observed {
    context: RequestContext,
    pub request: ObservedRequest,
    /// The answer, if its head was sent.
    pub answer: Option<ObservedAnswer>,
    /// The problem that the client got.
    pub problem: Option<Arc<Problem>>,
    /// The fault that was applied to the answer, by its name in the log.
    pub fault: Option<&'static str>,
    /// When the request came, by the clock of the application.
    pub started_at: Timestamp,
    /// The time until the last part of the answer was handed to the connection.
    pub duration: Duration,
    /// The end of that time.
    pub ended: Instant,
    /// Whether the answer was not sent, or not to its end.
    pub aborted: bool,
}

impl Observed {
    /// The id of the request.
    pub fn id(&self) -> &str {
        self.context.id()
    }

    /// The name of the listener in logs and metrics.
    pub fn service(&self) -> &'static str {
        self.context.service()
    }

    pub fn client_ip(&self) -> IpAddr {
        self.context.client_ip()
    }

    /// The user that a valid credential names.
    pub fn user(&self) -> Option<&str> {
        self.context.user()
    }

    /// The OAuth client of a valid token, or the name of a valid API key.
    pub fn client(&self) -> Option<&str> {
        self.context.client()
    }

    /// The pattern of the route that matched, such as `/v3/pet/{petId}`.
    pub fn route(&self) -> Option<&str> {
        match self.context.route()? {
            RequestRoute::Operation(route, _) => Some(&route.pattern),
            RequestRoute::Other(route) => Some(route.as_str()),
        }
    }

    /// The operation that was called, by its id in the OpenAPI document.
    pub fn operation_id(&self) -> Option<&str> {
        match self.context.route()? {
            RequestRoute::Operation(route, _) => route.operation(&self.request.method)?.id.as_deref(),
            RequestRoute::Other(_) => None,
        }
    }

    /// The events that the call caused.
    pub fn take_events(&self) -> Vec<Uuid> {
        self.context.take_events()
    }
}

/// The observer of a request, with what is known about the call.
pub(crate) struct Observation {
    observer: Arc<dyn Observer>,
    started_at: Timestamp,
    /// Taken when the observer gets it.
    call: Mutex<Option<Call>>,
}

/// What is known about a call.
struct Call {
    request: ObservedRequest,
    /// Set when the answer is sent.
    ended: Option<Ended>,
}

impl RequestContext {
    /// Lets an observer have this call. `now` is the time by the clock of the application. Only the first observer of a request
    /// gets the call.
    pub fn observe(request: &mut Request, observer: Arc<dyn Observer>, now: Timestamp) {
        let Some(context) = RequestContext::of(request.extensions()) else { return };
        let seen = ObservedRequest {
            method: request.method().clone(),
            target: request.uri().clone(),
            version: request.version(),
            headers: CapturedHeaders::new(request.headers()),
            body: CapturedBody::of_length(request.body().size_hint().exact()),
        };
        let call = Mutex::new(Some(Call { request: seen, ended: None }));
        let observation = Arc::new(Observation { observer, started_at: now, call });
        if !context.set_observer(observation.clone()) || request.body().is_end_stream() {
            return;
        }
        let body = std::mem::take(request.body_mut());
        *request.body_mut() = Body::new(RequestBody::new(body, observation));
    }
}

impl Observation {
    fn call(&self) -> MutexGuard<'_, Option<Call>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the body of the request.
    fn read(&self, add: impl FnOnce(&mut CapturedBody)) {
        if let Some(call) = self.call().as_mut() {
            add(&mut call.request.body);
        }
    }

    /// Adds to the body of the answer.
    fn send(&self, add: impl FnOnce(&mut CapturedBody)) {
        let mut call = self.call();
        let ended = call.as_mut().and_then(|call| call.ended.as_mut());
        if let Some(answer) = ended.and_then(|ended| ended.answer.as_mut()) {
            add(&mut answer.body);
        }
    }
}

impl CallObserver for Observation {
    fn answered(&self, ended: Ended) {
        if let Some(call) = self.call().as_mut() {
            call.ended = Some(ended);
        }
    }

    fn sent(&self, part: &Bytes, is_last: bool) {
        self.send(|body| {
            body.add(part);
            body.complete |= is_last;
        });
    }

    /// Gives the call to the observer, if it did not get it yet.
    fn ended(&self, context: &RequestContext) {
        let call = self.call().take();
        let Some(Call { mut request, ended: Some(ended) }) = call else { return };
        request.body.join();
        let Ended { mut answer, problem, fault, start } = ended;
        if let Some(answer) = &mut answer {
            answer.body.join();
        }
        let aborted = answer.as_ref().is_none_or(|answer| !answer.body.complete);
        let now = Instant::now();
        self.observer.observed(Observed {
            context: context.clone(),
            request,
            answer,
            problem,
            fault: fault.map(Fault::name),
            started_at: self.started_at,
            duration: now.saturating_duration_since(start),
            ended: now,
            aborted,
        });
    }
}

/// What reports the end of an answer to the observer of its request, if it has one.
pub(crate) fn observe_answer(
    context: &RequestContext,
    start: Instant,
    response: &Response,
    problem: Option<&Arc<Problem>>,
    fault: Option<Fault>,
) -> Option<ObservedSending> {
    let observer = context.observer()?;
    // The context is kept until the answer is sent, the memory of the request's body is not.
    context.release_memory();
    let body = CapturedBody::of_answer(response.body());
    let body = if fault.is_some() { body.copied() } else { body };
    let headers = CapturedHeaders::new(response.headers());
    let answer = ObservedAnswer { status: response.status(), headers, body };
    observer.answered(Ended { answer: Some(answer), problem: problem.cloned(), fault, start });
    Some(ObservedSending::new(context.clone()))
}
