//! The tables of a database with their columns and foreign keys, and the texts of statements that copy their rows.

use std::collections::HashSet;

use crate::migration;

/// The table with the names of the copies; the names of their tables begin with it.
pub(crate) const REGISTRY: &str = "triptych_copy";

/// Each table with each of its columns, on SQLite.
pub(crate) const SQLITE_COLUMNS: &str = "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c
    WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND c.hidden = 0 ORDER BY t.name, c.cid";

/// Each column of a foreign key, on SQLite: its table, the number of the key, the other table, the column, the other column.
pub(crate) const SQLITE_REFERENCES: &str = "SELECT t.name, r.id, r.\"table\", r.\"from\", r.\"to\"
    FROM sqlite_schema AS t, pragma_foreign_key_list(t.name) AS r
    WHERE t.type = 'table' ORDER BY t.name, r.id, r.seq";

/// Each table and each index with its bytes, on SQLite.
pub(crate) const SQLITE_SIZES: &str = "SELECT name, CAST(pgsize AS TEXT) FROM dbstat WHERE aggregate = TRUE";

/// Lets PostgreSQL join tables in the order of the text until the end of the transaction: to find the best order for the seven tables
/// of [`postgres_references`] takes it longer than to read them.
pub(crate) const IN_WRITTEN_ORDER: &str = "SET LOCAL join_collapse_limit TO 1";

/// The tables of a schema on PostgreSQL, as `t`. They are found through what depends on the schema, for which there is an index:
/// with hundreds of groups, the server has many thousands of tables. The name of a schema needs no quotes.
fn postgres_tables(schema: &str) -> String {
    format!(
        "pg_catalog.pg_depend AS d JOIN pg_catalog.pg_class AS t ON t.oid = d.objid AND t.relkind = 'r'
             AND d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_namespace'::regclass
             AND d.refobjid = '{schema}'::regnamespace"
    )
}

/// Each table with each of its columns, on PostgreSQL.
pub(crate) fn postgres_columns(schema: &str) -> String {
    format!(
        "SELECT t.relname, c.attname FROM {}
         JOIN pg_catalog.pg_attribute AS c ON c.attrelid = t.oid
         WHERE c.attnum > 0 AND NOT c.attisdropped AND c.attgenerated = '' ORDER BY t.relname, c.attnum",
        postgres_tables(schema)
    )
}

/// Has a row on a server with Citus.
pub(crate) const CITUS: &str = "SELECT 1 FROM pg_catalog.pg_extension WHERE extname = 'citus'";

/// The host and the port of the worker that has the rows of a schema, on Citus; no row if the schema is not distributed. Not from the view
/// `citus_shards`: that asks all workers for the sizes of all tables.
pub(crate) fn worker(schema: &str) -> String {
    format!(
        "SELECT n.nodename, n.nodeport::text FROM pg_dist_schema AS d
         JOIN pg_dist_partition AS t ON t.colocationid = d.colocationid
         JOIN pg_dist_shard AS s ON s.logicalrelid = t.logicalrelid
         JOIN pg_dist_placement AS p ON p.shardid = s.shardid
         JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'
         WHERE d.schemaid = '{schema}'::regnamespace LIMIT 1"
    )
}

/// Each table with its bytes, on PostgreSQL. On Citus, a table that is distributed is empty here and has its rows on a worker.
pub(crate) fn postgres_sizes(schema: &str, is_citus: bool) -> String {
    let here = "pg_catalog.pg_table_size(t.oid)";
    let bytes = match is_citus {
        true => format!(
            "CASE WHEN EXISTS (SELECT 1 FROM pg_catalog.pg_dist_partition WHERE logicalrelid = t.oid)
             THEN pg_catalog.citus_table_size(t.oid) ELSE {here} END"
        ),
        false => here.to_owned(),
    };
    format!("SELECT t.relname, ({bytes})::text FROM {}", postgres_tables(schema))
}

/// Each column of a foreign key, on PostgreSQL, as on SQLite.
pub(crate) fn postgres_references(schema: &str) -> String {
    format!(
        "SELECT t.relname, r.oid, p.relname, c.attname, k.attname FROM {}
         JOIN pg_catalog.pg_constraint AS r ON r.conrelid = t.oid AND r.contype = 'f'
         JOIN pg_catalog.pg_class AS p ON p.oid = r.confrelid
         CROSS JOIN LATERAL unnest(r.conkey, r.confkey) WITH ORDINALITY AS pair (own, other, at)
         JOIN pg_catalog.pg_attribute AS c ON c.attrelid = t.oid AND c.attnum = pair.own
         JOIN pg_catalog.pg_attribute AS k ON k.attrelid = p.oid AND k.attnum = pair.other
         ORDER BY t.relname, r.oid, pair.at",
        postgres_tables(schema)
    )
}

/// The tables with triggers of migrations, on PostgreSQL.
pub(crate) fn postgres_triggers(schema: &str) -> String {
    format!(
        "SELECT DISTINCT t.relname FROM {}
         JOIN pg_catalog.pg_trigger AS r ON r.tgrelid = t.oid AND NOT r.tgisinternal ORDER BY t.relname",
        postgres_tables(schema)
    )
}

pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    references: Vec<Reference>,
}

/// A foreign key.
struct Reference {
    id: String,
    parent: String,
    /// Each column, and the column of the parent that it has the value of.
    columns: Vec<(String, String)>,
}

pub(crate) struct Catalog(Vec<Table>);

impl Catalog {
    pub(crate) fn new(columns: Vec<Vec<String>>, references: Vec<Vec<String>>) -> Self {
        let mut tables: Vec<Table> = Vec::new();
        for row in columns {
            let Ok([table, column]) = <[String; 2]>::try_from(row) else { continue };
            match tables.last_mut() {
                Some(last) if last.name == table => last.columns.push(column),
                _ => tables.push(Table { name: table, columns: vec![column], references: Vec::new() }),
            }
        }
        for row in references {
            let Ok([table, id, parent, own, other]) = <[String; 5]>::try_from(row) else { continue };
            let Some(table) = tables.iter_mut().find(|known| known.name == table) else { continue };
            match table.references.last_mut() {
                Some(last) if last.id == id => last.columns.push((own, other)),
                _ => table.references.push(Reference { id, parent, columns: vec![(own, other)] }),
            }
        }
        Catalog(tables)
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.0.iter()
    }

    pub(crate) fn table(&self, name: &str) -> Option<&Table> {
        self.0.iter().find(|table| table.name == name)
    }

    /// The tables that have rows of a service, each after those that it refers to, and then the copies of tables.
    pub(crate) fn in_order(&self) -> Result<Vec<&Table>, String> {
        let (copies, tables): (Vec<_>, Vec<_>) = self
            .tables()
            .filter(|table| table.name != migration::TABLE)
            .partition(|table| table.name.starts_with(REGISTRY));
        let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
        let mut ordered = self.ordered(&names)?;
        ordered.extend(copies);
        Ok(ordered)
    }

    /// These tables, each after those that it refers to.
    pub(crate) fn ordered<S: AsRef<str>>(&self, names: &[S]) -> Result<Vec<&Table>, String> {
        let missing = names.iter().find(|name| self.table(name.as_ref()).is_none());
        if let Some(missing) = missing {
            return Err(format!("there is no table {:?}", missing.as_ref()));
        }
        let is_named = |name: &str| names.iter().any(|named| named.as_ref() == name);
        let mut rest: Vec<_> = self.0.iter().filter(|table| is_named(&table.name)).collect();
        let mut ordered: Vec<&Table> = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let waits = |table: &Table| {
                table.references.iter().any(|reference| {
                    reference.parent != table.name && rest.iter().any(|other| other.name == reference.parent)
                })
            };
            let (later, next): (Vec<_>, Vec<_>) = rest.iter().copied().partition(|table| waits(table));
            if next.is_empty() {
                return Err(format!("the foreign keys of the table {} form a cycle", later[0].name));
            }
            ordered.extend(next);
            rest = later;
        }
        Ok(ordered)
    }

    /// A table outside of these that refers to one of them, and that one.
    pub(crate) fn outside_reference<S: AsRef<str>>(&self, names: &[S]) -> Option<(&str, &str)> {
        let is_named = |name: &str| names.iter().any(|named| named.as_ref() == name);
        let others = self.0.iter().filter(|table| !is_named(&table.name));
        let mut references = others.flat_map(|table| table.references.iter().map(move |one| (table, one)));
        let found = references.find(|(_, reference)| is_named(&reference.parent));
        found.map(|(table, reference)| (table.name.as_str(), reference.parent.as_str()))
    }
}

impl Table {
    /// A statement that inserts the rows of another table, without those whose parent does not exist.
    pub(crate) fn insert_from(&self, schema: Option<&str>, source: &Table) -> String {
        let known: HashSet<_> = source.columns.iter().collect();
        let columns: Vec<_> = self
            .columns
            .iter()
            .filter(|column| known.contains(column))
            .map(|column| quoted(column))
            .collect();
        let mut text = format!(
            "INSERT INTO {} ({}) SELECT {} FROM {} AS saved WHERE true",
            qualified(schema, &self.name),
            columns.join(", "),
            columns.join(", "),
            qualified(schema, &source.name)
        );
        for reference in self.references.iter().filter(|reference| reference.parent != self.name) {
            let pairs = || reference.columns.iter().map(|(own, other)| (quoted(own), quoted(other)));
            let empty: Vec<_> = pairs().map(|(own, _)| format!("saved.{own} IS NULL")).collect();
            let equal: Vec<_> = pairs().map(|(own, other)| format!("parent.{other} = saved.{own}")).collect();
            text.push_str(&format!(
                " AND ({} OR EXISTS (SELECT 1 FROM {} AS parent WHERE {}))",
                empty.join(" OR "),
                qualified(schema, &reference.parent),
                equal.join(" AND ")
            ));
        }
        text
    }
}

/// The name of a table in a statement.
pub(crate) fn qualified(schema: Option<&str>, table: &str) -> String {
    match schema {
        Some(schema) => format!("{schema}.{}", quoted(table)),
        None => quoted(table),
    }
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
