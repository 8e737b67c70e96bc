//! Reads an [`Input`] from a body or a query string.

use super::{
    Input,
    context::ValidationContext,
    field::{Field, RawValue, Validation},
    fields::{Fields, Members},
    form::Pairs,
    unknown,
};
use crate::problem::{INVALID_REQUEST, Problem};

/// Reads a whole body.
pub(super) fn read_body<T: Input>(
    raw: RawValue<'_>,
    context: Option<ValidationContext>,
) -> Result<T, Problem> {
    let reads_texts = context.as_ref().is_some_and(ValidationContext::reads_texts);
    let mut validation = Validation { context, reads_texts, ..Validation::default() };
    let value = T::read_value(&mut Field { raw, pointer: "#".into(), validation: &mut validation });
    validation.check(value, T::BROKEN)
}

/// Reads a query string.
pub(super) fn read_query<T: Input>(
    parameters: &Pairs<'_>,
    context: Option<ValidationContext>,
) -> Result<T, Problem> {
    let mut validation = Validation { context, ..Validation::default() };
    let members = Members::Query(parameters);
    let mut fields = Fields { members, pointer: "?".into(), validation: &mut validation, known: Vec::new() };
    let value = T::read(&mut fields);
    let unknown = unknown::among(parameters, &fields.known);
    validation.errors.extend(unknown);
    validation.check(value, &INVALID_REQUEST)
}
