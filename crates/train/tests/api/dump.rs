//! What is in the database, as text: to see that nothing changed, and that nothing is there that should not be.

use testkit::Engine;

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
        let tables = match self.store.engine() {
            Engine::Sqlite => "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
            Engine::Postgres => {
                "SELECT table_name::text FROM information_schema.tables
                 WHERE table_schema = current_schema() ORDER BY table_name"
            }
        };
        let mut rows = Vec::new();
        for table in self.texts(tables).await {
            rows.extend(self.rows(&table).await);
        }
        rows
    }

    /// The rows of a table, in the order of their text; bytes are in hexadecimal.
    pub(crate) async fn rows(&self, table: &str) -> Vec<String> {
        let query = match self.store.engine() {
            Engine::Postgres => format!("SELECT to_jsonb(t)::text FROM {table} t ORDER BY 1"),
            Engine::Sqlite => {
                let columns = format!("SELECT name FROM pragma_table_info('{table}')");
                let columns: Vec<_> = self.texts(&columns).await;
                let columns: Vec<_> =
                    columns.iter().map(|name| format!("'{name}=' || quote({name})")).collect();
                format!("SELECT {} FROM {table} ORDER BY 1", columns.join(" || ' ' || "))
            }
        };
        self.texts(&query).await.into_iter().map(|row| format!("{table}: {row}")).collect()
    }

    async fn texts(&self, query: &str) -> Vec<String> {
        // The database takes no text that is not part of the program; here it is part of a test.
        let query: &'static str = Box::leak(query.into());
        let rows = self.db.read(move |tx| tx.rows(query, &[], |row| row.get::<String>(0)));
        rows.await.unwrap_or_else(|error: db::Error| panic!("{query}: {error}"))
    }
}

testkit::on_both_engines! {
    async fn a_dump_has_everything_in_it(open: Open) {
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
