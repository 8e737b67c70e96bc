//! Rules for lists.

use std::{collections::HashSet, ops::RangeInclusive};

use serde_json::Value;
use utoipa::openapi::{
    RefOr,
    schema::{ArrayBuilder, Schema},
    xml::XmlBuilder,
};

use super::super::{
    field::{Field, RawValue},
    rule::{Arity, Components, Describe, MOST_VALUES, Rule},
};

/// A list with a limited number of items. Each item that breaks the rule is a validation error. For XML see [`List::of`].
pub fn list<R: Describe>(length: RangeInclusive<usize>, item: R) -> List<R> {
    List { length, item, element: None }
}

pub struct List<R> {
    length: RangeInclusive<usize>,
    item: R,
    element: Option<&'static str>,
}

impl<R> List<R> {
    /// The same list; in XML, its items are the elements of this name, such as `photoUrl` in `photoUrls`.
    #[must_use]
    pub fn of(self, element: &'static str) -> Self {
        List { element: Some(element), ..self }
    }
}

impl<R: Describe> Describe for List<R> {
    fn schema(&self) -> RefOr<Schema> {
        let least = Some(*self.length.start()).filter(|least| *least > 0);
        let most = Some(*self.length.end()).filter(|most| *most < usize::MAX);
        let mut item = self.item.schema();
        if let (Some(name), RefOr::T(Schema::Object(item))) = (self.element, &mut item) {
            item.xml = Some(XmlBuilder::new().name(Some(name)).build());
        }
        let xml = self.element.map(|_| XmlBuilder::new().wrapped(Some(true)).build());
        ArrayBuilder::new().items(item).min_items(least).max_items(most).xml(xml).into()
    }

    fn components(&self, components: &mut Components) {
        self.item.components(components);
    }
}

impl<R: Rule> Rule for List<R> {
    type Value = Vec<R::Value>;

    fn read(&self, field: &mut Field<'_>) -> Option<Self::Value> {
        match (field.raw, self.element) {
            (RawValue::Json(Value::Array(items)), _) => self.items(field, items.iter().map(RawValue::Json)),
            (RawValue::Xml(_), Some(element)) => {
                let elements = field.elements("must be a list, of elements rather than text")?;
                let items = elements.iter().filter(|found| *found.name == *element);
                self.items(field, items.map(RawValue::Xml))
            }
            (RawValue::Values(values), _) => {
                self.items(field, values.iter().map(|value| RawValue::Text(value)))
            }
            _ => field.fail("must be a list"),
        }
    }

    fn arity(&self) -> Arity {
        Arity::Items
    }
}

impl<R: Rule> List<R> {
    fn items<'a>(
        &self,
        field: &mut Field<'_>,
        items: impl Iterator<Item = RawValue<'a>> + Clone,
    ) -> Option<Vec<R::Value>> {
        let found = items.clone().count();
        if !self.length.contains(&found) {
            return field.fail(match self.length.start() {
                1 if found == 0 => "must have at least one item".to_owned(),
                least if found < *least => format!("must have at least {least} items, not {found}"),
                _ => format!("must have at most {} items, not {found}", self.length.end()),
            });
        }
        let read: Vec<_> = items
            .enumerate()
            .map(|(index, raw)| {
                let pointer = [field.pointer.as_str(), "/", &index.to_string()].concat();
                self.item.read(&mut Field { raw, pointer, validation: field.validation })
            })
            .collect();
        // Collected after all items were read, since collecting stops at the first `None`.
        read.into_iter().collect()
    }
}

/// All values of a parameter that may be repeated, may have several values separated by commas (`?status=sold,pending`), or
/// both. An absent or empty parameter has no values.
pub fn values<R: Rule>(each: R) -> Values<R> {
    Values { each, named: None }
}

pub struct Values<R> {
    each: R,
    named: Option<(RangeInclusive<usize>, &'static str)>,
}

impl<R> Values<R> {
    /// Limits the number of different values; messages call a value by this name.
    #[must_use]
    pub fn named(self, length: RangeInclusive<usize>, name: &'static str) -> Self {
        Values { named: Some((length, name)), ..self }
    }
}

impl<R: Describe> Describe for Values<R> {
    fn schema(&self) -> RefOr<Schema> {
        let length = self.named.as_ref().map(|(length, _)| length);
        let (least, most) = (length.map(|length| *length.start()), length.map(|length| *length.end()));
        ArrayBuilder::new().items(self.each.schema()).min_items(least).max_items(most).into()
    }

    fn components(&self, components: &mut Components) {
        self.each.components(components);
    }
}

impl<R: Rule> Rule for Values<R> {
    type Value = Vec<R::Value>;

    fn read(&self, field: &mut Field<'_>) -> Option<Self::Value> {
        let RawValue::Values(values) = field.raw else { return field.fail("must be a list") };
        if values.len() > MOST_VALUES {
            return field.fail(format!("must have at most {MOST_VALUES} values"));
        }
        if let Some((length, name)) = &self.named {
            let found = values.iter().collect::<HashSet<_>>().len();
            match length.start() {
                1 if found == 0 => return field.fail(format!("must name at least one {name}")),
                least if found < *least => return field.fail(format!("must name at least {least} {name}s")),
                _ if found > *length.end() => {
                    return field.fail(format!("must name at most {} {name}s, not {found}", length.end()));
                }
                _ => {}
            }
        }
        // All values have the same pointer, so that only the first error is reported.
        let pointer = &field.pointer;
        let validation = &mut *field.validation;
        values
            .iter()
            .map(|value| {
                let raw = RawValue::Text(value);
                self.each.read(&mut Field { raw, pointer: pointer.clone(), validation })
            })
            .collect()
    }

    fn arity(&self) -> Arity {
        Arity::Separated
    }
}
