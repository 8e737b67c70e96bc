//! The two messages of a call, and how it ended.

use std::{sync::Arc, time::Instant};

use http::{Method, StatusCode, Version, uri::PathAndQuery};

use super::message::CapturedMessage;
use crate::{fault::Fault, problem::Problem};

#[derive(Debug, Clone)]
pub struct ObservedRequest {
    pub method: Method,
    pub(super) target: Option<PathAndQuery>,
    pub version: Version,
    pub message: CapturedMessage,
}

impl ObservedRequest {
    /// The path as the client sent it.
    pub fn path(&self) -> &str {
        self.target.as_ref().map_or("", PathAndQuery::path)
    }

    pub fn query(&self) -> Option<&str> {
        self.target.as_ref()?.query()
    }
}

#[derive(Debug, Clone)]
pub struct ObservedAnswer {
    pub status: StatusCode,
    pub message: CapturedMessage,
}

/// How a call ended.
pub(crate) struct Ended {
    /// None if the connection was closed without an answer.
    pub(crate) answer: Option<ObservedAnswer>,
    pub(crate) problem: Option<Arc<Problem>>,
    pub(crate) fault: Option<Fault>,
    pub(crate) start: Instant,
}
