//! Statements that are built at compile time from text and the columns of records. The macro `sql!` of the crate `model`
//! generates the calls.

/// A part of a statement.
#[derive(Clone, Copy)]
pub enum Part {
    Text(&'static str),
    /// The columns, each after a prefix: `pet.id, pet.name`.
    Columns(&'static [&'static str], &'static str),
    /// A parameter for each column: `$1, $2`.
    Values(&'static [&'static str]),
    /// Each column but the first, the key, set to its parameter: `name = $2, status = $3`.
    Set(&'static [&'static str]),
    /// Each column but the first set to the value of the rejected insertion: `name = excluded.name`.
    SetExcluded(&'static [&'static str]),
}

/// A statement that deletes a few rows of a table: those whose key a query with a `LIMIT` finds. Neither engine has a `LIMIT`
/// for `DELETE`.
///
/// ```
/// assert_eq!(
///     db::delete_some!("session", "hash", "expires_at <= $1 ORDER BY expires_at LIMIT 10"),
///     "DELETE FROM session WHERE hash IN \
///      (SELECT hash FROM session WHERE expires_at <= $1 ORDER BY expires_at LIMIT 10)"
/// );
/// ```
#[macro_export]
macro_rules! delete_some {
    ($table:literal, $key:literal, $condition:literal $(,)?) => {
        concat!(
            "DELETE FROM ",
            $table,
            " WHERE ",
            $key,
            " IN (SELECT ",
            $key,
            " FROM ",
            $table,
            " WHERE ",
            $condition,
            ")"
        )
    };
}

/// The length of a statement in bytes.
pub const fn length(parts: &[Part]) -> usize {
    Writer::<0>::new().write_all(parts).at
}

/// The bytes of a statement.
pub const fn join<const LENGTH: usize>(parts: &[Part]) -> [u8; LENGTH] {
    Writer::new().write_all(parts).text
}

/// The statement as text.
pub const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a statement is made of text"),
    }
}

/// Writes as much as fits, and counts all bytes.
struct Writer<const SIZE: usize> {
    text: [u8; SIZE],
    at: usize,
}

impl<const SIZE: usize> Writer<SIZE> {
    const fn new() -> Self {
        Writer { text: [0; SIZE], at: 0 }
    }

    const fn write_all(mut self, parts: &[Part]) -> Self {
        let mut index = 0;
        while index < parts.len() {
            self = self.part(parts[index]);
            index += 1;
        }
        self
    }

    const fn part(self, part: Part) -> Self {
        match part {
            Part::Text(text) => self.write(text),
            Part::Columns(columns, prefix) => self.columns(columns, prefix),
            Part::Values(columns) => self.values(columns),
            Part::Set(columns) => self.set(columns, false),
            Part::SetExcluded(columns) => self.set(columns, true),
        }
    }

    const fn columns(mut self, columns: &[&str], prefix: &str) -> Self {
        let mut index = 0;
        while index < columns.len() {
            self = self.comma(index > 0).write(prefix).write(columns[index]);
            index += 1;
        }
        self
    }

    const fn values(mut self, columns: &[&str]) -> Self {
        let mut index = 0;
        while index < columns.len() {
            self = self.comma(index > 0).write("$").number(index + 1);
            index += 1;
        }
        self
    }

    const fn set(mut self, columns: &[&str], excluded: bool) -> Self {
        let mut index = 1;
        while index < columns.len() {
            self = self.comma(index > 1).write(columns[index]).write(" = ");
            self = if excluded {
                self.write("excluded.").write(columns[index])
            } else {
                self.write("$").number(index + 1)
            };
            index += 1;
        }
        self
    }

    const fn comma(self, needed: bool) -> Self {
        if needed { self.write(", ") } else { self }
    }

    const fn number(self, number: usize) -> Self {
        let rest = if number >= 10 { self.number(number / 10) } else { self };
        rest.byte(b'0' + (number % 10) as u8)
    }

    const fn write(mut self, text: &str) -> Self {
        let mut index = 0;
        while index < text.len() {
            self = self.byte(text.as_bytes()[index]);
            index += 1;
        }
        self
    }

    const fn byte(mut self, byte: u8) -> Self {
        if self.at < SIZE {
            self.text[self.at] = byte;
        }
        self.at += 1;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined() {
        const COLUMNS: &[&str] = &["id", "name", "a", "b", "c", "d", "e", "f", "g", "h"];
        const PARTS: &[Part] = &[
            Part::Text("é "),
            Part::Columns(COLUMNS, "pet."),
            Part::Text(" | "),
            Part::Values(COLUMNS),
            Part::Text(" | "),
            Part::Set(COLUMNS),
            Part::Text(" | "),
            Part::SetExcluded(&["id", "name", "a"]),
        ];
        const BYTES: [u8; length(PARTS)] = join(PARTS);
        assert_eq!(
            text(&BYTES),
            "é pet.id, pet.name, pet.a, pet.b, pet.c, pet.d, pet.e, pet.f, pet.g, pet.h \
             | $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 \
             | name = $2, a = $3, b = $4, c = $5, d = $6, e = $7, f = $8, g = $9, h = $10 \
             | name = excluded.name, a = excluded.a"
        );
    }
}
