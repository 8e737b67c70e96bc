//! Composes a picture.

use super::{
    colour::{BACKDROPS, Colour},
    dice::Dice,
    scene,
    species::Species,
};

/// Another value gives every pet another picture. With this one, the pets of the demo differ most.
const EDITION: &[u8] = b"25";

/// The picture of a pet, as SVG. Its texts are not part of it.
pub(super) fn pet(id: i64, name: &str, category: &str) -> String {
    let species = Species::of(category);
    let mut dice = Dice::new(&[EDITION, &id.to_be_bytes(), name.as_bytes(), category.as_bytes()]);
    let (paper, shape) = dice.pick(BACKDROPS);
    let backdrop = scene::backdrop(&mut dice, Colour(shape));
    let animal = species.draw(&mut dice);
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200"><rect width="200" height="200" fill="{}"/>{backdrop}{animal}</svg>"#,
        Colour(paper)
    )
}
