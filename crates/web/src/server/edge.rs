//! The outermost layer: request ids, problem documents, panics, the access log, metrics.

use std::{
    net::SocketAddr,
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

use axum::{
    Extension,
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};

use super::{
    proxies::Proxies,
    record::Record,
    site::{Hosts, Site},
    traces::RequestTraces,
};
use crate::{
    admission::{Admission, Decision, Entry, Refused, refuse_admitted},
    app::App,
    fault::{Cut, Fault},
    negotiate::{prefers_html, prefers_xml, vary},
    observe::{ObservedSending, observe_answer},
    page::{Frame, add_document_headers},
    panic::panic_message,
    problem::{self, Format, INVALID_REQUEST, Problem, UNAVAILABLE},
    random::Random,
    request::{RequestContext, X_REQUEST_ID},
    times::is_probe,
};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The value of `Strict-Transport-Security` for a service that clients reach by TLS.
const A_YEAR_OF_TLS: &str = "max-age=31536000";

/// Marks an answer with an error status whose body stays as it is: a page, or an error in the format of OAuth.
#[derive(Clone, Copy, Debug)]
pub struct KeepBody;

pub(super) struct Edge {
    service: &'static str,
    app: App,
    random: Random,
    proxies: Proxies,
    hosts: Hosts,
    secure: bool,
    draining: AtomicBool,
    admission: Arc<Admission>,
    traces: Option<RequestTraces>,
}

impl Edge {
    pub(super) fn new(site: Site, listening: SocketAddr, app: App, random: Random) -> Self {
        let (hosts, secure) = (Hosts::new(listening.ip(), &site.address), site.is_secure());
        let traces = RequestTraces::new(&site, listening);
        let draining = AtomicBool::new(false);
        let admission = Arc::new(Admission::new(site.name, site.limits));
        let (service, proxies) = (site.name, site.proxies);
        Edge { service, app, random, proxies, hosts, secure, draining, admission, traces }
    }

    /// From now on the process is not ready.
    pub(super) fn drain(&self) {
        self.draining.store(true, Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    pub(super) fn admission(&self) -> Arc<Admission> {
        self.admission.clone()
    }

    /// Whether a request would be admitted now.
    pub(super) fn has_room(&self) -> bool {
        self.admission.has_room()
    }

    /// The answer to a request, and what observes how it is sent.
    pub(super) async fn handle(
        &self,
        mut request: Request,
        peer: SocketAddr,
        entry: Entry,
    ) -> Result<(Response, Option<ObservedSending>), Cut> {
        let client = self.proxies.client(peer.ip(), request.headers());
        let accept = accept(request.headers());
        let context = RequestContext::new(self.request_id(&request), client, self.service);
        let span = self.traces.as_ref().and_then(|traces| traces.start(&request));
        if let Some(span) = &span {
            context.set_trace(span.context());
        }
        let arrival = match &entry {
            Entry::Decided(decision) => decision.arrival,
            Entry::Open { .. } => Instant::now(),
        };
        let mut record = Record::new(&request, context.clone(), span, arrival);
        request.extensions_mut().insert(context);

        let checked = has_one_host(&request).and_then(|()| self.hosts.check(&request));
        let mut response = match checked.and_then(|()| self.check_ready(&request)) {
            Ok(()) => match record.span.as_ref().filter(|span| span.is_recorded()) {
                None => self.admit(request, entry).await,
                // Boxed for the same reason as a fault below.
                Some(span) => Box::pin(span.scope(self.admit(request, entry))).await,
            },
            Err(problem) => problem.into_response(),
        };
        let problem = take_problem(&mut response);
        if let Some(problem) = &problem {
            write_problem(&mut response, problem, preferred_format(accept), &record);
        }
        let headers = response.headers_mut();
        if let Ok(value) = HeaderValue::try_from(&**record.context.id()) {
            headers.insert(X_REQUEST_ID, value);
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if self.secure {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(A_YEAR_OF_TLS));
        }
        let fault = response.extensions_mut().remove::<Fault>();
        if let Some(fault) = fault {
            // Boxed: otherwise the future of every request would have room for this rare one.
            match Box::pin(fault.apply(response)).await {
                Ok(faulty) => response = faulty,
                Err(cut) => {
                    record.cut(problem, fault);
                    return Err(cut);
                }
            }
        }
        let sending = observe_answer(&record.context, record.start, &response, problem.as_ref(), fault);
        record.is_refused = response.extensions().get::<Refused>().is_some();
        record.answered(response.status(), problem.as_deref(), fault);
        Ok((response, sending))
    }

    /// Answers a request when it may run. The questions of monitoring are always answered.
    async fn admit(&self, request: Request, entry: Entry) -> Response {
        if is_probe(request.uri().path()) {
            drop(entry);
            return self.answer(request).await;
        }
        let admitted = match entry {
            Entry::Decided(Decision { admitted, .. }) => admitted,
            Entry::Open { is_after_refusal } => self.admission.clone().admit(is_after_refusal).await,
        };
        match admitted {
            Ok(admitted) => admitted.scope(self.answer_admitted(request)).await,
            Err(refused) => (Extension(refused), refused.problem()).into_response(),
        }
    }

    async fn answer_admitted(&self, request: Request) -> Response {
        let response = self.answer(request).await;
        if response.status() == StatusCode::SERVICE_UNAVAILABLE {
            refuse_admitted();
        }
        response
    }

    async fn answer(&self, request: Request) -> Response {
        // Boxed: each function that passes on the future of the whole work of a request would copy its kilobytes, and each connection would
        // keep room for it.
        let work = Box::pin(self.app.answer(request));
        let answer = AssertUnwindSafe(work).catch_unwind().await;
        answer.unwrap_or_else(|panic| {
            let cause = format!("a handler panicked: {}", panic_message(panic.as_ref()));
            Problem::internal(cause).into_response()
        })
    }

    /// Answers the question for readiness while the process drains, instead of the application.
    fn check_ready(&self, request: &Request) -> Result<(), Problem> {
        if !self.is_draining() || request.uri().path() != "/readyz" {
            return Ok(());
        }
        Err(Problem::new(&UNAVAILABLE, "This process stops. Send requests to another one.").retry_after(5))
    }

    fn request_id(&self, request: &Request) -> Arc<str> {
        let sent = request.headers().get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
        sent.filter(|id| is_well_formed(id)).map_or_else(|| self.new_id(), Arc::from)
    }

    fn new_id(&self) -> Arc<str> {
        let mut id = [0; 32];
        for (digits, byte) in id.chunks_exact_mut(2).zip(self.random.bytes::<16>()) {
            digits.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        String::from_utf8_lossy(&id).into()
    }
}

/// HTTP/1.1 requires exactly one `Host`. With none or several, a proxy and this server may disagree on the target.
fn has_one_host(request: &Request) -> Result<(), Problem> {
    if request.version() != Version::HTTP_11 || request.headers().get_all(header::HOST).iter().count() == 1 {
        return Ok(());
    }
    Err(Problem::new(&INVALID_REQUEST, "The request must have exactly one Host header."))
}

/// The problem of an answer: the one that a handler returned, or the one for the bare error status of a library.
fn take_problem(response: &mut Response) -> Option<Arc<Problem>> {
    let status = response.status();
    let returned = response.extensions_mut().remove();
    let is_bare = (status.is_client_error() || status.is_server_error())
        && response.extensions().get::<KeepBody>().is_none();
    returned.or_else(|| is_bare.then(|| Arc::new(Problem::from_status(status))))
}

/// What the client accepts, for a problem that may come: the request does not outlive its handler.
fn accept(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut values = headers.get_all(header::ACCEPT).iter();
    let first = values.next()?;
    if values.next().is_none() {
        return Some(first.clone());
    }
    let all: Vec<_> = headers.get_all(header::ACCEPT).iter().map(HeaderValue::as_bytes).collect();
    HeaderValue::from_bytes(&all.join(&b", "[..])).ok()
}

/// The format of a problem for a client that accepts this.
fn preferred_format(accept: Option<HeaderValue>) -> Format {
    let headers: HeaderMap = accept.map(|accept| (header::ACCEPT, accept)).into_iter().collect();
    if prefers_html(&headers) {
        Format::Html
    } else if prefers_xml(&headers) {
        Format::Xml
    } else {
        Format::Json
    }
}

/// Writes the document of a problem into an answer. Services without XML answer in JSON instead.
fn write_problem(response: &mut Response, problem: &Problem, preferred: Format, record: &Record) {
    let supports_xml = record.context.supports_xml();
    let format = if preferred == Format::Xml && !supports_xml { Format::Json } else { preferred };
    let (id, path_prefix) = (record.context.id(), record.context.path_prefix());
    let service = record.context.service();
    let (media_type, body) = problem::document(problem, id, Frame { service, path: path_prefix }, format);
    if supports_xml {
        vary(response);
    }
    let headers = response.headers_mut();
    if format == Format::Html {
        add_document_headers(headers);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CONTENT_LENGTH, body.len().into());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.remove(header::CONTENT_ENCODING);
    *response.status_mut() = problem.status();
    *response.body_mut() = if record.method == Method::HEAD { Body::empty() } else { body.into() };
}

fn is_well_formed(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=128).contains(&id.len()) && id.bytes().all(allowed)
}
