//! The rows of the database as text, to compare them before and after a request.

use crate::fixture::Open;

/// The tables of the service itself.
const OWN: [&str; 5] = ["trip_seats", "booking", "payment", "sandbox_charge", "idempotency"];

impl Open {
    /// What the service holds and has charged, row by row.
    pub(crate) async fn kept(&self) -> Vec<String> {
        let mut rows = Vec::new();
        for table in OWN {
            rows.extend(self.rows(table).await);
        }
        rows
    }

    /// Every row of every table.
    pub(crate) async fn everything(&self) -> Vec<String> {
        testkit::dump::all_rows(&self.db, self.store.engine()).await
    }

    /// The rows of a table.
    pub(crate) async fn rows(&self, table: &str) -> Vec<String> {
        testkit::dump::rows(&self.db, self.store.engine(), table).await
    }
}

testkit::on_both_engines! {
    async fn dump_has_all_rows(open: Open) {
        open.ada.hold(crate::fixture::TRIP).await;
        let kept = open.kept().await;
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert!(kept[0].starts_with("trip_seats: ") && kept[0].contains("2026-05-20"), "{kept:?}");
        assert!(kept[1].starts_with("booking: ") && kept[1].contains("Ada Lovelace"), "{kept:?}");
        let everything = open.everything().await;
        assert!(kept.iter().all(|row| everything.contains(row)), "{everything:?}");
        assert!(everything.iter().any(|row| row.starts_with("signing_key: ")), "{everything:?}");
    }
}
