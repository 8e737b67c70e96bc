//! Rules for members. A rule reads a sent value or adds a validation error, and describes the accepted values in the OpenAPI
//! document.
//!
//! The rules are values: `text(1..=200)`, `integer(1..=20)`, `list(0..=100, uuid())`. [`Rule::then`] adds a check or a
//! conversion, [`Rule::described_as`] replaces the schema of a rule.

mod distinct;
mod either;
mod list;
mod number;
mod object;
mod text;
mod time;
mod word;

pub(crate) use super::rule::Arity;
pub use super::rule::{Components, Describe, HasRule, HasSchema, Rule};
pub use distinct::distinct;
pub use either::either;
pub use list::{list, values};
pub use number::{Decimals, Integer, decimal, id, integer, limit, number, page};
pub(super) use number::{NOT_AN_ID, whole};
pub use object::{component, nested};
pub(super) use text::{NOT_A_UUID, parse_uuid};
pub use text::{Text, boolean, email, one_of, text, text_object, uuid};
pub use time::{date, timestamp, timestamp_or_utc};
pub use word::word;
