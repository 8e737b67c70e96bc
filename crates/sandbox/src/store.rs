//! The registry of sandboxes in its database.

use std::collections::HashSet;

use db::{Error, Row, Tx, WriteTx};
use jiff::Timestamp;
use uuid::Uuid;

use crate::name::Name;

/// Whether a sandbox can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Creating,
    Ready,
    Deleting,
    /// The row stays for some time, so that every process sees it.
    Deleted,
    /// It is that of the root services: always ready, and never deleted.
    Root,
}

impl Status {
    fn from_word(word: &str) -> Self {
        match word {
            "creating" => Status::Creating,
            "ready" => Status::Ready,
            "deleting" => Status::Deleting,
            "root" => Status::Root,
            _ => Status::Deleted,
        }
    }
}

/// A row of the registry.
#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    pub(crate) name: String,
    pub(crate) token_hash: Vec<u8>,
    pub(crate) class: Option<String>,
    pub(crate) created_at: Timestamp,
    pub(crate) used_at: Timestamp,
    pub(crate) status: Status,
    pub(crate) clock: String,
    pub(crate) controls: String,
    pub(crate) faults: String,
}

fn sandbox(row: &Row<'_>) -> Result<Sandbox, Error> {
    Ok(Sandbox {
        name: row.get(0)?,
        token_hash: row.get(1)?,
        class: row.get(2)?,
        created_at: row.get(3)?,
        used_at: row.get(4)?,
        status: Status::from_word(&row.get::<String>(5)?),
        clock: row.get(6)?,
        controls: row.get(7)?,
        faults: row.get(8)?,
    })
}

/// A statement that reads whole rows.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT name, token_hash, class, created_at, used_at, status, clock, controls, faults FROM sandbox ",
            $rest
        )
    };
}

/// The number of a new change. Changes wait for each other here, so that they are committed in the order of their numbers.
fn next_version(tx: &mut WriteTx<'_>) -> Result<i64, Error> {
    let version =
        tx.row("UPDATE registry SET version = version + 1 WHERE id = 1 RETURNING version", &[], |row| {
            row.get(0)
        })?;
    version.ok_or_else(|| Error::Fault("the registry has no row".into()))
}

/// A sandbox that is to be created.
#[derive(Debug, Clone)]
pub(crate) struct NewSandbox {
    pub(crate) name: Name,
    pub(crate) token_hash: Vec<u8>,
    pub(crate) class: Option<String>,
    /// The address of the client; none if the operator creates it.
    pub(crate) creator: Option<String>,
}

/// How many sandboxes there can be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) most: i64,
    pub(crate) per_address: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inserted {
    Done,
    Taken,
    TooMany,
    TooManyOfAddress,
}

/// Adds a sandbox that is being created.
pub(crate) fn insert(
    tx: &mut WriteTx<'_>,
    new: &NewSandbox,
    limits: Limits,
    now: Timestamp,
) -> Result<Inserted, Error> {
    let version = next_version(tx)?;
    let count = |row: &Row<'_>| row.get::<i64>(0);
    if tx
        .row("SELECT count(*) FROM sandbox WHERE status NOT IN ('deleted', 'root')", &[], count)?
        .unwrap_or(0)
        >= limits.most
    {
        return Ok(Inserted::TooMany);
    }
    if let Some(creator) = &new.creator {
        let theirs = tx.row(
            "SELECT count(*) FROM sandbox WHERE creator = $1 AND status <> 'deleted'",
            &[creator.into()],
            count,
        )?;
        if theirs.unwrap_or(0) >= limits.per_address {
            return Ok(Inserted::TooManyOfAddress);
        }
    }
    let added = tx.execute(
        "INSERT INTO sandbox
             (name, token_hash, class, creator, created_at, used_at, status, version, clock, controls, faults)
         VALUES ($1, $2, $3, $4, $5, $5, 'creating', $6, '', '', '')
         ON CONFLICT (name) DO UPDATE SET token_hash = excluded.token_hash, class = excluded.class,
             creator = excluded.creator, created_at = excluded.created_at, used_at = excluded.used_at,
             status = excluded.status, version = excluded.version, clock = '', controls = '', faults = ''
         WHERE sandbox.status = 'deleted'",
        &[
            new.name.as_str().into(),
            new.token_hash.as_slice().into(),
            new.class.as_deref().into(),
            new.creator.as_deref().into(),
            now.into(),
            version.into(),
        ],
    )?;
    Ok(if added == 1 { Inserted::Done } else { Inserted::Taken })
}

/// Adds the row of the root services, unless there is one.
pub(crate) fn insert_root(tx: &mut WriteTx<'_>, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO sandbox
             (name, token_hash, class, creator, created_at, used_at, status, version, clock, controls, faults)
         VALUES ('', $1, NULL, NULL, $2, $2, 'root', 0, '', '', '') ON CONFLICT (name) DO NOTHING",
        &[[].as_slice().into(), now.into()],
    )
    .map(drop)
}

pub(crate) fn by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<Sandbox>, Error> {
    tx.row(select!("WHERE name = $1"), &[name.into()], sandbox)
}

/// The next sandboxes after a name, in order, of all or of one class.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    class: Option<&str>,
    after: &str,
    most: i64,
) -> Result<Vec<Sandbox>, Error> {
    match class {
        Some(class) => tx.rows(
            select!("WHERE class = $1 AND name > $2 AND status = 'ready' ORDER BY name LIMIT $3"),
            &[class.into(), after.into(), most.into()],
            sandbox,
        ),
        None => tx.rows(
            select!("WHERE name > $1 AND status = 'ready' ORDER BY name LIMIT $2"),
            &[after.into(), most.into()],
            sandbox,
        ),
    }
}

/// The number of the last change.
pub(crate) fn version(tx: &mut Tx<'_>) -> Result<i64, Error> {
    let version = tx.row("SELECT version FROM registry WHERE id = 1", &[], |row| row.get(0))?;
    Ok(version.unwrap_or(0))
}

/// The sandboxes that have changed after a change.
pub(crate) fn changed_after(tx: &mut Tx<'_>, version: i64) -> Result<Vec<Sandbox>, Error> {
    tx.rows(select!("WHERE version > $1 ORDER BY version"), &[version.into()], sandbox)
}

/// One sandbox: another one may get its name after it was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) created_at: Timestamp,
}

fn key(row: &Row<'_>) -> Result<Key, Error> {
    Ok(Key { name: row.get(0)?, created_at: row.get(1)? })
}

/// Marks a sandbox that was created as ready; `false` when it was deleted meanwhile.
pub(crate) fn set_ready(tx: &mut WriteTx<'_>, key: &Key) -> Result<bool, Error> {
    let version = next_version(tx)?;
    let changed = tx.execute(
        "UPDATE sandbox SET status = 'ready', version = $3
         WHERE name = $1 AND created_at = $2 AND status = 'creating'",
        &[key.name.as_str().into(), key.created_at.into(), version.into()],
    )?;
    Ok(changed == 1)
}

/// Marks a sandbox as being deleted; `None` when there is none, or when it is being deleted already.
pub(crate) fn set_deleting(
    tx: &mut WriteTx<'_>,
    name: &str,
    unused_since: Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<Key>, Error> {
    let version = next_version(tx)?;
    tx.row(
        "UPDATE sandbox SET status = 'deleting', used_at = $4, version = $3
         WHERE name = $1 AND status = 'ready' AND used_at <= $2 RETURNING name, created_at",
        &[name.into(), unused_since.unwrap_or(now).into(), version.into(), now.into()],
        key,
    )
}

/// The names that sandboxes have now.
pub(crate) fn names(tx: &mut Tx<'_>) -> Result<HashSet<String>, Error> {
    let names = tx.rows("SELECT name FROM sandbox WHERE status <> 'deleted'", &[], |row| row.get(0))?;
    Ok(names.into_iter().collect())
}

/// Marks data that belongs to no sandbox, or to one that was deleted, as being deleted; `None` when a sandbox has the name.
pub(crate) fn set_orphan_deleting(
    tx: &mut WriteTx<'_>,
    name: &str,
    now: Timestamp,
) -> Result<Option<Key>, Error> {
    let version = next_version(tx)?;
    tx.row(
        "INSERT INTO sandbox
             (name, token_hash, class, creator, created_at, used_at, status, version, clock, controls, faults)
         VALUES ($1, $2, NULL, NULL, $3, $3, 'deleting', $4, '', '', '')
         ON CONFLICT (name) DO UPDATE
         SET status = 'deleting', created_at = excluded.created_at, used_at = excluded.used_at, version = excluded.version
         WHERE sandbox.status = 'deleted' RETURNING name, created_at",
        &[name.into(), [].as_slice().into(), now.into(), version.into()],
        key,
    )
}

/// Whether the data of a sandbox is to be removed: it is being deleted, or its creation has failed.
pub(crate) fn is_removed(tx: &mut Tx<'_>, key: &Key) -> Result<bool, Error> {
    let found = tx.row(
        "SELECT 1 FROM sandbox WHERE name = $1 AND created_at = $2 AND status IN ('creating', 'deleting')",
        &[key.name.as_str().into(), key.created_at.into()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Marks a sandbox whose data was removed as deleted.
pub(crate) fn set_deleted(tx: &mut WriteTx<'_>, key: &Key) -> Result<(), Error> {
    let version = next_version(tx)?;
    let changed = tx.execute(
        "UPDATE sandbox SET status = 'deleted', version = $3
         WHERE name = $1 AND created_at = $2 AND status IN ('creating', 'deleting')",
        &[key.name.as_str().into(), key.created_at.into(), version.into()],
    )?;
    if changed == 1 {
        forget_counts(tx, &key.name)?;
    }
    Ok(())
}

/// A part of a sandbox that its controls change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Clock,
    Controls,
    Faults,
}

impl Part {
    fn of(self, row: &Sandbox) -> &str {
        match self {
            Part::Clock => &row.clock,
            Part::Controls => &row.controls,
            Part::Faults => &row.faults,
        }
    }
}

/// Changes a part, from its state to another one. Changes of one part wait for each other. `None` when there is no such sandbox.
pub(crate) fn change_part<R, E: From<Error>>(
    tx: &mut WriteTx<'_>,
    name: &str,
    part: Part,
    change: impl FnOnce(&str) -> Result<(String, R), E>,
) -> Result<Option<R>, E> {
    let version = next_version(tx)?;
    let Some(row) = by_name(tx, name)? else { return Ok(None) };
    let (state, result) = change(part.of(&row))?;
    let statement = match part {
        Part::Clock => "UPDATE sandbox SET clock = $2, version = $3 WHERE name = $1",
        Part::Controls => "UPDATE sandbox SET controls = $2, version = $3 WHERE name = $1",
        Part::Faults => "UPDATE sandbox SET faults = $2, version = $3 WHERE name = $1",
    };
    tx.execute(statement, &[name.into(), state.into(), version.into()])?;
    Ok(Some(result))
}

/// Counts a call for each of these fault rules, and gives its number for each, from 1.
pub(crate) fn count_call(tx: &mut WriteTx<'_>, name: &str, rules: &[Uuid]) -> Result<Vec<i64>, Error> {
    let mut numbers = Vec::with_capacity(rules.len());
    for rule in rules {
        let number = tx.row(
            "INSERT INTO fault_count (sandbox, rule, calls) VALUES ($1, $2, 1)
             ON CONFLICT (sandbox, rule) DO UPDATE SET calls = fault_count.calls + 1 RETURNING calls",
            &[name.into(), (*rule).into()],
            |row| row.get(0),
        )?;
        numbers.push(number.unwrap_or(1));
    }
    Ok(numbers)
}

/// Forgets the number of calls for a fault rule.
pub(crate) fn forget_count(tx: &mut WriteTx<'_>, name: &str, rule: Uuid) -> Result<(), Error> {
    tx.execute("DELETE FROM fault_count WHERE sandbox = $1 AND rule = $2", &[name.into(), rule.into()])
        .map(drop)
}

/// Forgets the numbers of calls for all fault rules of a sandbox.
pub(crate) fn forget_counts(tx: &mut WriteTx<'_>, name: &str) -> Result<(), Error> {
    tx.execute("DELETE FROM fault_count WHERE sandbox = $1", &[name.into()]).map(drop)
}

/// Changes the clock and the controls by a function of the row, one change after another; `false` when there is no such sandbox.
pub(crate) fn change_clock<E: From<Error>>(
    tx: &mut WriteTx<'_>,
    name: &str,
    change: impl FnOnce(&Sandbox) -> Result<(String, String), E>,
) -> Result<bool, E> {
    let version = next_version(tx)?;
    let Some(row) = by_name(tx, name)? else { return Ok(false) };
    let (clock, controls) = change(&row)?;
    let changed = tx.execute(
        "UPDATE sandbox SET clock = $2, controls = $3, version = $4 WHERE name = $1",
        &[name.into(), clock.into(), controls.into(), version.into()],
    )?;
    Ok(changed == 1)
}

/// Notes that a sandbox is in use.
pub(crate) fn touch(tx: &mut WriteTx<'_>, name: &str, now: Timestamp) -> Result<(), Error> {
    tx.execute(
        "UPDATE sandbox SET used_at = $2 WHERE name = $1 AND used_at < $2 AND status = 'ready'",
        &[name.into(), now.into()],
    )
    .map(drop)
}

/// Some of the sandboxes that were not used since then.
pub(crate) fn unused_since(tx: &mut Tx<'_>, since: Timestamp, most: i64) -> Result<Vec<String>, Error> {
    tx.rows(
        "SELECT name FROM sandbox WHERE used_at <= $1 AND status = 'ready' ORDER BY used_at LIMIT $2",
        &[since.into(), most.into()],
        |row| row.get(0),
    )
}

/// The sandboxes whose creation or removal began before then and did not end: their process has stopped.
pub(crate) fn unfinished(tx: &mut Tx<'_>, since: Timestamp, most: i64) -> Result<Vec<Key>, Error> {
    tx.rows(
        "SELECT name, created_at FROM sandbox WHERE status IN ('creating', 'deleting') AND used_at <= $1
         ORDER BY name LIMIT $2",
        &[since.into(), most.into()],
        key,
    )
}

/// Deletes some rows of sandboxes that were deleted before then.
pub(crate) fn forget_deleted(tx: &mut WriteTx<'_>, since: Timestamp) -> Result<(), Error> {
    let statement = db::delete_some!(
        "sandbox",
        "name",
        "status = 'deleted' AND used_at <= $1 ORDER BY used_at LIMIT 100"
    );
    tx.execute(statement, &[since.into()]).map(drop)
}

/// Notes the use of a template; `false` when there is none that is complete.
pub(crate) fn use_template(tx: &mut WriteTx<'_>, name: &str, now: Timestamp) -> Result<bool, Error> {
    let used =
        tx.execute("UPDATE template SET used_at = $2 WHERE name = $1 AND ready", &[name.into(), now.into()])?;
    Ok(used == 1)
}

/// Adds a template that is complete.
pub(crate) fn add_template(tx: &mut WriteTx<'_>, name: &str, now: Timestamp) -> Result<(), Error> {
    let statement = "INSERT INTO template (name, used_at, ready) VALUES ($1, $2, TRUE)
         ON CONFLICT (name) DO UPDATE SET used_at = excluded.used_at, ready = TRUE";
    tx.execute(statement, &[name.into(), now.into()]).map(drop)
}

/// Removes a template from the registry.
pub(crate) fn forget_template(tx: &mut WriteTx<'_>, name: &str) -> Result<(), Error> {
    tx.execute("DELETE FROM template WHERE name = $1", &[name.into()]).map(drop)
}

/// Removes a template of another version from the registry; `false` when it was used since then. One that the registry does not
/// have counts as used now: it may be in the making.
pub(crate) fn expire_template(
    tx: &mut WriteTx<'_>,
    name: &str,
    since: Timestamp,
    now: Timestamp,
) -> Result<bool, Error> {
    tx.execute(
        "INSERT INTO template (name, used_at, ready) VALUES ($1, $2, FALSE) ON CONFLICT (name) DO NOTHING",
        &[name.into(), now.into()],
    )?;
    let expired =
        tx.execute("DELETE FROM template WHERE name = $1 AND used_at <= $2", &[name.into(), since.into()])?;
    Ok(expired == 1)
}
