//! What the server knows about a request: one value in the request's extensions, which the edge shares.

use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use axum::{
    extract::{FromRequestParts, MatchedPath, Request},
    middleware::Next,
    response::Response,
};
use bytes::Bytes;
use http::{Extensions, HeaderName, HeaderValue};
use tokio::sync::OwnedSemaphorePermit;
use trace::TraceContext;
use uuid::Uuid;

use crate::{
    body_memory::Memory, gate::Gate, input::context::ValidationContext, limits::RequestLimits,
    observe::call::Ended, operations::Route, problem::Problem,
};

/// The header with the id of a request.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What the parts of a server know and add about a request. The edge keeps a clone, and reads it after the answer or a panic.
#[derive(Clone)]
pub struct RequestContext(Arc<Parts>);

struct Parts {
    id: Arc<str>,
    client_ip: IpAddr,
    service: &'static str,
    instance: OnceLock<Arc<InstanceContext>>,
    route: OnceLock<RequestRoute>,
    user: OnceLock<String>,
    client: OnceLock<String>,
    rate_limit: OnceLock<HeaderValue>,
    observer: OnceLock<Arc<dyn CallObserver>>,
    /// Read from the headers only where it is needed, unless traces are recorded.
    trace: OnceLock<Option<Box<TraceContext>>>,
    gate: OnceLock<Arc<dyn Gate>>,
    /// The events that the call caused, if it caused some.
    events: OnceLock<Mutex<Vec<Uuid>>>,
    /// The memory of the body, if there is one; released when the request is answered.
    memory: OnceLock<Mutex<Option<OwnedSemaphorePermit>>>,
}

/// Gets the answer to a call.
pub(crate) trait CallObserver: Send + Sync {
    /// Gets the answer before it is sent, or that there is none.
    fn answered(&self, ended: Ended);

    /// Gets a part of the answer's body.
    fn sent(&self, part: &Bytes, is_last: bool);

    /// The call has ended.
    fn ended(&self, context: &RequestContext);
}

/// What all requests to an instance of a service share.
pub(crate) struct InstanceContext {
    /// The path in front of all its paths; empty at the root.
    pub(crate) path_prefix: Arc<str>,
    pub(crate) supports_xml: bool,
    pub(crate) limits: RequestLimits,
    /// The memory for the bodies of its requests.
    pub(crate) memory: Memory,
    pub(crate) validation: Option<ValidationContext>,
}

/// The route that a request matched.
pub(crate) enum RequestRoute {
    /// Of an operation, with its last parameter as it is in the path.
    Operation(Arc<Route>, Option<Box<str>>),
    Other(MatchedPath),
}

impl RequestContext {
    pub(crate) fn new(id: Arc<str>, client_ip: IpAddr, service: &'static str) -> Self {
        RequestContext(Arc::new(Parts {
            id,
            client_ip,
            service,
            instance: OnceLock::new(),
            route: OnceLock::new(),
            user: OnceLock::new(),
            client: OnceLock::new(),
            rate_limit: OnceLock::new(),
            observer: OnceLock::new(),
            trace: OnceLock::new(),
            gate: OnceLock::new(),
            events: OnceLock::new(),
            memory: OnceLock::new(),
        }))
    }

    /// The context of a request, which every request has that the server passes on.
    pub fn of(extensions: &Extensions) -> Option<&Self> {
        extensions.get()
    }

    /// The id of the request: the client's own if it sent one that is well formed, else a new one.
    pub fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// The client's address: the other end of the connection, or the address that a trusted proxy forwards.
    pub fn client_ip(&self) -> IpAddr {
        self.0.client_ip
    }

    /// The name of the service in logs and metrics.
    pub fn service(&self) -> &'static str {
        self.0.service
    }

    /// Sets the user that a valid credential names: an account's name, or a token's subject.
    pub fn set_user(extensions: &Extensions, user: impl Into<String>) {
        if let Some(RequestContext(parts)) = extensions.get() {
            let _ = parts.user.set(user.into());
        }
    }

    /// Sets the OAuth client that a valid token was issued to, or the name of a valid API key.
    pub fn set_client(extensions: &Extensions, client: impl Into<String>) {
        if let Some(RequestContext(parts)) = extensions.get() {
            let _ = parts.client.set(client.into());
        }
    }

    /// Sets the value of the header `RateLimit` of the answer.
    pub fn set_rate_limit(extensions: &Extensions, value: HeaderValue) {
        if let Some(RequestContext(parts)) = extensions.get() {
            let _ = parts.rate_limit.set(value);
        }
    }

    /// The trace that the call belongs to: that of its span, or else the one that its client sent.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.0.trace.get()?.as_deref()
    }

    pub(crate) fn set_trace(&self, trace: &TraceContext) {
        let _ = self.0.trace.set(Some(Box::new(trace.clone())));
    }

    /// Adds an event that the call caused, for the observer of the request.
    pub fn add_event(&self, event: Uuid) {
        if self.observer().is_some() {
            lock(self.0.events.get_or_init(Mutex::default)).push(event);
        }
    }

    /// The events that the call caused.
    pub(crate) fn take_events(&self) -> Vec<Uuid> {
        self.0.events.get().map(|events| std::mem::take(&mut *lock(events))).unwrap_or_default()
    }

    /// Asks the gate of a request, if it has one, about the caller that was set with [`RequestContext::set_user`] or
    /// [`RequestContext::set_client`].
    pub async fn signed_in(extensions: &Extensions) -> Result<(), Problem> {
        let Some(context) = RequestContext::of(extensions) else { return Ok(()) };
        match context.gate() {
            Some(gate) => gate.signed_in(context.user(), context.client()).await,
            None => Ok(()),
        }
    }

    /// Sets the gate of a request. The first one stays.
    pub fn set_gate(extensions: &Extensions, gate: Arc<dyn Gate>) {
        if let Some(context) = RequestContext::of(extensions) {
            let _ = context.0.gate.set(gate);
        }
    }

    pub(crate) fn gate(&self) -> Option<&Arc<dyn Gate>> {
        self.0.gate.get()
    }

    pub(crate) fn set_instance(&self, instance: Arc<InstanceContext>) {
        let _ = self.0.instance.set(instance);
    }

    pub(crate) fn set_route(&self, route: RequestRoute) {
        let _ = self.0.route.set(route);
    }

    /// Sets the observer of the request; false if it has one.
    pub(crate) fn set_observer(&self, observer: Arc<dyn CallObserver>) -> bool {
        self.0.observer.set(observer).is_ok()
    }

    pub(crate) fn observer(&self) -> Option<&dyn CallObserver> {
        self.0.observer.get().map(|observer| &**observer)
    }

    /// Reports to the observer of the request, if it has one, that the call ended without an answer.
    pub(crate) fn ended(&self, ended: Ended) {
        if let Some(observer) = self.observer() {
            observer.answered(ended);
            observer.ended(self);
        }
    }

    pub(crate) fn user(&self) -> Option<&str> {
        self.0.user.get().map(String::as_str)
    }

    pub(crate) fn client(&self) -> Option<&str> {
        self.0.client.get().map(String::as_str)
    }

    pub(crate) fn rate_limit(&self) -> Option<&HeaderValue> {
        self.0.rate_limit.get()
    }

    pub(crate) fn route(&self) -> Option<&RequestRoute> {
        self.0.route.get()
    }

    /// The pattern of the operation's path, and its last parameter as it is in the path.
    pub(crate) fn path_parameter(&self) -> Option<(&str, &str)> {
        match self.route()? {
            RequestRoute::Operation(route, parameter) => Some((&route.pattern, parameter.as_deref()?)),
            RequestRoute::Other(_) => None,
        }
    }

    /// The path prefix of the service instance that got the request; empty at the root.
    pub(crate) fn path_prefix(&self) -> &str {
        self.0.instance.get().map_or("", |instance| &instance.path_prefix)
    }

    /// Whether the service that got the request answers in XML as well as in JSON.
    pub(crate) fn supports_xml(&self) -> bool {
        self.0.instance.get().is_some_and(|instance| instance.supports_xml)
    }

    /// The limits on the body of this request: those of its route, if it has its own, or those of its instance.
    pub(crate) fn limits(extensions: &Extensions) -> RequestLimits {
        let instance = RequestContext::of(extensions).and_then(|context| context.0.instance.get());
        let own = extensions.get::<RequestLimits>().copied();
        own.or_else(|| instance.map(|instance| instance.limits)).unwrap_or_default()
    }

    /// What the rules of this request's input may ask for.
    pub(crate) fn validation(extensions: &Extensions) -> Option<ValidationContext> {
        RequestContext::of(extensions)?.0.instance.get()?.validation.clone()
    }

    /// Reserves memory for so many more bytes of the body, until the request is answered.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), Problem> {
        let Some(instance) = self.0.instance.get() else { return Ok(()) };
        let more = instance.memory.reserve(bytes)?;
        let mut memory = lock(self.0.memory.get_or_init(Mutex::default));
        match memory.as_mut() {
            Some(memory) => memory.merge(more),
            None => *memory = Some(more),
        }
        Ok(())
    }

    /// Releases the memory of the body, for a context that is kept after the request is answered.
    pub(crate) fn release_memory(&self) {
        if let Some(memory) = self.0.memory.get() {
            *lock(memory) = None;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut http::request::Parts, _: &S) -> Result<Self, Problem> {
        let context = RequestContext::of(&parts.extensions).cloned();
        let context = context.ok_or_else(|| Problem::internal("the request has no context"))?;
        context.0.trace.get_or_init(|| TraceContext::from_headers(&parts.headers).map(Box::new));
        Ok(context)
    }
}

impl fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestContext").field("id", &self.0.id).finish_non_exhaustive()
    }
}

/// A layer that sets the route that matched, which only the router knows.
pub(crate) async fn set_route(request: Request, next: Next) -> Response {
    let extensions = request.extensions();
    if let (Some(context), Some(route)) = (RequestContext::of(extensions), extensions.get::<MatchedPath>()) {
        context.set_route(RequestRoute::Other(route.clone()));
    }
    next.run(request).await
}
