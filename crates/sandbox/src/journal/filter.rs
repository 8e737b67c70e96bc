//! Which entries are listed or followed.

use db::Word;
use http::StatusCode;
use model::Parameters;
use web::input::rules::{Rule, text};

use super::Entry;
use crate::{caller::CallerName, fault::ServiceName, glob, glob::Glob, method::Method};

/// The most entries of a list.
const MOST_LISTED: i64 = super::MOST_ENTRIES as i64;

/// How many entries a list has, unless a client asks for more or fewer.
const LISTED: i64 = 100;

/// The filters of a journal.
#[derive(Debug, Clone, Parameters)]
pub struct JournalQuery {
    /// Only calls to this service.
    pub service: Option<ServiceName>,
    /// Only calls with this method.
    pub method: Option<Method>,
    /// Only calls that were answered with this status, such as `404`, or a class of them, such as `4xx`.
    #[field(rule = status(), example = "4xx")]
    pub status: Option<StatusFilter>,
    /// Only calls to these paths. `*` is any part of a segment, and a segment `**` is any number of segments.
    #[field(rule = glob::rule(), example = "/v3/pet/**")]
    pub path: Option<String>,
    /// Only calls of this operation, by its `operationId`.
    #[field(rule = text(1..=100), example = "getPetById")]
    pub operation: Option<String>,
    /// Only calls of this caller: the name of a user, the id of an OAuth client, or the address of a client.
    #[field(rule = text(1..=200), example = "demo")]
    pub caller: Option<String>,
    /// Only calls after this number.
    #[field(rule = integer(0_i64..))]
    pub since: Option<i64>,
    /// How many calls are listed at most.
    #[field(rule = limit(MOST_LISTED), default = LISTED)]
    pub limit: i64,
}

/// The status of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    Exactly(u16),
    /// The first digit: 4 for all from 400 to 499.
    Class(u16),
}

impl StatusFilter {
    fn from_text(text: &str) -> Option<Self> {
        let class = text.strip_suffix("xx").and_then(|digit| digit.parse().ok()).map(StatusFilter::Class);
        let filter = class.or_else(|| text.parse().ok().map(StatusFilter::Exactly))?;
        let allowed = match filter {
            StatusFilter::Exactly(status) => (100..=599).contains(&status),
            StatusFilter::Class(class) => (1..=5).contains(&class),
        };
        (text.len() == 3 && allowed).then_some(filter)
    }

    fn passes(self, status: StatusCode) -> bool {
        match self {
            StatusFilter::Exactly(wanted) => status.as_u16() == wanted,
            StatusFilter::Class(class) => status.as_u16() / 100 == class,
        }
    }
}

fn status() -> impl Rule<Value = StatusFilter> {
    text(..).pattern("^[1-5]([0-9]{2}|xx)$").then(|field, text: String| {
        StatusFilter::from_text(&text)
            .or_else(|| field.fail("must be a status like 404, or a class of them like 4xx"))
    })
}

/// Which entries are listed or followed. The default passes all.
#[derive(Debug, Clone)]
pub struct Filter {
    pub(super) service: Option<ServiceName>,
    pub(super) method: Option<Method>,
    pub(super) status: Option<StatusFilter>,
    pub(super) path: Option<Glob>,
    pub(super) operation: Option<String>,
    pub(super) caller: Option<CallerName>,
    pub(super) since: Option<u64>,
    pub(super) limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Filter {
            service: None,
            method: None,
            status: None,
            path: None,
            operation: None,
            caller: None,
            since: None,
            limit: super::MOST_ENTRIES,
        }
    }
}

impl From<JournalQuery> for Filter {
    fn from(query: JournalQuery) -> Self {
        Filter {
            service: query.service,
            method: query.method,
            status: query.status,
            path: query.path.as_deref().map(Glob::new),
            operation: query.operation,
            caller: query.caller.as_deref().map(CallerName::new),
            since: query.since.and_then(|since| u64::try_from(since).ok()),
            limit: usize::try_from(query.limit).unwrap_or_default(),
        }
    }
}

impl Filter {
    /// The same, with only the entries after a number.
    #[must_use]
    pub fn after(self, number: u64) -> Self {
        Filter { since: Some(number), ..self }
    }

    pub(super) fn passes(&self, entry: &Entry) -> bool {
        self.since.is_none_or(|since| entry.number > since)
            && self.service.is_none_or(|service| service.word() == &*entry.service)
            && self.method.is_none_or(|method| method.is(&entry.method))
            && self.status.is_none_or(|wanted| entry.status.is_some_and(|status| wanted.passes(status)))
            && self.operation.as_deref().is_none_or(|operation| entry.operation.as_deref() == Some(operation))
            && self
                .caller
                .as_ref()
                .is_none_or(|caller| caller.is(entry.user.as_deref(), entry.client.as_deref(), entry.address))
            && self.path.as_ref().is_none_or(|path| path.matches(&entry.path))
    }
}
