//! Pages by number, as the services' lists take them.

/// Which page, and how much is on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paging {
    page: i64,
    limit: i64,
}

impl Paging {
    pub fn new(page: i64, limit: i64) -> Self {
        Paging { page, limit }
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
