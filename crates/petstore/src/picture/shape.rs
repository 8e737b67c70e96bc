//! The shapes of pictures, as SVG.

use super::colour::Colour;

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
