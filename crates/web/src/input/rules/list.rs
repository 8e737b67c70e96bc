//! Rules for lists.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::super::{Field, field::Given};

/// A list of so many items, each by a rule; every item that breaks it is noted. In XML there is no such thing: see
/// [`list_of`].
pub fn list<T>(
    length: RangeInclusive<usize>,
    item: impl Fn(&mut Field<'_>) -> Option<T>,
) -> impl Fn(&mut Field<'_>) -> Option<Vec<T>> {
    move |field| match field.given {
        Given::Json(Value::Array(items)) => read(field, items.iter().map(Given::Json), &length, &item),
        _ => field.fail("must be a list"),
    }
}

/// The same, and in XML the elements named `item`: `photoUrls` that holds `photoUrl`.
pub fn list_of<T>(
    item: &'static str,
    length: RangeInclusive<usize>,
    rule: impl Fn(&mut Field<'_>) -> Option<T>,
) -> impl Fn(&mut Field<'_>) -> Option<Vec<T>> {
    move |field| match field.given {
        Given::Json(Value::Array(items)) => read(field, items.iter().map(Given::Json), &length, &rule),
        Given::Xml(_) => {
            let elements = field.elements("must be a list, of elements rather than text")?;
            let items = elements.iter().filter(|element| *element.name == *item);
            read(field, items.map(Given::Xml), &length, &rule)
        }
        _ => field.fail("must be a list"),
    }
}

pub(in super::super) fn read<'a, T>(
    field: &mut Field<'_>,
    items: impl Iterator<Item = Given<'a>> + Clone,
    length: &RangeInclusive<usize>,
    rule: impl Fn(&mut Field<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let found = items.clone().count();
    if !length.contains(&found) {
        return field.fail(match length.start() {
            1 if found == 0 => "must have at least one item".to_owned(),
            least if found < *least => format!("must have at least {least} items, not {found}"),
            _ => format!("must have at most {} items, not {found}", length.end()),
        });
    }
    let read: Vec<_> = items
        .enumerate()
        .map(|(index, given)| {
            let pointer = format!("{}/{index}", field.pointer);
            rule(&mut Field { given, pointer, faults: field.faults })
        })
        .collect();
    // Only now, since a fault ends it: every item has been looked at.
    read.into_iter().collect()
}
