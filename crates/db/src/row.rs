//! The typed columns of a row of either engine.

use jiff::{Timestamp, civil::Date};
use rusqlite::types::ValueRef;
use rust_decimal::Decimal;
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

use crate::{error::Error, word::Word};

/// A row being read. Columns are taken by position, counted from 0, in the order the statement names them.
pub struct Row<'a>(pub(crate) EngineRow<'a>);

pub(crate) enum EngineRow<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// The column at `index`. A NULL where `T` is not an `Option`, or a value of another type, is an error.
    pub fn get<T: Column>(&self, index: usize) -> Result<T, Error> {
        let found = match self.0 {
            EngineRow::Sqlite(row) => row
                .get_ref(index)
                .map_err(|error| error.to_string())
                .and_then(|value| T::from_sqlite(value).map_err(str::to_owned)),
            EngineRow::Postgres(row) => T::from_postgres(row, index),
        };
        found.map_err(|cause| Error::Column { index, cause })
    }

    /// Checks, in a debug build, that the columns from `first` on have these names. Columns of the same type in another order
    /// would otherwise be read into the wrong members.
    #[doc(hidden)]
    pub fn expect_columns(&self, first: usize, names: &[&str]) {
        let has = |(index, name): (usize, &&str)| match self.0 {
            EngineRow::Sqlite(row) => {
                row.as_ref().column_name(first + index).is_ok_and(|found| found == *name)
            }
            EngineRow::Postgres(row) => {
                row.columns().get(first + index).is_some_and(|found| found.name() == *name)
            }
        };
        debug_assert!(names.iter().enumerate().all(has), "the statement does not name {names:?} at {first}");
    }

    /// How many bytes the row's columns have in all.
    pub fn bytes(&self) -> usize {
        match self.0 {
            EngineRow::Sqlite(row) => {
                let columns = 0..row.as_ref().column_count();
                columns.map(|index| row.get_ref(index).map_or(0, size)).sum()
            }
            EngineRow::Postgres(row) => row.raw_size_bytes(),
        }
    }
}

fn size(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        _ => 8,
    }
}

/// JSON read back as its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(pub String);

/// A type that a column can be read as.
pub trait Column: Sized {
    #[doc(hidden)]
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self, &'static str>;
    #[doc(hidden)]
    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, String>;
}

fn fetch<'a, T: FromSql<'a>>(row: &'a tokio_postgres::Row, index: usize) -> Result<T, String> {
    row.try_get(index).map_err(|error| {
        // The client's own message has neither the types nor the reason; its source does.
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
    })
}

pub(crate) fn text(value: ValueRef<'_>) -> Result<&str, &'static str> {
    match value {
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).map_err(|_| "text that is not UTF-8"),
        ValueRef::Null => Err("NULL"),
        _ => Err("expected text"),
    }
}

fn integer(value: ValueRef<'_>) -> Result<i64, &'static str> {
    match value {
        ValueRef::Integer(number) => Ok(number),
        ValueRef::Null => Err("NULL"),
        _ => Err("expected an integer"),
    }
}

fn blob(value: ValueRef<'_>) -> Result<&[u8], &'static str> {
    match value {
        ValueRef::Blob(bytes) => Ok(bytes),
        ValueRef::Null => Err("NULL"),
        _ => Err("expected bytes"),
    }
}

macro_rules! column {
    ($($type:ty: $from:expr),* $(,)?) => {$(
        impl Column for $type {
            fn from_sqlite(value: ValueRef<'_>) -> Result<Self, &'static str> {
                let from: fn(ValueRef<'_>) -> Result<$type, &'static str> = $from;
                from(value)
            }
            fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, String> {
                fetch(row, index)
            }
        }
    )*};
}

column! {
    String: |value| text(value).map(str::to_owned),
    bool: |value| match integer(value)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err("expected 0 or 1"),
    },
    Decimal: |value| text(value)?.parse().map_err(|_| "expected a decimal"),
    Date: |value| text(value)?.parse().map_err(|_| "expected a date"),
    Uuid: |value| Uuid::from_slice(blob(value)?).map_err(|_| "expected 16 bytes"),
    Timestamp: |value| {
        let micros = integer(value)?;
        // Not from_microsecond, which rejects the last second of the range.
        let (second, fraction) = (micros / 1_000_000, micros % 1_000_000 * 1000);
        Timestamp::new(second, fraction as i32).map_err(|_| "a time out of range")
    },
    Vec<u8>: |value| blob(value).map(<[u8]>::to_vec),
}

impl Column for i64 {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self, &'static str> {
        integer(value)
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, String> {
        // A literal or a count may be narrower than BIGINT.
        match row.columns().get(index).map(tokio_postgres::Column::type_) {
            Some(&Type::INT4) => fetch::<i32>(row, index).map(i64::from),
            Some(&Type::INT2) => fetch::<i16>(row, index).map(i64::from),
            _ => fetch(row, index),
        }
    }
}

impl Column for i32 {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self, &'static str> {
        integer(value)?.try_into().map_err(|_| "expected an integer of 32 bits")
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, String> {
        let number = i64::from_postgres(row, index)?;
        number.try_into().map_err(|_| "expected an integer of 32 bits".into())
    }
}

impl<T: Word> Column for T {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self, &'static str> {
        T::from_word(text(value)?).ok_or("a word that the enumeration does not have")
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, String> {
        let word = fetch::<&str>(row, index)?;
        T::from_word(word).ok_or_else(|| format!("the enumeration has no word {word}"))
    }
}

impl Column for Json {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self, &'static str> {
        text(value).map(|text| Json(text.to_owned()))
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, String> {
        fetch(row, index)
    }
}

impl<'a> FromSql<'a> for Json {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        let text = match (ty, raw) {
            (&Type::JSONB, [1, text @ ..]) => text,
            (&Type::JSONB, _) => return Err("an unknown form of JSONB".into()),
            _ => raw,
        };
        Ok(Json(std::str::from_utf8(text)?.to_owned()))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::JSON | Type::JSONB)
    }
}

impl<T: Column> Column for Option<T> {
    fn from_sqlite(value: ValueRef<'_>) -> Result<Self, &'static str> {
        match value {
            ValueRef::Null => Ok(None),
            value => T::from_sqlite(value).map(Some),
        }
    }

    fn from_postgres(row: &tokio_postgres::Row, index: usize) -> Result<Self, String> {
        if fetch::<Option<AnyColumn>>(row, index)?.is_none() {
            return Ok(None);
        }
        T::from_postgres(row, index).map(Some)
    }
}

/// Reads a column of any type, only to check whether it is NULL.
struct AnyColumn;

impl<'a> FromSql<'a> for AnyColumn {
    fn from_sql(_: &Type, _: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(AnyColumn)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
