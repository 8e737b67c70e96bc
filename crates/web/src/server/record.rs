//! The record of a request: a line in the log, and its time in the metrics.

use std::{net::IpAddr, sync::Arc, time::Instant};

use axum::extract::Request;
use http::{Method, StatusCode, uri::PathAndQuery};
use trace::Span;

use super::traces::finish;
use crate::{
    fault::Fault,
    observe::call::Ended,
    problem::Problem,
    request::{RequestContext, RequestRoute},
    times::{self, Labels, NO_ROUTE, is_probe},
};

/// The target of the lines about requests in the log.
pub const REQUEST_LOG: &str = module_path!();

/// The recorded status of a request whose client disconnected before the answer.
const ABORTED: u16 = 499;

/// The recorded status of a request whose connection was cut by a fault instead of an answer.
const CUT: u16 = 444;

/// A request that is being answered. Dropped before the answer, it records an aborted request: the connection was closed.
pub(super) struct Record {
    pub(super) method: Method,
    pub(super) context: RequestContext,
    target: Option<PathAndQuery>,
    pub(super) start: Instant,
    /// The span of the request, if traces are recorded.
    pub(super) span: Option<Span>,
    /// Whether it was refused because of too many requests. The log says that in one line for many.
    pub(super) is_refused: bool,
    answered: bool,
}

impl Record {
    pub(super) fn new(
        request: &Request,
        context: RequestContext,
        span: Option<Span>,
        start: Instant,
    ) -> Self {
        Record {
            method: request.method().clone(),
            context,
            target: request.uri().path_and_query().cloned(),
            start,
            span,
            is_refused: false,
            answered: false,
        }
    }

    /// Records the answer.
    pub(super) fn answered(mut self, status: StatusCode, problem: Option<&Problem>, fault: Option<Fault>) {
        self.answered = true;
        self.record(status.as_u16(), "request", problem, fault);
    }

    /// Records that there is no answer because of a fault.
    pub(super) fn cut(mut self, problem: Option<Arc<Problem>>, fault: Fault) {
        self.answered = true;
        self.record(CUT, "request", problem.as_deref(), Some(fault));
        self.context.ended(self.unanswered(problem, Some(fault)));
    }

    fn unanswered(&self, problem: Option<Arc<Problem>>, fault: Option<Fault>) -> Ended {
        Ended { answer: None, problem, fault, start: self.start }
    }

    fn record(&mut self, status: u16, message: &str, problem: Option<&Problem>, fault: Option<Fault>) {
        let took = self.start.elapsed();
        let (service, method) = (self.context.service(), known(&self.method));
        let (route, times) = match self.context.route() {
            Some(RequestRoute::Operation(route, _)) => (&*route.pattern, route.times(&self.method)),
            Some(RequestRoute::Other(route)) => (route.as_str(), None),
            None => (NO_ROUTE, None),
        };
        let labels = Labels { service, method, route };
        match times {
            Some(times) => times.record(labels, status, took),
            None => times::record(labels, status, took),
        }
        let (method, id) = (self.method.as_str(), &**self.context.id());
        let client = ip_text(self.context.client_ip());
        let client = client.as_str();
        // The query may contain secrets.
        let path = self.target.as_ref().map_or("", PathAndQuery::path);
        let trace_id = self.span.as_ref().map(|span| span.context().trace_id());
        let trace_id = trace_id.as_deref();
        let ms = took.as_micros() as f64 / 1000.0;
        let (user, client_id) = (self.context.user(), self.context.client());
        let cause = problem.and_then(Problem::cause).map(tracing::field::display);
        let problem = problem.map(|problem| problem.kind().name);
        let fault = fault.map(Fault::name);
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    message, service, method, path, status, ms, client, user, client_id, id, trace_id,
                    problem, fault, cause
                )
            };
        }
        if cause.is_some() {
            line!(error);
        } else if is_probe(path) && status < 400 || self.is_refused {
            line!(debug);
        } else {
            line!(info);
        }
        if let Some(span) = self.span.take() {
            finish(span, labels, status, client);
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.answered {
            self.record(ABORTED, "request aborted", None, None);
            self.context.ended(self.unanswered(None, None));
        }
    }
}

/// An address as text. The `Display` of an IPv4 address costs as much as the rest of a log line.
fn ip_text(address: IpAddr) -> String {
    let IpAddr::V4(address) = address else { return address.to_string() };
    let mut text = String::with_capacity("255.255.255.255".len());
    let digit = |digit: u8| char::from(b'0' + digit);
    for (at, octet) in address.octets().into_iter().enumerate() {
        if at > 0 {
            text.push('.');
        }
        if octet >= 100 {
            text.push(digit(octet / 100));
        }
        if octet >= 10 {
            text.push(digit(octet / 10 % 10));
        }
        text.push(digit(octet % 10));
    }
    text
}

fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn address_has_its_usual_text() {
        for octet in 0..=255 {
            let address = Ipv4Addr::new(octet, 0, 255 - octet, octet).into();
            assert_eq!(ip_text(address), address.to_string());
        }
        assert_eq!(ip_text("2001:db8::1".parse().unwrap()), "2001:db8::1");
    }
}
