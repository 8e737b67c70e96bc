//! Images in the database.

use db::{Error, Tx, WriteTx};
use uuid::Uuid;

use super::{LARGEST_TOGETHER, MOST};
use crate::pet::{self, MOST_PHOTOS, Pet};

/// How large a piece of an image is.
const PART: usize = 256 * 1024;

/// What became of an image that was to be kept.
pub(crate) enum Kept {
    Yes,
    NoPet,
    /// The pet has as many images as it may.
    Full,
}

pub(crate) struct NewImage<'a> {
    pub(crate) id: Uuid,
    pub(crate) pet: i64,
    pub(crate) address: &'a str,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: &'a [u8],
}

/// Keeps an image, and adds its address to the pet's photos.
pub(crate) fn insert(tx: &mut WriteTx<'_>, image: &NewImage<'_>) -> Result<Kept, Error> {
    // Changes the row, so that uploads for one pet come one after another and none overlooks another's.
    tx.execute("UPDATE pet SET photo_urls = photo_urls WHERE id = $1", &[image.pet.into()])?;
    let Some(mut pet) = pet::store::by_id(tx, image.pet)? else { return Ok(Kept::NoPet) };
    let (count, size): (i64, i64) = tx
        .row(
            "SELECT count(*), CAST(COALESCE(sum(size), 0) AS BIGINT) FROM pet_image WHERE pet_id = $1",
            &[image.pet.into()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .unwrap_or_default();
    let new = image.bytes.len() as i64;
    if count >= MOST || size + new > LARGEST_TOGETHER || pet.photo_urls.len() >= MOST_PHOTOS {
        return Ok(Kept::Full);
    }
    tx.execute(
        "INSERT INTO pet_image (id, pet_id, media_type, size) VALUES ($1, $2, $3, $4)",
        &[image.id.into(), image.pet.into(), image.media_type.into(), new.into()],
    )?;
    for (number, part) in (0_i64..).zip(image.bytes.chunks(PART)) {
        tx.execute(
            "INSERT INTO pet_image_part (image_id, number, bytes) VALUES ($1, $2, $3)",
            &[image.id.into(), number.into(), part.into()],
        )?;
    }
    pet.photo_urls.push(image.address.to_owned());
    pet::store::set_photo_urls(tx, image.pet, &pet.photo_urls)?;
    Ok(Kept::Yes)
}

/// An image's media type and size.
pub(crate) fn by_id(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<(String, i64)>, Error> {
    tx.row("SELECT media_type, size FROM pet_image WHERE id = $1", &[id.into()], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// One piece of an image.
pub(crate) fn part(tx: &mut Tx<'_>, id: Uuid, number: i64) -> Result<Option<Vec<u8>>, Error> {
    tx.row(
        "SELECT bytes FROM pet_image_part WHERE image_id = $1 AND number = $2",
        &[id.into(), number.into()],
        |row| row.get(0),
    )
}

/// Removes the images of a pet whose addresses are not among its photos any more.
pub(crate) fn keep_only(tx: &mut WriteTx<'_>, pet: &Pet) -> Result<(), Error> {
    let images: Vec<Uuid> =
        tx.rows("SELECT id FROM pet_image WHERE pet_id = $1", &[pet.id.into()], |row| row.get(0))?;
    for image in images {
        let end = format!("{}{image}", super::PATH);
        if !pet.photo_urls.iter().any(|photo| photo.ends_with(&end)) {
            tx.execute("DELETE FROM pet_image WHERE id = $1", &[image.into()])?;
        }
    }
    Ok(())
}
