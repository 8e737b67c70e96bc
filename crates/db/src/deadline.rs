//! Deadlines.

use std::time::{Duration, Instant};

/// The time after a wait. A wait that overflows the clock is a year.
pub(crate) fn after(start: Instant, wait: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    start.checked_add(wait).unwrap_or(start + YEAR)
}
