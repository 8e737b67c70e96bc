//! QR codes as SVG.

use std::fmt::Write;

use qrcode::{Color, QrCode};

use crate::Failure;

/// The light border, in modules, that readers need.
const BORDER: usize = 4;

/// A QR code of a text, as an SVG element that scales with its box.
pub(super) fn svg(text: &str) -> Result<String, Failure> {
    let code = QrCode::new(text).map_err(|error| format!("cannot draw the QR code of {text}: {error}"))?;
    let (width, modules) = (code.width(), code.to_colors());
    let mut path = String::new();
    for (y, row) in modules.chunks(width).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|one, next| one == next) {
            if run[0] == Color::Dark {
                let _ = write!(path, "M{} {}h{}v1h-{}z", x + BORDER, y + BORDER, run.len(), run.len());
            }
            x += run.len();
        }
    }
    let size = width + 2 * BORDER;
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {size} {size}\" shape-rendering=\"crispEdges\" role=\"img\" \
         aria-label=\"QR code of the link\"><path fill=\"#fff\" d=\"M0 0h{size}v{size}h-{size}z\"/><path d=\"{path}\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn drawing_has_the_modules_of_the_code_and_a_border() {
        let link = "http://192.168.100.100:8080/sandbox/monday-01/docs";
        let drawn = svg(link).unwrap();
        let code = QrCode::new(link).unwrap();
        let (width, size) = (code.width(), code.width() + 2 * BORDER);
        assert!(drawn.contains(&format!("viewBox=\"0 0 {size} {size}\"")), "{drawn}");
        let found = modules(&drawn, size);
        for (at, module) in found.iter().enumerate() {
            let (x, y) = (at % size, at / size);
            let inside = (BORDER..BORDER + width).contains(&x) && (BORDER..BORDER + width).contains(&y);
            let expected = if inside { code[(x - BORDER, y - BORDER)] } else { Color::Light };
            assert_eq!(*module, expected, "{x} {y}");
        }
    }
}
