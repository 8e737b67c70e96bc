//! The two messages of a call, and how it ended.

use std::{sync::Arc, time::Instant};

use http::{Method, StatusCode, Uri, Version};

use super::{capture::CapturedBody, headers::CapturedHeaders};
use crate::{fault::Fault, problem::Problem};

#[derive(Debug)]
pub struct ObservedRequest {
    pub method: Method,
    /// The target as the client sent it, with its query.
    pub target: Uri,
    pub version: Version,
    pub headers: CapturedHeaders,
    pub body: CapturedBody,
}

#[derive(Debug)]
pub struct ObservedAnswer {
    pub status: StatusCode,
    pub headers: CapturedHeaders,
    pub body: CapturedBody,
}

/// How a call ended.
pub(crate) struct Ended {
    /// None if the connection was closed without an answer.
    pub(crate) answer: Option<ObservedAnswer>,
    pub(crate) problem: Option<Arc<Problem>>,
    pub(crate) fault: Option<Fault>,
    pub(crate) start: Instant,
}
