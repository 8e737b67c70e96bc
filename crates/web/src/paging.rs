//! Pages by number, as the services' lists take them.

use crate::input::{Fields, rules};

/// Which page, and how much is on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    page: i64,
    limit: i64,
}

impl Paging {
    /// `page` from 1, 1 if absent; `limit` from 1 to `most`, `usual` if absent.
    pub fn read(fields: &mut Fields<'_>, usual: i64, most: i64) -> Option<Self> {
        let page = fields.optional("page", rules::integer(1..=i64::MAX));
        let limit = fields.optional("limit", rules::integer(1..=most));
        Some(Paging { page: page?.unwrap_or(1), limit: limit?.unwrap_or(usual) })
    }

    pub fn page(self) -> i64 {
        self.page
    }

    pub fn limit(self) -> i64 {
        self.limit
    }

    /// How much comes before this page; `None` when that is more than can be counted, and so past any end.
    pub fn skipped(self) -> Option<i64> {
        (self.page - 1).checked_mul(self.limit)
    }
}
