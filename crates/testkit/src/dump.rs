//! All rows of a database as text, to check that nothing changed and that no secret is stored.

use db::Db;

use crate::Engine;

/// All rows of all tables.
pub async fn all_rows(db: &Db, engine: Engine) -> Vec<String> {
    let mut all = Vec::new();
    for table in db.tables() {
        all.extend(rows(db, engine, table).await);
    }
    all
}

/// The rows of a table, in the order of their text; bytes are in hexadecimal.
pub async fn rows(db: &Db, engine: Engine, table: &str) -> Vec<String> {
    let query = match engine {
        Engine::Postgres => format!("SELECT to_jsonb(t)::text FROM {table} t ORDER BY 1"),
        Engine::Sqlite => {
            let columns = format!("SELECT name FROM pragma_table_info('{table}')");
            let columns: Vec<_> = texts(db, &columns).await;
            let columns: Vec<_> = columns.iter().map(|name| format!("'{name}=' || quote({name})")).collect();
            format!("SELECT {} FROM {table} ORDER BY 1", columns.join(" || ' ' || "))
        }
    };
    texts(db, &query).await.into_iter().map(|row| format!("{table}: {row}")).collect()
}

async fn texts(db: &Db, query: &str) -> Vec<String> {
    // Statements are `&'static str`.
    let query: &'static str = Box::leak(query.into());
    let rows = db.read(move |tx| tx.rows(query, &[], |row| row.get::<String>(0)));
    rows.await.unwrap_or_else(|error: db::Error| panic!("{query}: {error}"))
}
