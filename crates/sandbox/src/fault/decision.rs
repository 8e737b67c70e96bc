//! The fault that a call gets.

use std::{borrow::Cow, sync::LazyLock, time::Duration};

use axum::response::Response;
use http::StatusCode;
use uuid::Uuid;
use web::{
    Problem, fault,
    problem::{INTERNAL, INVALID_REQUEST, Kind, STANDARD},
};

use super::DropPoint;

/// What happens to a call. The default is nothing.
///
/// The call waits for `delay`. If [`does_work`](Decision::does_work), it is done; otherwise its answer is the problem of `status`,
/// or any response, which the client does not get. [`apply_to`](Decision::apply_to) then changes the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// The rule that decided; none if the call asked for it.
    pub rule: Option<Uuid>,
    /// At most [`LONGEST_DELAY`](super::LONGEST_DELAY).
    pub delay: Duration,
    /// The answer instead of the work.
    pub status: Option<StatusFault>,
    pub drop: Option<DropPoint>,
    pub bytes_per_second: Option<u32>,
    pub malformed: bool,
}

impl Decision {
    /// Whether the call is not changed.
    pub fn is_nothing(&self) -> bool {
        *self == Decision { rule: self.rule, ..Decision::default() }
    }

    pub fn does_work(&self) -> bool {
        self.status.is_none() && self.drop != Some(DropPoint::Before)
    }

    /// The answer with the fault of its connection or of its body, which the edge applies.
    pub fn apply_to(&self, answer: Response) -> Response {
        match (self.drop, self.bytes_per_second) {
            (Some(DropPoint::Before | DropPoint::After), _) => fault::cut_connection(answer),
            (Some(DropPoint::Middle), _) => fault::cut_body(answer),
            (None, Some(rate)) => fault::slow_body(answer, rate),
            (None, None) if self.malformed => fault::malformed_body(answer),
            (None, None) => answer,
        }
    }
}

/// An answer with an error status instead of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusFault {
    pub status: StatusCode,
    pub detail: Cow<'static, str>,
    /// The header `Retry-After`, in seconds. The statuses for which services have it get 1 without it.
    pub retry_after: Option<u32>,
}

impl StatusFault {
    /// The problem that is answered. It has the type that the services use for its status, so that a client cannot tell it from
    /// theirs.
    pub fn problem(&self) -> Problem {
        let problem = Problem::new(kind(self.status), self.detail.clone());
        let says_when =
            [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&self.status);
        match self.retry_after.or(says_when.then_some(1)) {
            Some(seconds) => problem.retry_after(seconds.into()),
            None => problem,
        }
    }
}

/// The kinds for the error statuses that the services do not use. Their types are those of any other error.
static OTHERS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let statuses = (400..=599).filter_map(|status| StatusCode::from_u16(status).ok());
    let unused = statuses.filter(|status| standard(*status).is_none());
    let other = |status: StatusCode| {
        let general = if status.is_server_error() { &INTERNAL } else { &INVALID_REQUEST };
        let title = status.canonical_reason().unwrap_or(general.title);
        Kind { name: general.name, status, title, help: general.help }
    };
    unused.map(other).collect()
});

fn standard(status: StatusCode) -> Option<&'static Kind> {
    STANDARD.iter().copied().find(|kind| kind.status == status)
}

fn kind(status: StatusCode) -> &'static Kind {
    let other = || OTHERS.iter().find(|kind| kind.status == status);
    standard(status).or_else(other).unwrap_or(&INTERNAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_has_its_status_and_the_type_that_services_use() {
        let of = |status: u16| {
            let status = StatusCode::from_u16(status).unwrap();
            let fault = StatusFault { status, detail: "On purpose.".into(), retry_after: Some(7) };
            fault.problem()
        };
        for status in 400..=599 {
            let problem = of(status);
            assert_eq!((problem.status().as_u16(), problem.detail()), (status, "On purpose."));
        }
        assert_eq!(of(503).kind(), &web::problem::UNAVAILABLE);
        let (teapot, unknown) = (of(418), of(599));
        assert_eq!((teapot.kind().name, teapot.kind().title), ("invalid-request", "I'm a teapot"));
        assert_eq!((unknown.kind().name, unknown.kind().title), ("internal", "Internal error"));
    }

    #[test]
    fn work_is_not_done_for_a_status_or_a_connection_that_is_closed_before() {
        let with = |drop| Decision { drop, ..Decision::default() }.does_work();
        let points = [None, Some(DropPoint::After), Some(DropPoint::Middle), Some(DropPoint::Before)];
        assert_eq!(points.map(with), [true, true, true, false]);
        let status = StatusFault { status: StatusCode::CONFLICT, detail: "".into(), retry_after: None };
        assert!(!Decision { status: Some(status), ..Decision::default() }.does_work());
    }
}
