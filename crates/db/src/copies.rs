//! Named copies of tables, in the same database.
//!
//! A copy has a number of 1 to 20. The rows of the table `pet` in copy 3 are in the table `triptych_copy_3_pet`, so a copy moves with
//! the file or the schema of its database. `triptych_copy` has the names of the copies.

use crate::{
    catalog::{
        CITUS, Catalog, REGISTRY, SQLITE_COLUMNS, SQLITE_REFERENCES, SQLITE_SIZES, Table, postgres_columns,
        postgres_references, postgres_sizes, postgres_triggers, qualified,
    },
    copy_tables::{copied, create_registry},
    database::Db,
    error::Error,
    name::{RULE, is_name},
    scope::Scope,
    tx::{Tx, WriteTx},
};

/// How many copies a database has at most.
const MOST: usize = 20;

/// The copy that holds the rows of the tables while another copy is changed. Names of other copies are in lower case, so it cannot be one
/// of them.
const PRESENT: &str = "PRESENT";

impl Db {
    /// Saves the rows of these tables under a name, or replaces the copy of that name. All rows are of one state, and a crash
    /// leaves the whole copy or none.
    ///
    /// A name has 1 to 32 lower-case letters, digits and dashes ([`is_name`](crate::is_name)); a database has at most 20 copies.
    /// Both are [`Error::Constraint`] otherwise. A table that refers to one of these tables by a foreign key must be one of them, and
    /// so must a table that their triggers change.
    pub async fn save_copy(&self, copy: &str, tables: &[&str]) -> Result<(), Error> {
        let (place, copy, tables) = (self.place(), checked(copy)?, owned(tables));
        if place.is_postgres() {
            // On its own: two transactions that create a table at the same time can both fail. The next one says if there is none.
            let create = create_registry(place.schema.as_deref());
            let _ = self.write_tables(move |tx| tx.batch(&create)).await;
        }
        self.write_tables(move |tx| place.save(tx, &copy, &tables)).await
    }

    /// Gives these tables the rows of a copy; `false` if there is no such copy. It is one transaction: no reader sees a part of
    /// it, and a crash leaves all of it or nothing. Writes that have begun are completed before it, and others wait.
    ///
    /// The tables are those that were saved. One that the copy lacks stays as it is. A row that refers to a row outside of
    /// the copy that has been deleted since is left out. Triggers do not run: the tables that they change are restored as well.
    pub async fn restore_copy(&self, copy: &str, tables: &[&str]) -> Result<bool, Error> {
        let (place, copy, tables) = (self.place(), checked(copy)?, owned(tables));
        self.write_tables(move |tx| place.restore(tx, &copy, &tables)).await
    }

    /// Changes the rows of a copy as `change` changes those of the tables; `false` if there is no such copy. The rows of the tables
    /// stay as they are. It is one transaction, in which the tables have the rows of the copy while `change` runs, so other writes
    /// wait.
    pub async fn change_copy(
        &self,
        copy: &str,
        tables: &[&str],
        change: impl Fn(&mut WriteTx<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<bool, Error> {
        let (place, copy, tables) = (self.place(), checked(copy)?, owned(tables));
        self.write_tables(move |tx| {
            place.save(tx, PRESENT, &tables)?;
            let found = place.restore(tx, &copy, &tables)?;
            if found {
                change(tx)?;
                place.save(tx, &copy, &tables)?;
                place.restore(tx, PRESENT, &tables)?;
            }
            place.delete(tx, PRESENT)?;
            Ok(found)
        })
        .await
    }

    /// Deletes a copy; `false` if there is no such copy.
    pub async fn delete_copy(&self, copy: &str) -> Result<bool, Error> {
        let (place, copy) = (self.place(), checked(copy)?);
        self.write_tables(move |tx| place.delete(tx, &copy)).await
    }

    /// The names of all copies, in alphabetical order.
    pub async fn copies(&self) -> Result<Vec<String>, Error> {
        let place = self.place();
        let names = self.read_in(Scope::Transaction, move |tx| {
            let slots = if place.has_registry(tx)? { place.slots(tx)? } else { Vec::new() };
            Ok::<_, Error>(slots.into_iter().map(|(_, name)| name).collect::<Vec<_>>())
        });
        names.await.map(|mut names| {
            names.sort_unstable();
            names
        })
    }

    /// How many bytes the copies take, except those of these names, and how many a new copy of these tables would take. On SQLite it
    /// reads the whole file.
    pub async fn copy_bytes(&self, except: &[&str], tables: &[&str]) -> Result<CopyBytes, Error> {
        let (place, except, tables) = (self.place(), owned(except), owned(tables));
        self.read_long(move |tx| {
            let slots = if place.has_registry(tx)? { place.slots(tx)? } else { Vec::new() };
            let counted = slots.into_iter().filter(|(_, name)| !except.contains(name));
            let prefixes: Vec<_> = counted.map(|(slot, _)| copied(slot, "")).collect();
            let mut bytes = CopyBytes::default();
            for row in place.sizes(tx)? {
                let [table, size] = row.as_slice() else { continue };
                let size: u64 = size.parse().unwrap_or_default();
                if prefixes.iter().any(|prefix| table.starts_with(prefix)) {
                    bytes.copies += size;
                } else if tables.contains(table) {
                    bytes.tables += size;
                }
            }
            Ok(bytes)
        })
        .await
    }

    fn place(&self) -> Place {
        Place { schema: self.schema().map(str::to_owned) }
    }
}

/// The sizes of copies, without indexes: a copy has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyBytes {
    /// The bytes of the copies.
    pub copies: u64,
    /// The bytes of the tables.
    pub tables: u64,
}

fn checked(copy: &str) -> Result<String, Error> {
    if is_name(copy) {
        return Ok(copy.to_owned());
    }
    Err(Error::Constraint(format!("the name of a copy, {copy:?}, {RULE}")))
}

fn owned(tables: &[&str]) -> Vec<String> {
    tables.iter().map(|&table| table.to_owned()).collect()
}

/// The schema in which the tables are; `None` on SQLite.
struct Place {
    schema: Option<String>,
}

impl Place {
    fn is_postgres(&self) -> bool {
        self.schema.is_some()
    }

    fn name(&self, table: &str) -> String {
        qualified(self.schema.as_deref(), table)
    }

    fn save(&self, tx: &mut WriteTx<'_>, copy: &str, tables: &[String]) -> Result<(), Error> {
        if self.is_postgres() {
            // The state of all statements is that of the first one after the lock.
            tx.batch("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
            self.lock(tx)?;
        } else {
            tx.batch(&create_registry(self.schema.as_deref()))?;
        }
        let catalog = self.catalog(tx)?;
        let tables = listed(&catalog, tables)?;
        let slots = self.slots(tx)?;
        let slot = match slots.iter().find(|(_, name)| name == copy) {
            Some((slot, _)) => *slot,
            None => {
                let is_free = |slot: &usize| slots.iter().all(|(used, _)| used != slot);
                // There is always a number for the present rows.
                let most = if copy == PRESENT { MOST + 1 } else { MOST };
                let free = (1..=most).find(is_free);
                free.ok_or_else(|| Error::Constraint(format!("a database has at most {MOST} copies")))?
            }
        };
        self.drop_slot(tx, &catalog, slot)?;
        for table in tables {
            let (to, from) = (self.name(&copied(slot, &table.name)), self.name(&table.name));
            tx.batch(&format!("CREATE TABLE {to} AS SELECT * FROM {from}"))?;
        }
        // The name is of letters, digits and dashes.
        tx.batch(&format!("INSERT INTO {} (slot, name) VALUES ({slot}, '{copy}')", self.name(REGISTRY)))
    }

    fn restore(&self, tx: &mut WriteTx<'_>, copy: &str, tables: &[String]) -> Result<bool, Error> {
        let Some((catalog, slot)) = self.find(tx, copy)? else { return Ok(false) };
        let tables = listed(&catalog, tables)?;
        let tables =
            tables.into_iter().filter_map(|table| Some((table, catalog.table(&copied(slot, &table.name))?)));
        let tables: Vec<(&Table, &Table)> = tables.collect();
        let names: Vec<_> = tables.iter().map(|(table, _)| self.name(&table.name)).collect();
        let mut texts = Vec::new();
        let mut with_triggers = Vec::new();
        if let Some(schema) = &self.schema {
            // Waits for the writers, so that no row is written between the deletion and the end. Readers do not wait.
            texts.push(format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", names.join(", ")));
            let found = tx.texts(&postgres_triggers(schema))?;
            let found = found.into_iter().flatten().map(|table| self.name(&table));
            with_triggers = found.filter(|table| names.contains(table)).collect();
        }
        let switch =
            |to: &'static str| move |table: &String| format!("ALTER TABLE {table} {to} TRIGGER USER");
        texts.extend(with_triggers.iter().map(switch("DISABLE")));
        texts.extend(names.iter().rev().map(|table| format!("DELETE FROM {table}")));
        texts.extend(tables.iter().map(|(table, saved)| table.insert_from(self.schema.as_deref(), saved)));
        texts.extend(with_triggers.iter().map(switch("ENABLE")));
        tx.batch_unchecked(&texts)?;
        Ok(true)
    }

    fn delete(&self, tx: &mut WriteTx<'_>, copy: &str) -> Result<bool, Error> {
        let Some((catalog, slot)) = self.find(tx, copy)? else { return Ok(false) };
        self.drop_slot(tx, &catalog, slot)?;
        Ok(true)
    }

    /// The number of a copy, with the tables of the database. No other transaction changes a copy until the end of this one.
    fn find(&self, tx: &mut WriteTx<'_>, copy: &str) -> Result<Option<(Catalog, usize)>, Error> {
        if !self.has_registry(tx)? {
            return Ok(None);
        }
        self.lock(tx)?;
        let slot = self.slots(tx)?.into_iter().find(|(_, name)| name == copy);
        slot.map(|(slot, _)| Ok((self.catalog(tx)?, slot))).transpose()
    }

    /// Each table with its bytes.
    fn sizes(&self, tx: &mut Tx<'_>) -> Result<Vec<Vec<String>>, Error> {
        let Some(schema) = &self.schema else { return tx.texts(SQLITE_SIZES) };
        let is_citus = !tx.texts(CITUS)?.is_empty();
        tx.texts(&postgres_sizes(schema, is_citus))
    }

    fn lock(&self, tx: &mut WriteTx<'_>) -> Result<(), Error> {
        if self.is_postgres() {
            tx.batch(&format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", self.name(REGISTRY)))?;
        }
        Ok(())
    }

    fn has_registry(&self, tx: &mut Tx<'_>) -> Result<bool, Error> {
        let found = match &self.schema {
            Some(_) => tx.texts(&format!("SELECT to_regclass('{}')", self.name(REGISTRY))),
            None => tx.texts(&format!("SELECT name FROM sqlite_schema WHERE name = '{REGISTRY}'")),
        };
        Ok(found?.iter().flatten().any(|name| !name.is_empty()))
    }

    fn slots(&self, tx: &mut Tx<'_>) -> Result<Vec<(usize, String)>, Error> {
        let rows = tx.texts(&format!("SELECT CAST(slot AS TEXT), name FROM {}", self.name(REGISTRY)))?;
        let slots = rows.into_iter().filter_map(|row| {
            let [slot, name] = <[String; 2]>::try_from(row).ok()?;
            Some((slot.parse().ok()?, name))
        });
        Ok(slots.collect())
    }

    fn drop_slot(&self, tx: &mut WriteTx<'_>, catalog: &Catalog, slot: usize) -> Result<(), Error> {
        let prefix = copied(slot, "");
        for table in catalog.tables().filter(|table| table.name.starts_with(&prefix)) {
            tx.batch(&format!("DROP TABLE {}", self.name(&table.name)))?;
        }
        tx.batch(&format!("DELETE FROM {} WHERE slot = {slot}", self.name(REGISTRY)))
    }

    fn catalog(&self, tx: &mut Tx<'_>) -> Result<Catalog, Error> {
        let (columns, references) = match &self.schema {
            Some(schema) => (tx.texts(&postgres_columns(schema))?, tx.texts(&postgres_references(schema))?),
            None => (tx.texts(SQLITE_COLUMNS)?, tx.texts(SQLITE_REFERENCES)?),
        };
        Ok(Catalog::new(columns, references))
    }
}

/// The listed tables, each after those that it refers to.
fn listed<'c>(catalog: &'c Catalog, tables: &[String]) -> Result<Vec<&'c Table>, Error> {
    let ordered = catalog.ordered(tables).map_err(Error::Fault)?;
    match catalog.outside_reference(tables) {
        Some((table, parent)) => {
            Err(Error::Fault(format!("the table {table} refers to {parent}, so a copy has both or none")))
        }
        None => Ok(ordered),
    }
}
