//! The images of a pass: a temple, drawn at the size of each.

use std::sync::LazyLock;

use png::{BitDepth, ColorType, EncodingError};

/// The background of a pass, also in its JSON.
pub(super) const BACKGROUND: [u8; 3] = [31, 58, 95];

/// An image of a pass, by its name in the file.
pub(super) struct Image {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// The images, which are drawn once.
pub(super) fn images() -> Result<&'static [Image], &'static EncodingError> {
    static IMAGES: LazyLock<Result<Vec<Image>, EncodingError>> = LazyLock::new(|| {
        let [red, green, blue] = BACKGROUND;
        let (filled, clear) = ([red, green, blue, 255], [0; 4]);
        let all = [
            ("icon.png", 29, filled),
            ("icon@2x.png", 58, filled),
            ("logo.png", 50, clear),
            ("logo@2x.png", 100, clear),
        ];
        let draw = |(name, size, background)| Ok(Image { name, bytes: draw(size, background)? });
        all.into_iter().map(draw).collect()
    });
    IMAGES.as_deref()
}

/// A white temple on a background, as PNG.
fn draw(size: u16, background: [u8; 4]) -> Result<Vec<u8>, EncodingError> {
    let middle = |pixel: u16| (f32::from(pixel) + 0.5) / f32::from(size);
    let pixel = |x, y| if is_temple(middle(x), middle(y)) { [255; 4] } else { background };
    let pixels: Vec<u8> = (0..size).flat_map(|y| (0..size).flat_map(move |x| pixel(x, y))).collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.into(), size.into());
    encoder.set_color(ColorType::Rgba);
    encoder.set_depth(BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(file)
}

/// Whether a point of the unit square is a part of the temple: roof, four columns, steps.
fn is_temple(x: f32, y: f32) -> bool {
    let from_middle = (x - 0.5).abs();
    let is_roof = (0.12..0.4).contains(&y) && from_middle < (y - 0.12) / 0.28 * 0.42;
    let is_column = (0.45..0.76).contains(&y)
        && [0.2, 0.4, 0.6, 0.8].iter().any(|column: &f32| (x - column).abs() < 0.05);
    let is_step = (0.8..0.9).contains(&y) && from_middle < 0.42;
    is_roof || is_column || is_step
}
