//! The ratios as bars, for the README.

use std::fmt::Write as _;

use crate::report::{Limit, Line};

const ROW: usize = 26;
const LEFT: usize = 410;
const WIDTH: usize = 420;

/// An SVG with a bar for each ratio; a line marks what must be reached.
pub(crate) fn draw(lines: &[Line]) -> String {
    let ratios: Vec<_> =
        lines.iter().filter(|line| line.limit == Limit::AtLeast && line.must <= 1.5).collect();
    let most = ratios.iter().map(|line| line.figure).fold(1.0, f64::max);
    let scale = |figure: f64| (figure / most * WIDTH as f64).round();
    let (width, height) = (LEFT + WIDTH + 60, ROW * ratios.len() + 40);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"system-ui, sans-serif\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"18\" fill=\"#555\">share of the reference; the line is what must be reached</text>\n"
    );
    for (index, line) in ratios.iter().enumerate() {
        let top = 30 + index * ROW;
        let (bar, must) = (scale(line.figure), LEFT as f64 + scale(line.must));
        let colour = if line.is_met() { "#2a7f62" } else { "#b3402a" };
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LEFT}\" y=\"{top}\" width=\"{bar}\" height=\"18\" fill=\"{colour}\"/>\
             <line x1=\"{must}\" x2=\"{must}\" y1=\"{}\" y2=\"{}\" stroke=\"#222\"/>\
             <text x=\"{}\" y=\"{}\">{:.2}</text>",
            LEFT - 8,
            top + 14,
            escaped(&line.name),
            top - 2,
            top + 20,
            LEFT + WIDTH + 10,
            top + 14,
            line.figure,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
