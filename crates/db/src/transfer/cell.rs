//! A value of a row, in the form of SQLite.

use std::borrow::Cow;

use jiff::{Timestamp, civil::Date};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rust_decimal::Decimal;
use tokio_postgres::types::Type;
use uuid::Uuid;

use crate::{
    row::{EngineRow, Json, Row},
    value::Value,
};

/// A value as SQLite stores it: a time is a number of microseconds, a UUID is 16 bytes, a decimal, a date and JSON are text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    pub(crate) fn from_sqlite(value: ValueRef<'_>) -> Result<Self, String> {
        match value {
            ValueRef::Null => Ok(Cell::Null),
            ValueRef::Integer(number) => Ok(Cell::Int(number)),
            ValueRef::Text(text) => {
                String::from_utf8(text.to_vec()).map(Cell::Text).map_err(|_| "text that is not UTF-8".into())
            }
            ValueRef::Blob(bytes) => Ok(Cell::Bytes(bytes.to_vec())),
            ValueRef::Real(_) => Err("a floating-point number".into()),
        }
    }

    pub(crate) fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, String> {
        let typed = Row(EngineRow::Postgres(row));
        let fault = |error: crate::Error| error.to_string();
        macro_rules! read {
            ($type:ty, $cell:expr) => {
                typed.get::<Option<$type>>(index).map(|value| value.map_or(Cell::Null, $cell)).map_err(fault)
            };
        }
        match row.columns()[index].type_() {
            &Type::INT8 | &Type::INT4 | &Type::INT2 => read!(i64, Cell::Int),
            &Type::TEXT | &Type::VARCHAR => read!(String, Cell::Text),
            &Type::BOOL => read!(bool, |yes| Cell::Int(yes.into())),
            &Type::NUMERIC => read!(Decimal, |decimal| Cell::Text(decimal.to_string())),
            &Type::UUID => read!(Uuid, |id| Cell::Bytes(id.as_bytes().to_vec())),
            &Type::TIMESTAMPTZ => read!(Timestamp, |time| Cell::Int(time.as_microsecond())),
            &Type::DATE => read!(Date, |date| Cell::Text(date.to_string())),
            &Type::JSON | &Type::JSONB => read!(Json, |json| Cell::Text(json.0)),
            &Type::BYTEA => read!(Vec<u8>, Cell::Bytes),
            other => Err(format!("the type {other}")),
        }
    }

    /// The value for a column of PostgreSQL.
    pub(crate) fn for_postgres(&self, column: &Type) -> Result<Value<'_>, String> {
        let does_not_fit = |_| format!("a value that is no {column}");
        match (self, column) {
            (Cell::Null, _) => Ok(Value::Null),
            (Cell::Int(number @ (0 | 1)), &Type::BOOL) => Ok(Value::Bool(*number == 1)),
            (Cell::Int(number), &Type::TIMESTAMPTZ) => {
                let (second, fraction) = (number / 1_000_000, number % 1_000_000 * 1000);
                let time = Timestamp::new(second, fraction as i32);
                time.map(Value::Time).map_err(|error| error.to_string())
            }
            (Cell::Int(number), &Type::INT8 | &Type::INT4 | &Type::INT2) => Ok(Value::Int(*number)),
            (Cell::Text(text), &Type::TEXT | &Type::VARCHAR) => Ok(Value::Text(Cow::Borrowed(text))),
            (Cell::Text(text), &Type::JSON | &Type::JSONB) => Ok(Value::Json(Cow::Borrowed(text))),
            (Cell::Text(text), &Type::NUMERIC) => {
                text.parse().map(Value::Decimal).map_err(|_| does_not_fit(()))
            }
            (Cell::Text(text), &Type::DATE) => text.parse().map(Value::Date).map_err(|_| does_not_fit(())),
            (Cell::Bytes(bytes), &Type::BYTEA) => Ok(Value::Bytes(Cow::Borrowed(bytes))),
            (Cell::Bytes(bytes), &Type::UUID) => {
                Uuid::from_slice(bytes).map(Value::Uuid).map_err(|_| does_not_fit(()))
            }
            _ => Err(does_not_fit(())),
        }
    }
}

impl rusqlite::ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Int(number) => ValueRef::Integer(*number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
