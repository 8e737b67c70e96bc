//! How many rows a table may have: those that were added and have not expired.

use super::STEP;

const HOUR: i64 = 60;
const DAY: i64 = 24 * HOUR;
const STAYS: i64 = i64::MAX;
const ALL: u64 = u64::MAX;

/// For how many minutes the rows of a table are live, and how many of them at most. In a table that is not here, no row stays that a
/// step has added.
const LIVE: [(&str, i64, u64); 21] = [
    // Until the operator prunes them.
    ("booking", STAYS, ALL),
    ("payment", STAYS, ALL),
    ("sandbox_charge", STAYS, ALL),
    ("trip_seats", STAYS, ALL),
    ("ticket", STAYS, ALL),
    // By the clock of the machine: the addresses from which an account was used, for 30 days, and the names of deleted
    // sandboxes, for two.
    ("sign_in_throttle", STAYS, ALL),
    ("sandbox", STAYS, ALL),
    // The last 50 attempts of a subscription. One in sixteen deletes those before, so that there are seldom more than 100.
    ("webhook_attempt", STAYS, 250),
    // Until the next replacement.
    ("webhook_old_secret", STAYS, 10),
    // The old key, the present one and the next one.
    ("signing_key", STAYS, 2),
    // Of an account to a client, with all that follows from them.
    ("oauth_grant", 180 * DAY, 100),
    ("oauth_code", 180 * DAY, 100),
    ("oauth_refresh_token", 180 * DAY, 100),
    // For redelivery.
    ("webhook_event", 30 * DAY, ALL),
    ("webhook_delivery", 30 * DAY, ALL),
    ("idempotency", DAY, ALL),
    ("session", 12 * HOUR, ALL),
    ("call_quota", 2 * HOUR, ALL),
    ("oauth_revoked_token", HOUR, ALL),
    ("inbox", HOUR, 20),
    ("inbox_message", HOUR, ALL),
];

/// The rows that were added.
#[derive(Default)]
pub(super) struct Live {
    /// The time, in minutes since the start.
    pub(super) now: i64,
    added: Vec<Added>,
}

struct Added {
    at: i64,
    schema: &'static str,
    table: &'static str,
    rows: u64,
}

impl Live {
    pub(super) fn add(&mut self, schema: &'static str, table: &'static str, rows: u64) {
        self.added.push(Added { at: self.now, schema, table, rows });
    }

    /// How many rows of those that were added to a table (`schema.table`) are live.
    pub(super) fn rows(&self, name: &str) -> u64 {
        let Some((schema, table)) = name.split_once('.') else { return 0 };
        let Some((_, lifetime, most)) = LIVE.iter().find(|(known, ..)| *known == table) else { return 0 };
        // Expired rows are deleted when the next row is added, which was up to a step ago.
        let is_live = |at: i64| self.now - at <= lifetime.saturating_add(2 * i64::from(STEP));
        let added = self.added.iter().filter(|added| added.schema == schema && added.table == table);
        added.filter(|added| is_live(added.at)).map(|added| added.rows).sum::<u64>().min(*most)
    }
}
