//! The rule for values of one of two forms.

use std::borrow::Cow;

use utoipa::openapi::{
    RefOr,
    schema::{OneOfBuilder, Schema},
};

use super::super::{
    field::Field,
    rule::{Components, Describe, Rule},
};
use crate::problem::Invalid;

/// A value that one of two rules accepts, such as a number or an object. The rules have to accept different types of JSON.
pub fn either<A: Rule, B: Rule<Value = A::Value>>(first: A, second: B) -> Either<A, B> {
    Either { first, second, detail: None }
}

pub struct Either<A, B> {
    first: A,
    second: B,
    detail: Option<&'static str>,
}

impl<A, B> Either<A, B> {
    /// The same rule with a sentence about both forms, for a value of neither.
    pub fn or_fail(self, detail: &'static str) -> Self {
        Either { detail: Some(detail), ..self }
    }
}

impl<A: Describe, B: Describe> Describe for Either<A, B> {
    fn schema(&self) -> RefOr<Schema> {
        OneOfBuilder::new().item(self.first.schema()).item(self.second.schema()).into()
    }

    fn components(&self, components: &mut Components) {
        self.first.components(components);
        self.second.components(components);
    }
}

impl<A: Rule, B: Rule<Value = A::Value>> Rule for Either<A, B> {
    type Value = A::Value;

    fn read(&self, field: &mut Field<'_>) -> Option<A::Value> {
        let (before, malformed) = (field.validation.errors.len(), field.validation.malformed);
        if let Some(value) = self.first.read(field) {
            return Some(value);
        }
        let first = field.validation.errors.split_off(before);
        field.validation.malformed = malformed;
        if let Some(value) = self.second.read(field) {
            return Some(value);
        }
        let second = field.validation.errors.split_off(before);
        field.validation.malformed = malformed;
        let errors = joined(&field.pointer, first, second, self.detail);
        field.validation.errors.extend(errors);
        None
    }
}

/// The errors within a value, if one of the rules looked into it, or else one error with what each of them requires.
fn joined(
    pointer: &str,
    first: Vec<Invalid>,
    second: Vec<Invalid>,
    detail: Option<&'static str>,
) -> Vec<Invalid> {
    let within = |errors: &[Invalid]| errors.iter().any(|error| error.pointer != pointer);
    if within(&first) {
        return first;
    }
    if within(&second) {
        return second;
    }
    let both = || {
        let details: Vec<_> = first.into_iter().chain(second).map(|error| error.detail).collect();
        details.join(", or ").into()
    };
    vec![Invalid { pointer: pointer.to_owned(), detail: detail.map_or_else(both, Cow::Borrowed) }]
}
