//! The photos of a pet: addresses, some of them of images that the store serves.
//!
//! Images depend on pets: a replaced pet deletes the images that it no longer lists.

use db::{Error, Tx, WriteTx, to_json};
use uuid::Uuid;

use super::Pet;

/// How many photos a pet can have.
pub(crate) const MOST: usize = 100;

/// The path of images, below the service's address.
pub(crate) const IMAGES: &str = "/v3/images/";

/// The photos of a pet, whose row stays locked until the transaction ends; `None` when there is no such pet.
pub(crate) fn lock(tx: &mut WriteTx<'_>, pet: i64) -> Result<Option<Vec<String>>, Error> {
    tx.row("SELECT photo_urls FROM pet WHERE id = $1 FOR NO KEY UPDATE", &[pet.into()], |row| row.json(0))
}

pub(crate) fn set(tx: &mut WriteTx<'_>, pet: i64, photo_urls: &[String]) -> Result<(), Error> {
    tx.execute("UPDATE pet SET photo_urls = $2 WHERE id = $1", &[pet.into(), to_json(photo_urls)?]).map(drop)
}

/// Deletes the images of a pet whose addresses are not among its photos.
pub(super) fn delete_unlisted_images(tx: &mut WriteTx<'_>, pet: &Pet) -> Result<(), Error> {
    for image in images(tx, pet.id)? {
        let path = format!("{IMAGES}{image}");
        if !pet.photo_urls.iter().any(|photo| photo.ends_with(&path)) {
            tx.execute("DELETE FROM pet_image WHERE id = $1", &[image.into()])?;
        }
    }
    Ok(())
}

fn images(tx: &mut Tx<'_>, pet: i64) -> Result<Vec<Uuid>, Error> {
    tx.rows("SELECT id FROM pet_image WHERE pet_id = $1", &[pet.into()], |row| row.get(0))
}
