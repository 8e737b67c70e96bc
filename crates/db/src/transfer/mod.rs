//! All rows of a database: read in one state, and written into a new database of either engine.
//!
//! A [`Cell`] has the form in which SQLite stores a value (see [`Value`](crate::Value)). The part of PostgreSQL converts it to and
//! from the types of its columns.

mod cell;
mod digest;

use std::collections::BTreeMap;

pub use cell::Cell;
pub use digest::Digest;

use crate::error::OpenError;

/// A part of a database. The versions come first, then each table with its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The newest version of the migrations of each component.
    Versions(Vec<(String, i64)>),
    Table(TableColumns),
    /// A row of the last table.
    Row(Vec<Cell>),
}

/// A table, and the order of the cells in its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumns {
    pub name: String,
    pub columns: Vec<String>,
}

/// The digest of each table.
pub type Digests = BTreeMap<String, Digest>;

/// Why a database was not read or written. In that case nothing was written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TransferError(String);

impl TransferError {
    pub fn new(why: impl Into<String>) -> Self {
        TransferError(why.into())
    }
}

impl From<OpenError> for TransferError {
    fn from(error: OpenError) -> Self {
        TransferError(error.to_string())
    }
}

/// Takes the parts of a database.
pub type Sink<'s> = dyn FnMut(Part) -> Result<(), TransferError> + Send + 's;

/// Gives the parts of a database.
pub type Source<'s> = dyn Iterator<Item = Result<Part, TransferError>> + Send + 's;

/// Compares what was to be written with what was read back.
pub(crate) fn compare(written: &Digests, read: &Digests) -> Result<(), TransferError> {
    let all = written.keys().chain(read.keys());
    match all.into_iter().find(|&table| written.get(table) != read.get(table)) {
        Some(table) => {
            Err(TransferError::new(format!("the rows of {table} are not the same after they were written")))
        }
        None => Ok(()),
    }
}
