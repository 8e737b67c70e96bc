//! Parameters of a statement: one value type for both engines.

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};
use jiff::{Timestamp, civil::Date};
use rust_decimal::Decimal;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

/// A parameter of a statement. Text and bytes can be borrowed, so that binding does not copy them.
///
/// | variant | SQLite | PostgreSQL |
/// |---|---|---|
/// | `Int` | `INTEGER` | `BIGINT`, `INTEGER`, `SMALLINT` |
/// | `Text` | `TEXT` | `TEXT` |
/// | `Bool` | `INTEGER` 0 or 1 | `BOOLEAN` |
/// | `Decimal` | `TEXT`, the digits as written | `NUMERIC` |
/// | `Uuid` | `BLOB`, 16 bytes | `UUID` |
/// | `Time` | `INTEGER`, microseconds since 1970 | `TIMESTAMPTZ` |
/// | `Date` | `TEXT`, `2026-02-03` | `DATE` |
/// | `Json` | `TEXT` | `JSON` or `JSONB` |
/// | `Bytes` | `BLOB` | `BYTEA` |
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Text(Cow<'a, str>),
    Bool(bool),
    Decimal(Decimal),
    Uuid(Uuid),
    Time(Timestamp),
    Date(Date),
    /// JSON as text: the service defines its structure, the database only stores it.
    Json(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Value<'a> {
    /// JSON, given as its text.
    pub fn json(text: impl Into<Cow<'a, str>>) -> Self {
        Value::Json(text.into())
    }

    /// The same value without borrowed parts.
    pub(crate) fn to_static(&self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Int(number) => Value::Int(*number),
            Value::Text(text) => Value::Text(Cow::Owned(text.to_string())),
            Value::Bool(yes) => Value::Bool(*yes),
            Value::Decimal(decimal) => Value::Decimal(*decimal),
            Value::Uuid(id) => Value::Uuid(*id),
            Value::Time(time) => Value::Time(*time),
            Value::Date(date) => Value::Date(*date),
            Value::Json(text) => Value::Json(Cow::Owned(text.to_string())),
            Value::Bytes(bytes) => Value::Bytes(Cow::Owned(bytes.to_vec())),
        }
    }

    /// The type that is sent with an unprepared statement. PostgreSQL infers `UNKNOWN` itself.
    pub(crate) fn postgres_type(&self) -> Type {
        match self {
            // JSON or JSONB.
            Value::Null | Value::Json(_) => Type::UNKNOWN,
            Value::Int(_) => Type::INT8,
            Value::Text(_) => Type::TEXT,
            Value::Bool(_) => Type::BOOL,
            Value::Decimal(_) => Type::NUMERIC,
            Value::Uuid(_) => Type::UUID,
            Value::Time(_) => Type::TIMESTAMPTZ,
            Value::Date(_) => Type::DATE,
            Value::Bytes(_) => Type::BYTEA,
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Value::$variant(value.into())
            }
        }
    )*};
}

from! {
    i64 => Int, i32 => Int, u32 => Int, bool => Bool, Decimal => Decimal, Uuid => Uuid,
    Timestamp => Time, Date => Date, String => Text, Vec<u8> => Bytes,
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Value::Text(Cow::Borrowed(value))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Value::Bytes(Cow::Borrowed(value))
    }
}

impl<'a, T> From<Option<T>> for Value<'a>
where
    T: Into<Value<'a>>,
{
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::{ToSqlOutput, Value as Owned, ValueRef};
        let borrowed = |value| Ok(ToSqlOutput::Borrowed(value));
        match self {
            Value::Null => borrowed(ValueRef::Null),
            Value::Int(number) => borrowed(ValueRef::Integer(*number)),
            Value::Bool(yes) => borrowed(ValueRef::Integer(i64::from(*yes))),
            Value::Text(text) | Value::Json(text) => borrowed(ValueRef::Text(text.as_bytes())),
            Value::Uuid(id) => borrowed(ValueRef::Blob(id.as_bytes())),
            Value::Bytes(bytes) => borrowed(ValueRef::Blob(bytes)),
            Value::Time(time) => borrowed(ValueRef::Integer(time.as_microsecond())),
            Value::Decimal(zero) if zero.is_zero() => {
                Ok(ToSqlOutput::Owned(Owned::Text(zero.abs().to_string())))
            }
            Value::Decimal(decimal) => Ok(ToSqlOutput::Owned(Owned::Text(decimal.to_string()))),
            Value::Date(date) => Ok(ToSqlOutput::Owned(Owned::Text(date.to_string()))),
        }
    }
}

type Failure = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) => match *ty {
                Type::INT4 => i32::try_from(*number)?.to_sql_checked(ty, out),
                Type::INT2 => i16::try_from(*number)?.to_sql_checked(ty, out),
                _ => number.to_sql_checked(ty, out),
            },
            Value::Bool(yes) => yes.to_sql_checked(ty, out),
            Value::Text(text) => text.as_ref().to_sql_checked(ty, out),
            Value::Uuid(id) => id.to_sql_checked(ty, out),
            Value::Bytes(bytes) => bytes.as_ref().to_sql_checked(ty, out),
            // Whole microseconds on both engines: PostgreSQL stores no more, and would round where SQLite truncates.
            Value::Time(time) => {
                let fraction = time.subsec_nanosecond();
                Timestamp::new(time.as_second(), fraction - fraction % 1000)?.to_sql_checked(ty, out)
            }
            // Not written by the library, whose zero has no scale: 0.00 would become 0.
            Value::Decimal(zero) if zero.is_zero() && *ty == Type::NUMERIC => {
                out.put_slice(&[0; 6]); // no digits, their weight, their sign
                out.put_u16(zero.scale() as u16);
                Ok(IsNull::No)
            }
            Value::Decimal(decimal) => decimal.to_sql_checked(ty, out),
            Value::Date(date) => date.to_sql_checked(ty, out),
            Value::Json(text) => {
                match *ty {
                    Type::JSONB => out.put_u8(1), // the version of JSONB's wire form
                    Type::JSON | Type::UNKNOWN => {}
                    _ => return Err(format!("JSON cannot be stored as {ty}").into()),
                }
                out.put_slice(text.as_bytes());
                Ok(IsNull::No)
            }
        }
    }

    fn encode_format(&self, ty: &Type) -> Format {
        if *ty == Type::UNKNOWN { Format::Text } else { Format::Binary }
    }

    // `to_sql` checks the type, since it depends on the variant.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
