//! The lines of a backup. Each is a JSON object, so that `zcat` and `jq` can read it.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use db::transfer::Cell;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Line {
    /// The first line.
    Backup {
        format: u32,
        program: String,
        created_at: Timestamp,
    },
    Database {
        name: String,
        sandbox: Option<String>,
        /// The newest version of the migrations of each component.
        versions: BTreeMap<String, i64>,
    },
    Table {
        name: String,
        columns: Vec<String>,
    },
    Row(Vec<CellLine>),
    EndOfTable {
        rows: u64,
        checksum: String,
    },
    /// The last line.
    End {
        /// The checksum of all lines before.
        sha256: String,
    },
}

/// Bytes as base64.
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64_STANDARD.decode(text).map(Bytes).map_err(D::Error::custom)
    }
}

/// A cell: `{"int": 1}`, `{"text": "Rex"}`, `{"bytes": "…"}` or `"null"`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CellLine {
    Null,
    Int(i64),
    Text(String),
    Bytes(Bytes),
}

impl From<Cell> for CellLine {
    fn from(cell: Cell) -> Self {
        match cell {
            Cell::Null => CellLine::Null,
            Cell::Int(number) => CellLine::Int(number),
            Cell::Text(text) => CellLine::Text(text),
            Cell::Bytes(bytes) => CellLine::Bytes(Bytes(bytes)),
        }
    }
}

impl From<CellLine> for Cell {
    fn from(cell: CellLine) -> Self {
        match cell {
            CellLine::Null => Cell::Null,
            CellLine::Int(number) => Cell::Int(number),
            CellLine::Text(text) => Cell::Text(text),
            CellLine::Bytes(bytes) => Cell::Bytes(bytes.0),
        }
    }
}
