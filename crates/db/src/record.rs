//! Records: types whose columns are declared once, by `#[derive(Record)]` or `#[derive(Resource)]` of the crate `model`.

use jiff::{Timestamp, civil::Date};
use rusqlite::types::ValueRef;
use rust_decimal::Decimal;
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::{
    error::Error,
    row::{EngineRow, Json, Row, text},
    value::Value,
    word::Word,
};

/// A type that is read from the columns of a row, and written to them.
pub trait Record: Sized {
    /// The names of the columns. A statement that [`sql!`](../model/macro.sql.html) makes names them in this order.
    const COLUMNS: &'static [&'static str];

    /// Reads the columns, the first of which is at `first`.
    fn read(row: &Row<'_>, first: usize) -> Result<Self, Error>;

    /// Reads a row whose columns are these and no others.
    fn from_row(row: &Row<'_>) -> Result<Self, Error> {
        Self::read(row, 0)
    }

    /// The values of the columns, in their order.
    fn values(&self) -> Result<Vec<Value<'_>>, Error>;
}

/// A row as a JSON document, and the key after which the next page of rows starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyed {
    pub key: Vec<u8>,
    pub document: serde_json::Value,
}

/// A value that can be bound to a parameter of a statement.
pub trait Bind {
    fn bind(&self) -> Value<'_>;
}

macro_rules! bind {
    ($($type:ty),* $(,)?) => {$(
        impl Bind for $type {
            fn bind(&self) -> Value<'_> {
                (*self).into()
            }
        }
    )*};
}

bind! { i64, i32, u32, bool, Decimal, Uuid, Timestamp, Date, &str }

impl Bind for String {
    fn bind(&self) -> Value<'_> {
        self.as_str().into()
    }
}

impl<T: Word> Bind for T {
    fn bind(&self) -> Value<'_> {
        self.word().into()
    }
}

impl<T: Bind> Bind for Option<T> {
    fn bind(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, Bind::bind)
    }
}

/// A value that is stored as JSON.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Value<'static>, Error> {
    serde_json::to_string(value).map(Value::json).map_err(|error| Error::Fault(error.to_string()))
}

/// The same where it may be absent: then the column is NULL.
pub fn to_json_or_null<T: Serialize>(value: Option<&T>) -> Result<Value<'static>, Error> {
    value.map_or(Ok(Value::Null), to_json)
}

impl Row<'_> {
    /// The column at `index`, which holds JSON, as a `T`.
    pub fn json<T: DeserializeOwned>(&self, index: usize) -> Result<T, Error> {
        self.json_or_null(index)?.ok_or_else(|| Error::Column { index, cause: "NULL".into() })
    }

    /// The same where the column may be NULL.
    pub fn json_or_null<T: DeserializeOwned>(&self, index: usize) -> Result<Option<T>, Error> {
        let column = |cause: &str| Error::Column { index, cause: cause.into() };
        match self.0 {
            // Read in place, without a copy of the text.
            EngineRow::Sqlite(row) => match row.get_ref(index)? {
                ValueRef::Null => Ok(None),
                value => parse(index, text(value).map_err(column)?).map(Some),
            },
            EngineRow::Postgres(_) => {
                let found: Option<Json> = self.get(index)?;
                found.map(|Json(text)| parse(index, &text)).transpose()
            }
        }
    }
}

fn parse<T: DeserializeOwned>(index: usize, text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::Column { index, cause: error.to_string() })
}
