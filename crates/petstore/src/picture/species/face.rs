//! Parts that several species have.

use crate::picture::{
    colour::{Colour, INK, PINK},
    shape::{both, dot, line, oval, path},
};

const WHITE: Colour = Colour(0xff_ffff);

/// Shoulders and a chest.
pub(super) fn body(coat: Colour, chest: Colour) -> String {
    format!(
        "{}{}",
        path(coat, "M40 204C40 164 66 142 100 142S160 164 160 204Z"),
        path(chest, "M78 204C74 180 82 160 100 160S126 180 122 204Z")
    )
}

/// Round dark eyes with a light in each. `x` is the left one's.
pub(super) fn button_eyes(x: f32, y: f32, size: f32, around: Option<Colour>) -> String {
    let iris = around.map_or_else(String::new, |colour| dot(colour, (x, y), size + 1.5));
    let eye = format!("{iris}{}", dot(INK, (x, y), if around.is_some() { size * 0.68 } else { size }));
    let light = |x: f32| {
        format!(
            "{}{}",
            dot(WHITE, (x - size * 0.3, y - size * 0.35), size * 0.34),
            dot(WHITE, (x + size * 0.3, y + size * 0.35), size * 0.15)
        )
    };
    format!("{}{}{}", both(&eye), light(x), light(200.0 - x))
}

/// Eyes with a slit.
pub(super) fn slit_eyes(x: f32, y: f32, iris: Colour) -> String {
    let eye = format!(
        "{}{}{}",
        oval(INK, (x, y), (12.0, 11.0)),
        oval(iris, (x, y), (10.0, 9.6)),
        oval(INK, (x, y), (4.2, 8.6))
    );
    let light = |x: f32| dot(WHITE, (x - 3.0, y - 4.0), 2.8);
    format!("{}{}{}", both(&eye), light(x), light(200.0 - x))
}

/// Closed eyes of a happy animal.
pub(super) fn happy_eyes(x: f32, y: f32, width: f32) -> String {
    both(&line(INK, 3.4, &format!("M{} {}q{} {} {} 0", x - width, y + 3.0, width, -width * 1.1, width * 2.0)))
}

pub(super) fn cheeks(x: f32, y: f32) -> String {
    format!(r#"<g opacity=".45">{}</g>"#, both(&oval(PINK, (x, y), (8.5, 5.5))))
}

pub(super) fn smile(y: f32, width: f32) -> String {
    let (low, half) = (y + 5.0, width / 2.0);
    line(
        INK,
        2.6,
        &format!(
            "M{} {y}Q{} {low} 100 {y}Q{} {low} {} {y}M100 {y}v-5",
            100.0 - width,
            100.0 - half,
            100.0 + half,
            100.0 + width
        ),
    )
}

pub(super) fn whiskers(colour: Colour, y: f32) -> String {
    let lines = line(colour, 1.6, &format!("M66 {y}L36 {}M66 {}L35 {}", y - 6.0, y + 6.0, y + 7.0));
    format!(r#"<g opacity=".7">{}</g>"#, both(&lines))
}
