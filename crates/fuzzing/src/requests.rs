//! Makes a request of an input.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use serde_json::Value;

use crate::services::Service;

/// A request to a service.
pub(crate) struct Call {
    pub(crate) service: Service,
    pub(crate) request: Request<Bytes>,
}

/// An operation that reads a part of its requests with the parser of a target.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) service: Service,
    pub(crate) method: &'static str,
    /// `{}` is where a text goes.
    pub(crate) address: &'static str,
    /// A JSON document. `{}` is where a text goes.
    pub(crate) document: &'static str,
}

impl Operation {
    pub(crate) const fn new(service: Service, method: &'static str, address: &'static str) -> Self {
        Operation { service, method, address, document: "" }
    }

    pub(crate) const fn get(service: Service, address: &'static str) -> Self {
        Operation::new(service, "GET", address)
    }

    pub(crate) const fn post(service: Service, address: &'static str) -> Self {
        Operation::new(service, "POST", address)
    }

    /// The same with a JSON document in which the text goes.
    pub(crate) const fn with(self, document: &'static str) -> Self {
        Operation { document, ..self }
    }

    /// A request with this body.
    pub(crate) fn with_body(&self, content_type: &[u8], accept: &'static str, body: &[u8]) -> Option<Call> {
        let mut call = self.call(self.address)?;
        let content_type = HeaderValue::from_bytes(content_type).ok()?;
        call.request.headers_mut().insert(header::CONTENT_TYPE, content_type);
        call.request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(accept));
        *call.request.body_mut() = Bytes::copy_from_slice(body);
        Some(call)
    }

    /// A request with this header.
    pub(crate) fn with_header(&self, name: HeaderName, value: &[u8]) -> Option<Call> {
        let mut call = self.call(self.address)?;
        call.request.headers_mut().insert(name, HeaderValue::from_bytes(value).ok()?);
        Some(call)
    }

    /// A request with a text in its document, or encoded in its address.
    pub(crate) fn with_text(&self, text: &[u8]) -> Option<Call> {
        if self.document.is_empty() {
            let encoded = percent_encode(text, NON_ALPHANUMERIC).to_string();
            return self.call(&self.address.replace("{}", &encoded));
        }
        let text = Value::from(String::from_utf8_lossy(text));
        let document = self.document.replace("{}", &text.to_string());
        self.with_body(b"application/json", "application/json", document.as_bytes())
    }

    /// A request with these bytes in its address: as they are if an address can have them, else encoded.
    pub(crate) fn with_address_part(&self, part: &[u8]) -> Option<Call> {
        let raw = std::str::from_utf8(part).ok();
        let raw = raw.and_then(|part| self.call(&self.address.replace("{}", part)));
        raw.or_else(|| self.with_text(part))
    }

    fn call(&self, address: &str) -> Option<Call> {
        let uri: Uri = address.parse().ok()?;
        // A part with a fragment, or one that is an address of its own, is no path.
        uri.path_and_query().filter(|_| uri.authority().is_none())?;
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = self.method.parse().ok()?;
        *request.uri_mut() = uri;
        Some(Call { service: self.service, request })
    }
}

/// The operation that the first byte of an input selects, and the rest of the input.
pub(crate) fn selected<'i>(
    operations: &'static [Operation],
    input: &'i [u8],
) -> Option<(&'static Operation, &'i [u8])> {
    let (first, rest) = input.split_first()?;
    // From the digit 0 on, so that the inputs in fuzz/seeds are text.
    let number = usize::from(first.wrapping_sub(b'0'));
    Some((&operations[number % operations.len()], rest))
}

/// An input in two parts: its first line, and the rest.
pub(crate) fn first_line(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    Some((&input[..end], &input[end + 1..]))
}
