//! Images in the database.

use db::{Error, Record as _, Tx, WriteTx};
use model::{Record, sql};
use uuid::Uuid;

use super::{LARGEST_TOGETHER, MOST, MediaType};
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

/// An image without its bytes, which are in parts of their own.
#[derive(Clone, Record)]
pub(crate) struct Image {
    pub(crate) id: Uuid,
    pub(crate) pet_id: i64,
    pub(crate) media_type: MediaType,
    pub(crate) size: i64,
}

/// Keeps an image, and adds its address to the pet's photos.
pub(crate) fn insert(
    tx: &mut WriteTx<'_>,
    image: &Image,
    address: &str,
    bytes: &[u8],
) -> Result<Kept, Error> {
    // Changes the row, so that uploads for one pet come one after another and none overlooks another's.
    tx.execute("UPDATE pet SET photo_urls = photo_urls WHERE id = $1", &[image.pet_id.into()])?;
    let Some(mut pet) = pet::store::by_id(tx, image.pet_id)? else { return Ok(Kept::NoPet) };
    let (count, size): (i64, i64) = tx
        .row(
            "SELECT count(*), CAST(COALESCE(sum(size), 0) AS BIGINT) FROM pet_image WHERE pet_id = $1",
            &[image.pet_id.into()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .unwrap_or_default();
    if count >= MOST || size + image.size > LARGEST_TOGETHER || pet.photo_urls.len() >= MOST_PHOTOS {
        return Ok(Kept::Full);
    }
    tx.execute(sql!("INSERT INTO pet_image ({Image}) VALUES ({Image.values})"), &image.values()?)?;
    for (number, part) in (0_i64..).zip(bytes.chunks(PART)) {
        tx.execute(
            "INSERT INTO pet_image_part (image_id, number, bytes) VALUES ($1, $2, $3)",
            &[image.id.into(), number.into(), part.into()],
        )?;
    }
    pet.photo_urls.push(address.to_owned());
    pet::store::set_photo_urls(tx, image.pet_id, &pet.photo_urls)?;
    Ok(Kept::Yes)
}

pub(crate) fn by_id(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<Image>, Error> {
    tx.record(sql!("SELECT {Image} FROM pet_image WHERE id = $1"), &[id.into()])
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
