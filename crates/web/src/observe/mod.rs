//! Observation of a call, for a journal. An application asks for it with [`RequestContext::observe`]; the edge then gives the
//! observer the request and its answer, once the answer has been sent. Requests without an observer cost nothing more.
//!
//! Headers and the first 16 KiB of bodies are copied. The observer removes secrets: see [`crate::redact`].

mod body;
pub(crate) mod call;
mod headers;
mod message;

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
pub use headers::CapturedHeaders;
pub use message::CapturedMessage;

use crate::{
    fault::Fault,
    problem::Problem,
    request::{CallObserver, RequestContext, RequestRoute, X_REQUEST_ID},
};

/// Gets the calls that an application has observed.
pub trait Observer: Send + Sync {
    /// Gets a call, once: after its answer was sent, or when the client has disconnected, or when the connection was cut. Runs on a
    /// thread that serves connections, so it must not wait.
    fn observed(&self, call: &Observed<'_>);
}

/// A call: a request with its answer.
#[derive(Debug)]
pub struct Observed<'c> {
    context: &'c RequestContext,
    pub request: &'c ObservedRequest,
    /// The answer, if its head was sent.
    pub answer: Option<&'c ObservedAnswer>,
    /// The problem that the client got.
    pub problem: Option<&'c Problem>,
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

impl<'c> Observed<'c> {
    /// The id of the request.
    pub fn id(&self) -> &'c str {
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
    pub fn user(&self) -> Option<&'c str> {
        self.context.user()
    }

    /// The OAuth client of a valid token, or the name of a valid API key.
    pub fn client(&self) -> Option<&'c str> {
        self.context.client()
    }

    /// The pattern of the route that matched, such as `/v3/pet/{petId}`.
    pub fn route(&self) -> Option<&'c str> {
        match self.context.route()? {
            RequestRoute::Operation(route, _) => Some(&route.pattern),
            RequestRoute::Other(route) => Some(route.as_str()),
        }
    }

    /// The operation that was called, by its id in the OpenAPI document.
    pub fn operation_id(&self) -> Option<&'c str> {
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
    call: Mutex<Call>,
}

/// What is known about a call.
struct Call {
    request: ObservedRequest,
    /// Set when the answer is sent.
    ended: Option<Ended>,
    /// Whether the observer got it.
    is_reported: bool,
}

impl RequestContext {
    /// Lets an observer have this call. `now` is the time by the clock of the application. Only the first observer of a request
    /// gets the call.
    pub fn observe(request: &mut Request, observer: Arc<dyn Observer>, now: Timestamp) {
        let Some(context) = RequestContext::of(request.extensions()) else { return };
        let seen = ObservedRequest {
            method: request.method().clone(),
            target: request.uri().path_and_query().cloned(),
            version: request.version(),
            message: CapturedMessage::new(request.headers(), None, request.body()),
        };
        let call = Mutex::new(Call { request: seen, ended: None, is_reported: false });
        let observation = Arc::new(Observation { observer, started_at: now, call });
        if request.body().is_end_stream() {
            context.set_observer(observation);
            return;
        }
        if !context.set_observer(observation.clone()) {
            return;
        }
        let body = std::mem::take(request.body_mut());
        *request.body_mut() = Body::new(RequestBody::new(body, observation));
    }
}

impl Observation {
    fn call(&self) -> MutexGuard<'_, Call> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the request.
    fn read(&self, add: impl FnOnce(&mut CapturedMessage)) {
        add(&mut self.call().request.message);
    }
}

impl CallObserver for Observation {
    fn answered(&self, ended: Ended) {
        self.call().ended = Some(ended);
    }

    fn sent(&self, part: &Bytes, is_last: bool) {
        let mut call = self.call();
        if let Some(answer) = call.ended.as_mut().and_then(|ended| ended.answer.as_mut()) {
            answer.message.add(part);
            answer.message.complete |= is_last;
        }
    }

    /// Gives the call to the observer, if it did not get it yet.
    fn ended(&self, context: &RequestContext) {
        let mut call = self.call();
        if std::mem::replace(&mut call.is_reported, true) {
            return;
        }
        let Call { request, ended: Some(ended), .. } = &*call else { return };
        let answer = ended.answer.as_ref();
        let now = Instant::now();
        self.observer.observed(&Observed {
            context,
            request,
            answer,
            problem: ended.problem.as_deref(),
            fault: ended.fault.map(Fault::name),
            started_at: self.started_at,
            duration: now.saturating_duration_since(ended.start),
            ended: now,
            aborted: answer.is_none_or(|answer| !answer.message.complete),
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
    let message = CapturedMessage::new(response.headers(), Some(&X_REQUEST_ID), response.body());
    let answer = ObservedAnswer { status: response.status(), message };
    observer.answered(Ended { answer: Some(answer), problem: problem.cloned(), fault, start });
    Some(ObservedSending::new(context.clone()))
}
