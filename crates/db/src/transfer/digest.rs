//! The digest of a table: the same on both engines, and in any order of the rows.

use std::fmt;

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::{Cell, TableColumns};

/// How many rows a table has, and the sum of their checksums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest {
    pub rows: u64,
    /// The sum of the first 16 bytes of the SHA-256 of each row.
    sum: u128,
}

impl Digest {
    /// Adds a row of a table. The order of the columns does not matter: it can differ between the engines.
    pub fn add(&mut self, table: &TableColumns, row: &[Cell]) {
        let mut named: Vec<_> = table.columns.iter().zip(row).collect();
        named.sort_unstable_by_key(|(column, _)| *column);
        let mut hash = Sha256::new();
        for (column, cell) in named {
            text(&mut hash, column);
            value(&mut hash, cell);
        }
        let hash: [u8; 32] = hash.finalize().into();
        let (first, _) = hash.split_at(16);
        self.rows += 1;
        let number = first.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        self.sum = self.sum.wrapping_add(number);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.sum)
    }
}

fn value(hash: &mut Sha256, cell: &Cell) {
    match cell {
        Cell::Null => hash.update(b"n"),
        Cell::Int(number) => {
            hash.update(b"i");
            hash.update(number.to_be_bytes());
        }
        Cell::Bytes(bytes) => {
            hash.update(b"b");
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        }
        // PostgreSQL writes JSON with other blanks, and its members in another order.
        Cell::Text(content) => match structure(content) {
            Some(json) => {
                hash.update(b"j");
                structured(hash, &json);
            }
            None => {
                hash.update(b"t");
                text(hash, content);
            }
        },
    }
}

fn text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text);
}

/// The text as JSON, if it is an object or an array.
fn structure(text: &str) -> Option<Json> {
    let is_possible = text.starts_with(['{', '[']);
    is_possible.then(|| serde_json::from_str(text).ok()).flatten()
}

fn structured(hash: &mut Sha256, json: &Json) {
    match json {
        Json::Null => hash.update(b"n"),
        Json::Bool(yes) => hash.update([b'y', u8::from(*yes)]),
        // PostgreSQL writes 1e-7 with all its digits.
        Json::Number(number) => match number.as_i64() {
            Some(number) => hash.update((number as f64).to_bits().to_be_bytes()),
            None => hash.update(number.as_f64().unwrap_or_default().to_bits().to_be_bytes()),
        },
        Json::String(content) => text(hash, content),
        Json::Array(items) => {
            hash.update([b'[']);
            items.iter().for_each(|item| structured(hash, item));
            hash.update([b']']);
        }
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            hash.update([b'{']);
            for (name, member) in members {
                text(hash, name);
                structured(hash, member);
            }
            hash.update([b'}']);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(columns: &[&str], rows: &[&[Cell]]) -> Digest {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        let table = TableColumns { name: "pet".into(), columns };
        let mut digest = Digest::default();
        rows.iter().for_each(|row| digest.add(&table, row));
        digest
    }

    fn cell(text: &str) -> Cell {
        Cell::Text(text.into())
    }

    #[test]
    fn order_of_rows_columns_and_members_does_not_matter() {
        let (one, two) = ([Cell::Int(1), cell(r#"{"a":1,"b":[1e-7]}"#)], [Cell::Int(2), cell("Rex")]);
        let (three, four) =
            ([cell("Rex"), Cell::Int(2)], [cell(r#"{"b": [0.0000001], "a": 1}"#), Cell::Int(1)]);
        assert_eq!(digest(&["id", "name"], &[&one, &two]), digest(&["name", "id"], &[&three, &four]));
    }

    #[test]
    fn every_difference_matters() {
        let base = digest(&["id", "name"], &[&[Cell::Int(1), cell("ab")]]);
        for row in [
            [Cell::Int(2), cell("ab")],
            [Cell::Int(1), cell("aB")],
            [Cell::Int(1), Cell::Null],
            [Cell::Int(1), Cell::Bytes(b"ab".to_vec())],
        ] {
            assert_ne!(digest(&["id", "name"], &[&row]), base, "{row:?}");
        }
        assert_ne!(digest(&["id", "note"], &[&[Cell::Int(1), cell("ab")]]), base);
        let twice = digest(&["id", "name"], &[&[Cell::Int(1), cell("ab")], &[Cell::Int(1), cell("ab")]]);
        assert_ne!(twice, base);
        let [short, long] = ["[1,2]", "[[1],2]"].map(|json| digest(&["json"], &[&[cell(json)]]));
        assert_ne!(short, long);
    }
}
