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

/// A shape and its mirror image, left and right.
pub(super) fn both(shape: &str) -> String {
    format!(r#"{shape}<g transform="matrix(-1 0 0 1 200 0)">{shape}</g>"#)
}

pub(super) fn path(fill: Colour, d: &str) -> String {
    format!(r#"<path fill="{fill}" d="{d}"/>"#)
}

/// A line with round ends.
pub(super) fn line(stroke: Colour, width: f32, d: &str) -> String {
    format!(
        r#"<path fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linecap="round" stroke-linejoin="round" d="{d}"/>"#
    )
}

pub(super) fn oval(fill: Colour, (x, y): (f32, f32), (rx, ry): (f32, f32)) -> String {
    format!(r#"<ellipse fill="{fill}" cx="{x}" cy="{y}" rx="{rx}" ry="{ry}"/>"#)
}

pub(super) fn dot(fill: Colour, at: (f32, f32), radius: f32) -> String {
    oval(fill, at, (radius, radius))
}

/// A ring of dots: a line of dashes without a length.
pub(super) fn ring(fill: Colour, (x, y): (f32, f32), radius: f32, dots: u8, size: f32) -> String {
    let step = std::f32::consts::TAU * radius / f32::from(dots);
    format!(
        r#"<circle fill="none" stroke="{fill}" stroke-width="{size}" stroke-linecap="round" stroke-dasharray="0 {step:.3}" cx="{x}" cy="{y}" r="{radius}"/>"#
    )
}

/// Shapes that are visible only inside an outline.
pub(super) fn inside(outline: &str, shapes: &str) -> String {
    if shapes.is_empty() {
        return String::new();
    }
    format!(r#"<clipPath id="c"><path d="{outline}"/></clipPath><g clip-path="url(#c)">{shapes}</g>"#)
}
