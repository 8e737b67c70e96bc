//! The table of figures: printed, and written into `docs/performance.md`.

use std::{fmt::Write as _, fs, path::Path};

use crate::compare::Comparison;

/// Whether a figure must be at least or at most as large as its limits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    AtLeast,
    AtMost,
}

/// One figure with what must be reached and what we aim for.
pub(crate) struct Line {
    pub(crate) name: String,
    /// The two measured values behind a ratio, in words.
    pub(crate) values: String,
    pub(crate) figure: f64,
    pub(crate) spread: Option<(f64, f64)>,
    pub(crate) unit: &'static str,
    pub(crate) limit: Limit,
    pub(crate) must: f64,
    pub(crate) aim: f64,
}

impl Line {
    /// The share of a reference's rate.
    pub(crate) fn ratio(name: impl Into<String>, comparison: &Comparison, (must, aim): (f64, f64)) -> Self {
        let ratios = comparison.ratios();
        Line {
            name: name.into(),
            values: format!(
                "{} / {}",
                thousands(comparison.our_rate()),
                thousands(comparison.reference_rate())
            ),
            figure: comparison.ratio(),
            spread: ratios.first().copied().zip(ratios.last().copied()),
            unit: "",
            limit: Limit::AtLeast,
            must,
            aim,
        }
    }

    /// A figure that must not be larger.
    pub(crate) fn at_most(
        name: impl Into<String>,
        figure: f64,
        unit: &'static str,
        (must, aim): (f64, f64),
    ) -> Self {
        let (name, values) = (name.into(), String::new());
        Line { name, values, figure, spread: None, unit, limit: Limit::AtMost, must, aim }
    }

    pub(crate) fn is_met(&self) -> bool {
        match self.limit {
            Limit::AtLeast => self.figure >= self.must,
            Limit::AtMost => self.figure <= self.must,
        }
    }

    fn cells(&self) -> [String; 6] {
        let sign = if self.limit == Limit::AtLeast { "≥" } else { "≤" };
        let number = |figure: f64| format!("{}{}", digits(figure), self.unit);
        let spread = self.spread.map_or_else(String::new, |(least, most)| format!("{least:.2}–{most:.2}"));
        [
            self.name.clone(),
            self.values.clone(),
            number(self.figure),
            spread,
            format!("{sign} {}", number(self.must)),
            format!("{sign} {}", number(self.aim)),
        ]
    }
}

const TITLES: [&str; 6] = ["work", "per second / reference", "figure", "spread", "must", "aim"];

/// Prints a line at once, so that a long run shows what it does.
pub(crate) fn print(line: &Line) {
    let [name, values, figure, spread, must, aim] = line.cells();
    let missed = if line.is_met() { "" } else { "  MISSED" };
    println!("{name:<52}{values:>20}{figure:>10}{spread:>12}{must:>11}{aim:>11}{missed}");
}

pub(crate) fn print_titles() {
    let [name, values, figure, spread, must, aim] = TITLES;
    println!("{name:<52}{values:>20}{figure:>10}{spread:>12}{must:>11}{aim:>11}");
}

/// Replaces the table in the document.
pub(crate) fn write(docs: &Path, lines: &[Line], machine: &str) -> std::io::Result<()> {
    const START: &str = "<!-- written by make bench -->\n";
    const END: &str = "<!-- end -->\n";
    let mut table =
        format!("{machine}\n\n| {} | |\n|{}\n", TITLES.join(" | "), "---|".repeat(TITLES.len() + 1));
    for line in lines {
        let _ = writeln!(
            table,
            "| {} |{}",
            line.cells().join(" | "),
            if line.is_met() { " |" } else { " missed |" }
        );
    }
    let path = docs.join("performance.md");
    let document = fs::read_to_string(&path)?;
    let (before, rest) =
        document.split_once(START).ok_or_else(|| std::io::Error::other("no place for the table"))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| std::io::Error::other("no end of the table"))?;
    fs::write(&path, format!("{before}{START}{table}{END}{after}"))
}

/// A number with as many digits as matter.
fn digits(figure: f64) -> String {
    if figure >= 100.0 {
        format!("{figure:.0}")
    } else if figure >= 10.0 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.2}")
    }
}

/// As in `12,345`.
fn thousands(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
