//! Rules for members. A rule turns what was sent into a value or notes what to change, and describes in the OpenAPI document
//! what it takes.
//!
//! The rules are values: `text(1..=200)`, `integer(1..=20)`, `list(0..=100, uuid())`. [`Rule::then`] adds a check or a
//! conversion, [`Rule::described_as`] states the schema of a rule that says more than the one it is made of.

mod distinct;
mod list;
mod number;
mod object;
mod text;
mod time;
mod word;

pub use super::rule::{Arity, Components, Describe, DescribedAs, HasRule, HasSchema, Rule, Then};
pub use distinct::{Distinct, distinct};
pub use list::{List, Values, list, values};
pub use number::{Decimals, Fraction, Id, Integer, Whole, decimal, id, integer, limit, number, page};
pub(super) use number::{NOT_AN_ID, whole};
pub use object::{Component, Nested, component, nested};
pub use text::{Boolean, Email, OneOf, Text, Uuids, boolean, email, one_of, text, text_object, uuid};
pub(super) use text::{NOT_A_UUID, parse_uuid};
pub use time::{Dates, Timestamps, date, timestamp, timestamp_or_utc};
pub use word::{WordRule, word};
