//! QR codes as images.

use std::fmt::Write;

use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, header, request::Parts};
use png::{BitDepth, ColorType};
use qrcode::{Color, QrCode};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{KnownFormat, Schema, SchemaFormat},
    },
};

use crate::{input::rules::text_object, negotiate, problem::Problem};

/// The light border, in modules, that readers need.
const BORDER: usize = 4;

/// The width of a module in a PNG, in pixels of one bit: a module is a byte of a row.
const SCALE: usize = 8;

/// Why a text has no QR code, or its image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum QrError {
    #[error("cannot make a QR code: {0}")]
    Text(#[from] qrcode::types::QrError),
    #[error("cannot write the image of a QR code: {0}")]
    Image(#[from] png::EncodingError),
}

/// The modules of a QR code with the border, row by row.
struct Modules {
    size: usize,
    is_dark: Vec<bool>,
}

impl Modules {
    fn of(text: &str) -> Result<Self, QrError> {
        let code = QrCode::new(text)?;
        let size = code.width() + 2 * BORDER;
        let mut is_dark = vec![false; size * size];
        for (row, colors) in code.to_colors().chunks(code.width()).enumerate() {
            let start = (row + BORDER) * size + BORDER;
            for (module, color) in is_dark[start..].iter_mut().zip(colors) {
                *module = *color == Color::Dark;
            }
        }
        Ok(Modules { size, is_dark })
    }

    fn rows(&self) -> impl Iterator<Item = &[bool]> {
        self.is_dark.chunks(self.size)
    }
}

/// A QR code of a text, as an SVG element that scales with its box.
pub fn svg(text: &str) -> Result<String, QrError> {
    let modules = Modules::of(text)?;
    let mut path = String::new();
    for (y, row) in modules.rows().enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|one, next| one == next) {
            if run[0] {
                let _ = write!(path, "M{x} {y}h{}v1h-{}z", run.len(), run.len());
            }
            x += run.len();
        }
    }
    let size = modules.size;
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {size} {size}\" shape-rendering=\"crispEdges\" role=\"img\" \
         aria-label=\"QR code of the link\"><path fill=\"#fff\" d=\"M0 0h{size}v{size}h-{size}z\"/><path d=\"{path}\"/></svg>"
    ))
}

/// A QR code of a text, as a PNG of black and white pixels, eight for a module.
pub fn png(text: &str) -> Result<Vec<u8>, QrError> {
    let modules = Modules::of(text)?;
    // A code has at most 177 modules in a row.
    let width = u32::try_from(modules.size * SCALE).unwrap_or(u32::MAX);
    let mut pixels = Vec::with_capacity(modules.size * modules.size * SCALE);
    for row in modules.rows() {
        let row: Vec<u8> = row.iter().map(|is_dark| if *is_dark { 0 } else { u8::MAX }).collect();
        for _ in 0..SCALE {
            pixels.extend_from_slice(&row);
        }
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, width);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::One);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(file)
}

/// The format of a QR code by the `Accept` header: PNG unless the client prefers SVG.
pub struct ImageFormat(&'static str);

const PNG: &str = "image/png";
const SVG: &str = "image/svg+xml";

impl<S: Sync> FromRequestParts<S> for ImageFormat {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        negotiate::choose(&parts.headers, &[PNG, SVG]).map(ImageFormat)
    }
}

impl ImageFormat {
    /// The answer with the QR code of a text.
    pub fn image(&self, text: &str) -> Result<Response, Problem> {
        let bytes = if self.0 == SVG { svg(text).map(String::into_bytes) } else { png(text) };
        let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(self.0))];
        let mut response = (headers, bytes.map_err(Problem::internal)?).into_response();
        negotiate::vary(&mut response);
        Ok(response)
    }
}

/// The image, as the document describes it.
pub struct Image;

impl PartialSchema for Image {
    fn schema() -> RefOr<Schema> {
        text_object().format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))).into()
    }
}

impl ToSchema for Image {}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "http://192.168.100.100:8080/sandbox/monday-01/docs";

    /// Reads the path of the dark modules back.
    fn modules(svg: &str, size: usize) -> Vec<Color> {
        let mut modules = vec![Color::Light; size * size];
        let path = svg.rsplit_once(" d=\"").or_else(|| svg.rsplit_once("<path d=\"")).unwrap().1;
        let path = path.split('"').next().unwrap();
        for run in path.split('M').skip(1) {
            let (x, rest) = run.split_once(' ').unwrap();
            let (y, rest) = rest.split_once('h').unwrap();
            let (length, _) = rest.split_once('v').unwrap();
            let [x, y, length]: [usize; 3] = [x, y, length].map(|number| number.parse().unwrap());
            modules[y * size + x..][..length].fill(Color::Dark);
        }
        modules
    }

    /// Asserts that the modules are those of the code, in a light border.
    #[track_caller]
    fn is_code_in_a_border(found: &[Color]) {
        let code = QrCode::new(LINK).unwrap();
        let (width, size) = (code.width(), code.width() + 2 * BORDER);
        assert_eq!(found.len(), size * size);
        for (at, module) in found.iter().enumerate() {
            let (x, y) = (at % size, at / size);
            let inside = (BORDER..BORDER + width).contains(&x) && (BORDER..BORDER + width).contains(&y);
            let expected = if inside { code[(x - BORDER, y - BORDER)] } else { Color::Light };
            assert_eq!(*module, expected, "{x} {y}");
        }
    }

    #[test]
    fn drawing_has_the_modules_of_the_code_and_a_border() {
        let drawn = svg(LINK).unwrap();
        let size = QrCode::new(LINK).unwrap().width() + 2 * BORDER;
        assert!(drawn.contains(&format!("viewBox=\"0 0 {size} {size}\"")), "{drawn}");
        is_code_in_a_border(&modules(&drawn, size));
    }

    #[test]
    fn image_has_eight_equal_pixels_for_each_module_and_a_border() {
        let file = png(LINK).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let size = QrCode::new(LINK).unwrap().width() + 2 * BORDER;
        assert_eq!((info.width as usize, info.height as usize), (size * 8, size * 8));
        assert_eq!((info.color_type, info.bit_depth), (ColorType::Grayscale, BitDepth::One));
        let rows: Vec<_> = bytes.chunks(size).collect();
        assert!(rows.chunks(8).all(|same| same.iter().all(|row| row == &same[0])));
        let color = |byte: &u8| match byte {
            0 => Color::Dark,
            255 => Color::Light,
            mixed => panic!("a module of two colors: {mixed}"),
        };
        let found: Vec<_> = rows.iter().step_by(8).flat_map(|row| row.iter().map(color)).collect();
        is_code_in_a_border(&found);
    }

    #[test]
    fn text_that_is_too_long_is_an_error() {
        assert!(matches!(png(&"x".repeat(3000)), Err(QrError::Text(_))));
        assert!(matches!(svg(&"x".repeat(3000)), Err(QrError::Text(_))));
    }
}
