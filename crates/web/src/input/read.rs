//! Reads an [`Input`] from a body or a query string.

use super::{
    Input,
    facts::Facts,
    field::{Faults, Field, RawValue},
    fields::{Fields, Members},
    form::Pairs,
    unknown,
};
use crate::problem::{INVALID_REQUEST, Problem};

/// Reads a body, whole.
pub(super) fn read_body<T: Input>(given: RawValue<'_>, facts: Option<Facts>) -> Result<T, Problem> {
    let mut faults = Faults { facts, ..Faults::default() };
    let value = T::read_value(&mut Field { given, pointer: "#".into(), faults: &mut faults });
    faults.check(value, T::BROKEN)
}

/// Reads a query string.
pub(super) fn read_query<T: Input>(parameters: &Pairs<'_>, facts: Option<Facts>) -> Result<T, Problem> {
    let mut faults = Faults { facts, ..Faults::default() };
    let members = Members::Query(parameters);
    let mut fields = Fields { members, pointer: "?".into(), faults: &mut faults, asked: Vec::new() };
    let value = T::read(&mut fields);
    let unknown = unknown::among(parameters, &fields.asked);
    faults.errors.extend(unknown);
    faults.check(value, &INVALID_REQUEST)
}
