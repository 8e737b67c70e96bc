//! Tables on standard output.

/// The rows as text: two blanks before each row and between columns.
pub(crate) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("  {cell:width$}"));
        text.push_str(cells.collect::<String>().trim_end());
        text.push('\n');
    }
    text
}

/// A row of a table.
pub(crate) fn row<const COLUMNS: usize>(cells: [&str; COLUMNS]) -> [String; COLUMNS] {
    cells.map(str::to_owned)
}

/// Text of a client as one line: control characters must not reach the terminal.
pub(crate) fn as_text(sent: &str) -> String {
    sent.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_rows_have_no_blanks_at_the_end() {
        let rows = [row(["name", "note"]), row(["zoë", "first"]), row(["bartholomew", ""])];
        assert_eq!(table(&rows), "  name         note\n  zoë          first\n  bartholomew\n");
    }
}
