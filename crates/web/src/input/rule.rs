//! The trait of rules. The rules themselves are in [`rules`](super::rules).

use utoipa::openapi::{
    RefOr,
    schema::{Object, Schema, SchemaType},
};

use super::field::Field;

/// The schemas of components that a rule or a type refers to, by name.
pub type Components = Vec<(String, RefOr<Schema>)>;

/// The description of a member in the OpenAPI document.
pub trait Describe {
    /// The schema of the accepted or answered values.
    fn schema(&self) -> RefOr<Schema> {
        Object::builder().schema_type(SchemaType::AnyValue).build().into()
    }

    /// Adds the components that the schema refers to.
    fn components(&self, _: &mut Components) {}
}

/// Which values of a member of a body or a query string are accepted.
pub trait Rule: Describe {
    type Value;

    /// Reads a value; `None` means that a validation error was added.
    fn read(&self, field: &mut Field<'_>) -> Option<Self::Value>;

    /// How a form or a query string carries the values of this member.
    fn arity(&self) -> Arity {
        Arity::One
    }

    /// The same rule with a further check or conversion.
    fn then<T, F>(self, convert: F) -> Then<Self, F>
    where
        Self: Sized,
        F: Fn(&mut Field<'_>, Self::Value) -> Option<T>,
    {
        Then { rule: self, convert }
    }

    /// The same rule with another schema.
    fn described_as(self, schema: impl Into<Schema>) -> DescribedAs<Self>
    where
        Self: Sized,
    {
        DescribedAs { rule: self, schema: schema.into() }
    }
}

/// How many values of a name a form or a query string may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    One,
    /// In a form, each item of a list is a value.
    Items,
    /// Values may be repeated, have commas between them, or both.
    Separated,
}

/// How many values a member of [`Arity::Separated`] may have.
pub(super) const MOST_VALUES: usize = 1000;

/// A type with a default rule.
pub trait HasRule: Sized {
    fn rule() -> impl Rule<Value = Self>;
}

/// A type with a default schema, for types that are read and types that are only answered.
pub trait HasSchema {
    fn description() -> impl Describe;
}

impl<T, F> Describe for F where F: Fn(&mut Field<'_>) -> Option<T> {}

impl<T, F> Rule for F
where
    F: Fn(&mut Field<'_>) -> Option<T>,
{
    type Value = T;

    fn read(&self, field: &mut Field<'_>) -> Option<T> {
        self(field)
    }
}

/// A rule with a further check or conversion.
pub struct Then<R, F> {
    rule: R,
    convert: F,
}

impl<R: Describe, F> Describe for Then<R, F> {
    fn schema(&self) -> RefOr<Schema> {
        self.rule.schema()
    }

    fn components(&self, components: &mut Components) {
        self.rule.components(components);
    }
}

impl<R, F, T> Rule for Then<R, F>
where
    R: Rule,
    F: Fn(&mut Field<'_>, R::Value) -> Option<T>,
{
    type Value = T;

    fn read(&self, field: &mut Field<'_>) -> Option<T> {
        let value = self.rule.read(field)?;
        (self.convert)(field, value)
    }

    fn arity(&self) -> Arity {
        self.rule.arity()
    }
}

/// A rule with another schema.
pub struct DescribedAs<R> {
    rule: R,
    schema: Schema,
}

impl<R> Describe for DescribedAs<R> {
    fn schema(&self) -> RefOr<Schema> {
        RefOr::T(self.schema.clone())
    }
}

impl<R: Rule> Rule for DescribedAs<R> {
    type Value = R::Value;

    fn read(&self, field: &mut Field<'_>) -> Option<R::Value> {
        self.rule.read(field)
    }

    fn arity(&self) -> Arity {
        self.rule.arity()
    }
}
