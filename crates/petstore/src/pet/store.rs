//! Pets in the database.

use db::{Error, Record, Tx, Value, Word, WriteTx};
use model::sql;

use super::{Pet, Status, photos};
use crate::inventory;

pub(crate) fn by_id(tx: &mut Tx<'_>, id: i64) -> Result<Option<Pet>, Error> {
    tx.record(sql!("SELECT {Pet} FROM pet WHERE id = $1"), &[id.into()])
}

/// Adds a pet; `false` when its id is taken.
pub(crate) fn insert(tx: &mut WriteTx<'_>, pet: &Pet) -> Result<bool, Error> {
    let added = tx.execute(
        sql!("INSERT INTO pet ({Pet}) VALUES ({Pet.values}) ON CONFLICT (id) DO NOTHING"),
        &pet.values()?,
    )?;
    if added == 1 {
        count(tx, pet.id, None, pet.status)?;
        insert_tags(tx, pet)?;
    }
    Ok(added == 1)
}

/// Replaces a pet; `false` when there is none with its id.
pub(crate) fn replace(tx: &mut WriteTx<'_>, pet: &Pet) -> Result<bool, Error> {
    let Some(before) = lock_status(tx, pet.id)? else { return Ok(false) };
    let changed = tx.execute(sql!("UPDATE pet SET {Pet.set} WHERE id = $1"), &pet.values()?)?;
    if changed == 1 {
        count(tx, pet.id, before, pet.status)?;
        tx.execute("DELETE FROM pet_tag WHERE pet_id = $1", &[pet.id.into()])?;
        insert_tags(tx, pet)?;
        photos::delete_unlisted_images(tx, pet)?;
    }
    Ok(changed == 1)
}

/// Adds a pet, or replaces the pet with its id.
pub(crate) fn put(tx: &mut WriteTx<'_>, pet: &Pet) -> Result<(), Error> {
    // Another process may delete the pet between the two statements; the loop then adds it.
    while !insert(tx, pet)? && !replace(tx, pet)? {}
    Ok(())
}

/// Changes a pet's name, its status or both.
pub(crate) fn change(
    tx: &mut WriteTx<'_>,
    id: i64,
    name: Option<&str>,
    status: Option<Status>,
) -> Result<Option<Pet>, Error> {
    let Some(before) = lock_status(tx, id)? else { return Ok(None) };
    let changed: Option<Pet> = tx.record(
        sql!(
            "UPDATE pet SET name = COALESCE($2, name), status = COALESCE($3, status) WHERE id = $1 RETURNING {Pet}"
        ),
        &[id.into(), name.into(), status.map(Status::word).into()],
    )?;
    if let Some(pet) = &changed {
        count(tx, id, before, pet.status)?;
    }
    Ok(changed)
}

/// The status of a pet that no other transaction changes until the end of this one; `None` when there is no such pet.
fn lock_status(tx: &mut WriteTx<'_>, id: i64) -> Result<Option<Option<Status>>, Error> {
    tx.row("SELECT status FROM pet WHERE id = $1 FOR NO KEY UPDATE", &[id.into()], |row| row.get(0))
}

/// Counts a change of the status of a pet.
fn count(tx: &mut WriteTx<'_>, id: i64, before: Option<Status>, after: Option<Status>) -> Result<(), Error> {
    inventory::change(tx, id, before.map(Status::word), after.map(Status::word))
}

/// Deletes a pet with its images; `false` when there is none with this id.
pub(crate) fn delete(tx: &mut WriteTx<'_>, id: i64) -> Result<bool, Error> {
    let deleted = tx.row("DELETE FROM pet WHERE id = $1 RETURNING status", &[id.into()], |row| {
        row.get::<Option<Status>>(0)
    })?;
    if let Some(before) = deleted {
        count(tx, id, before, None)?;
    }
    Ok(deleted.is_some())
}

/// The ids of the next pets of a status after an id, from the index alone.
pub(crate) fn ids_of_status(
    tx: &mut Tx<'_>,
    status: Status,
    after: Option<i64>,
    most: i64,
) -> Result<Vec<i64>, Error> {
    let status = status.word();
    match after {
        Some(after) => tx.rows(
            "SELECT id FROM pet WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3",
            &[status.into(), after.into(), most.into()],
            |row| row.get(0),
        ),
        None => tx.rows(
            "SELECT id FROM pet WHERE status = $1 ORDER BY id LIMIT $2",
            &[status.into(), most.into()],
            |row| row.get(0),
        ),
    }
}

/// The ids of the next pets with a tag after an id, from the index alone.
pub(crate) fn ids_tagged(
    tx: &mut Tx<'_>,
    tag: &str,
    after: Option<i64>,
    most: i64,
) -> Result<Vec<i64>, Error> {
    match after {
        Some(after) => tx.rows(
            "SELECT pet_id FROM pet_tag WHERE name = $1 AND pet_id > $2 ORDER BY pet_id LIMIT $3",
            &[tag.into(), after.into(), most.into()],
            |row| row.get(0),
        ),
        None => tx.rows(
            "SELECT pet_id FROM pet_tag WHERE name = $1 ORDER BY pet_id LIMIT $2",
            &[tag.into(), most.into()],
            |row| row.get(0),
        ),
    }
}

/// How many pets [`some`] reads.
pub(crate) const SOME: usize = 8;

/// The pets of up to [`SOME`] ids in order, and how many bytes they are.
pub(crate) fn some(tx: &mut Tx<'_>, ids: &[i64]) -> Result<(Vec<Pet>, usize), Error> {
    let Some(last) = ids.last() else { return Ok((Vec::new(), 0)) };
    // If there are fewer ids, the last one is repeated.
    let mut params = [(); SOME].map(|()| Value::from(*last));
    for (param, id) in params.iter_mut().zip(ids) {
        *param = (*id).into();
    }
    let mut bytes = 0;
    let pets = tx.rows(
        sql!("SELECT {Pet} FROM pet WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8) ORDER BY id"),
        &params,
        |row| {
            bytes += row.bytes();
            Pet::from_row(row)
        },
    )?;
    Ok((pets, bytes))
}

fn insert_tags(tx: &mut WriteTx<'_>, pet: &Pet) -> Result<(), Error> {
    for name in pet.tags.iter().flatten().filter_map(|tag| tag.name.as_deref()) {
        tx.execute(
            "INSERT INTO pet_tag (name, pet_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            &[name.into(), pet.id.into()],
        )?;
    }
    Ok(())
}
