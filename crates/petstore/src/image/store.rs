//! Images in the database.

use db::{Error, Record as _, Tx, WriteTx};
use model::{Record, sql};
use uuid::Uuid;

use super::{LARGEST_TOGETHER, MOST, MediaType};
use crate::pet::photos;

/// How large a piece of an image is.
const PART: usize = 256 * 1024;

/// The result of an upload.
pub(crate) enum Insertion {
    Yes,
    NoPet,
    /// The pet has the maximum number or size of images.
    Full,
}

/// An image without its bytes, which are in the table of parts.
#[derive(Clone, Record)]
pub(crate) struct Image {
    pub(crate) id: Uuid,
    pub(crate) pet_id: i64,
    pub(crate) media_type: MediaType,
    pub(crate) size: i64,
}

/// Stores an image, and adds its address to the pet's photos.
pub(crate) fn insert(
    tx: &mut WriteTx<'_>,
    image: &Image,
    address: &str,
    bytes: &[u8],
) -> Result<Insertion, Error> {
    // The lock makes uploads for one pet wait for each other, so that each counts the others.
    let Some(mut photo_urls) = photos::lock(tx, image.pet_id)? else { return Ok(Insertion::NoPet) };
    let (count, size): (i64, i64) = tx
        .row(
            "SELECT count(*), CAST(COALESCE(sum(size), 0) AS BIGINT) FROM pet_image WHERE pet_id = $1",
            &[image.pet_id.into()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .unwrap_or_default();
    if count >= MOST || size + image.size > LARGEST_TOGETHER || photo_urls.len() >= photos::MOST {
        return Ok(Insertion::Full);
    }
    tx.execute(sql!("INSERT INTO pet_image ({Image}) VALUES ({Image.values})"), &image.values()?)?;
    for (number, part) in (0_i64..).zip(bytes.chunks(PART)) {
        tx.execute(
            "INSERT INTO pet_image_part (image_id, number, bytes) VALUES ($1, $2, $3)",
            &[image.id.into(), number.into(), part.into()],
        )?;
    }
    photo_urls.push(address.to_owned());
    photos::set(tx, image.pet_id, &photo_urls)?;
    Ok(Insertion::Yes)
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
