//! The tables of a service as its migrations made them, so that the next test gets them without migrations.

use std::io::{Read, Write};

use db::Migrations;
use postgres::Client;

pub(crate) struct Tables {
    pub(crate) service: &'static str,
    pub(crate) migrations: Vec<Migrations>,
    /// What the migrations made, to notice whether a test made, changed or dropped anything.
    objects: String,
    names: Vec<String>,
    /// The rows that the migrations added, by table.
    rows: Vec<(String, Vec<u8>)>,
}

/// The tables of a schema.
const NAMES: &str = "SELECT quote_ident(nspname) || '.' || quote_ident(relname)
    FROM pg_class JOIN pg_namespace AS space ON space.oid = relnamespace WHERE nspname = $1 AND relkind = 'r'";

/// The number and the newest of all objects of a database: each of them gets a higher number than those before. The columns of a
/// temporary table are gone with its session.
const OBJECTS: &str = "SELECT concat_ws(' ',
    (SELECT count(*) || ':' || max(oid) || ':' || count(relacl) || ':' || count(reloptions) FROM pg_class WHERE relpersistence = 'p'),
    (SELECT count(*) || ':' || count(*) FILTER (WHERE attisdropped) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relpersistence = 'p'),
    (SELECT count(*) || ':' || max(oid) FROM pg_attrdef),
    (SELECT count(*) || ':' || max(oid) FROM pg_constraint),
    (SELECT count(*) || ':' || max(oid) || ':' || count(*) FILTER (WHERE tgenabled = 'O') FROM pg_trigger),
    (SELECT count(*) || ':' || max(oid) FROM pg_rewrite),
    (SELECT count(*) || ':' || max(oid) FROM pg_policy),
    (SELECT count(*) || ':' || max(oid) FROM pg_proc),
    (SELECT string_agg(nspname || coalesce(nspacl::text, ''), ',' ORDER BY oid) FROM pg_namespace WHERE NOT starts_with(nspname, 'pg_')))";

/// No migration takes a number of a sequence.
const RESTART: &str = "SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) FROM pg_sequences";

impl Tables {
    pub(crate) fn read(
        client: &mut Client,
        service: &'static str,
        migrations: Vec<Migrations>,
    ) -> Result<Self, postgres::Error> {
        let names = client.query(NAMES, &[&service])?.iter().map(|row| row.get(0)).collect::<Vec<String>>();
        let mut rows = Vec::new();
        for name in &names {
            let mut copied = Vec::new();
            let copy = client.copy_out(&format!("COPY {name} TO STDOUT"))?.read_to_end(&mut copied);
            copy.expect("the rows are read");
            if !copied.is_empty() {
                rows.push((name.clone(), copied));
            }
        }
        Ok(Tables { service, migrations, objects: objects(client)?, names, rows })
    }

    /// Deletes the rows of a test. Returns false if the test has changed more than rows.
    pub(crate) fn restore(&self, client: &mut Client) -> Result<bool, postgres::Error> {
        if objects(client)? != self.objects {
            return Ok(false);
        }
        // Without triggers and the checks of foreign keys, so in any order.
        let mut delete = "SET session_replication_role = replica".to_owned();
        for name in &self.names {
            delete += &format!("; DELETE FROM {name}");
        }
        delete += "; ";
        delete += RESTART;
        client.batch_execute(&delete)?;
        for (name, rows) in &self.rows {
            let mut copy = client.copy_in(&format!("COPY {name} FROM STDIN"))?;
            copy.write_all(rows).expect("the rows are written");
            copy.finish()?;
        }
        Ok(true)
    }
}

fn objects(client: &mut Client) -> Result<String, postgres::Error> {
    Ok(client.query_one(OBJECTS, &[])?.get(0))
}
