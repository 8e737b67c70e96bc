//! The tables of copies: their names, and the statements that make them.

use crate::{
    catalog::{Catalog, REGISTRY, Table, qualified, quoted},
    transfer::{TableColumns, TransferError},
};

/// The name of a table in a copy.
pub(crate) fn copied(slot: usize, table: &str) -> String {
    format!("{REGISTRY}_{slot}_{table}")
}

/// The statement that makes the table with the names of the copies.
pub(crate) fn create_registry(schema: Option<&str>) -> String {
    let registry = qualified(schema, REGISTRY);
    format!(
        "CREATE TABLE IF NOT EXISTS {registry} (slot INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE)"
    )
}

/// A statement that makes a table of a copy, or the table with the names of the copies, in a database that has only the tables of
/// migrations; none for one of these.
pub(crate) fn missing_table(
    schema: Option<&str>,
    known: &Catalog,
    table: &TableColumns,
) -> Result<Option<String>, TransferError> {
    let TableColumns { name, columns } = table;
    let unknown = || TransferError::new(format!("this program has no table {name} with these columns"));
    let has = |known: &Table| columns.iter().all(|column| known.columns.contains(column));
    if name == REGISTRY {
        return Ok(Some(create_registry(schema)));
    }
    if let Some(known) = known.table(name) {
        return if has(known) { Ok(None) } else { Err(unknown()) };
    }
    let base = name.strip_prefix(REGISTRY).and_then(|rest| rest.strip_prefix('_')?.split_once('_'));
    let base = base.and_then(|(_, base)| known.table(base)).filter(|base| has(base)).ok_or_else(unknown)?;
    let columns: Vec<_> = columns.iter().map(|column| quoted(column)).collect();
    let (to, from) = (qualified(schema, name), qualified(schema, &base.name));
    Ok(Some(format!("CREATE TABLE {to} AS SELECT {} FROM {from} WHERE false", columns.join(", "))))
}
