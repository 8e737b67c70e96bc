//! Where requests come in and answers go out: the request's id, problem documents, the access log, metrics.

use std::{
    net::{IpAddr, SocketAddr},
    panic::AssertUnwindSafe,
    sync::Arc,
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderName, HeaderValue, Method, StatusCode, Version, header};
use tower::ServiceExt;

use super::{
    Proxies, Site,
    record::{Record, learn_route},
    site::Hosts,
};
use crate::{
    negotiate::prefers_html,
    problem::{self, Form, InXml, Problem},
    random::Random,
    service::add_page_headers,
};

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What `Strict-Transport-Security` says where people reach the service by TLS.
const A_YEAR_OF_TLS: &str = "max-age=31536000";

/// The id of a request: the client's own if it sent one that is well formed, else a new one.
#[derive(Clone, Debug)]
pub struct RequestId(pub Arc<str>);

/// Marks an answer whose body is meant as it is, though its status is a refusal's: a page, or an error in OAuth's own form.
#[derive(Clone, Copy, Debug)]
pub struct Verbatim;

/// Who is calling: the other end of the connection, or whom trusted proxies speak for.
#[derive(Clone, Copy, Debug)]
pub struct ClientIp(pub IpAddr);

/// The service that answers, as logs and metrics call it.
#[derive(Clone, Copy, Debug)]
pub struct ServiceName(pub &'static str);

pub(super) struct Edge {
    service: &'static str,
    router: Router,
    random: Random,
    proxies: Proxies,
    hosts: Hosts,
    secure: bool,
}

impl Edge {
    pub(super) fn new(site: Site, listening: IpAddr, router: Router, random: Random) -> Self {
        let router = router.layer(axum::middleware::from_fn(learn_route));
        let (hosts, secure) = (Hosts::new(listening, &site.address), site.is_secure());
        Edge { service: site.name, router, random, proxies: site.proxies, hosts, secure }
    }

    pub(super) async fn handle(&self, mut request: Request, peer: SocketAddr) -> Response {
        let client = self.proxies.client(peer.ip(), request.headers());
        let id = self.request_id(&request);
        let html = prefers_html(request.headers());
        let record = Record::new(self.service, &request, id.clone(), client);
        request.extensions_mut().insert(RequestId(id.clone()));
        request.extensions_mut().insert(ClientIp(client));
        request.extensions_mut().insert(ServiceName(self.service));
        request.extensions_mut().insert(record.learnt.clone());

        let mut response = match has_one_host(&request).and_then(|()| self.hosts.check(&request)) {
            Ok(()) => self.answer(request).await,
            Err(problem) => problem.into_response(),
        };
        let problem = write_problem(&mut response, &id, &record.method, html);
        let headers = response.headers_mut();
        if let Ok(value) = HeaderValue::try_from(id.as_ref()) {
            headers.insert(X_REQUEST_ID, value);
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if self.secure {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(A_YEAR_OF_TLS));
        }
        record.answered(response.status(), problem.as_deref());
        response
    }

    async fn answer(&self, request: Request) -> Response {
        let answer = AssertUnwindSafe(self.router.clone().oneshot(request)).catch_unwind().await;
        match answer {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(panic) => panicked(panic.as_ref()).into_response(),
        }
    }

    /// The headers and the body of an answer to what is no request at all.
    pub(super) fn refuse(&self, status: StatusCode, peer: SocketAddr) -> (String, Bytes) {
        let id = self.new_id();
        let problem = match status {
            StatusCode::BAD_REQUEST => {
                Problem::new(&problem::INVALID_REQUEST, "What was sent is not a well-formed HTTP request.")
            }
            status => Problem::from_status(status),
        };
        let (media_type, body) = problem::document(&problem, &id, Form::Json);
        let length = body.len();
        let headers = format!(
            "content-type: {media_type}\r\ncontent-length: {length}\r\ncache-control: no-store\r\n\
             x-request-id: {id}\r\nx-content-type-options: nosniff\r\n",
        );
        let (service, status, client) = (self.service, status.as_u16(), peer.ip());
        tracing::info!(service, status, %client, id, "not a request");
        (headers, body)
    }

    fn request_id(&self, request: &Request) -> Arc<str> {
        let sent = request.headers().get(X_REQUEST_ID).and_then(|value| value.to_str().ok());
        sent.filter(|id| is_well_formed(id)).map_or_else(|| self.new_id().into(), Arc::from)
    }

    fn new_id(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.random.bytes()))
    }
}

/// HTTP/1.1 wants exactly one `Host`; with none or several, two programs on the way may each see another target.
fn has_one_host(request: &Request) -> Result<(), Problem> {
    if request.version() != Version::HTTP_11 || request.headers().get_all(header::HOST).iter().count() == 1 {
        return Ok(());
    }
    Err(Problem::new(&problem::INVALID_REQUEST, "The request must have exactly one Host header."))
}

/// Whether an answer gets a problem document.
pub(crate) fn is_refusal(response: &Response) -> bool {
    let status = response.status();
    let ours = response.extensions().get::<Arc<Problem>>().is_some();
    let meant = response.extensions().get::<Verbatim>().is_some();
    ours || !meant && (status.is_client_error() || status.is_server_error())
}

/// Writes the document of a refusal, be it a [`Problem`] of ours or a bare status from a library.
fn write_problem(response: &mut Response, id: &str, method: &Method, html: bool) -> Option<Arc<Problem>> {
    if !is_refusal(response) {
        return None;
    }
    let ours = response.extensions_mut().remove();
    let problem = ours.unwrap_or_else(|| Arc::new(Problem::from_status(response.status())));
    let xml = response.extensions_mut().remove::<InXml>().is_some();
    let form = if html {
        Form::Html
    } else if xml {
        Form::Xml
    } else {
        Form::Json
    };
    let (media_type, body) = problem::document(&problem, id, form);
    let headers = response.headers_mut();
    if html {
        add_page_headers(headers);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CONTENT_LENGTH, body.len().into());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.remove(header::CONTENT_ENCODING);
    *response.status_mut() = problem.status();
    *response.body_mut() = if method == Method::HEAD { Body::empty() } else { body.into() };
    Some(problem)
}

pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> Problem {
    Problem::internal(format!("a handler panicked: {}", panic_message(panic)))
}

/// What a panic said.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

fn is_well_formed(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=128).contains(&id.len()) && id.bytes().all(allowed)
}
