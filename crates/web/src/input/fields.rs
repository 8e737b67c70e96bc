//! The members of an object, asked for by name and rule.

use std::{any::Any, borrow::Cow, ops::RangeInclusive, sync::Arc};

use serde_json::Value;

use super::{
    Facts, Input,
    field::{Faults, Field, Given},
    form::Pairs,
    rules, unknown,
    xml::Element,
};
use crate::problem::{INVALID_REQUEST, Invalid, Problem};

/// How many values [`Fields::each`] takes.
const MOST_VALUES: usize = 1000;

/// The members of an object, or the parameters of a query.
pub struct Fields<'a> {
    pub(super) members: Members<'a>,
    pub(super) pointer: Cow<'a, str>,
    pub(super) faults: &'a mut Faults,
    /// The names of a query's parameters that were asked for.
    pub(super) asked: Vec<String>,
}

#[derive(Clone, Copy)]
pub(super) enum Members<'a> {
    Json(&'a serde_json::Map<String, Value>),
    Xml(&'a [Element]),
    Form(&'a Pairs<'a>),
    Query(&'a Pairs<'a>),
}

/// Reads a body, whole.
pub(super) fn read_body<T: Input>(given: Given<'_>, facts: Option<Facts>) -> Result<T, Problem> {
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

impl<'a> Fields<'a> {
    /// A member that must be there.
    pub fn required<T>(&mut self, name: &str, rule: impl Fn(&mut Field<'_>) -> Option<T>) -> Option<T> {
        match self.given(name)? {
            Some(given) => rule(&mut self.field(name, given)),
            None => self.fail(name, "is required"),
        }
    }

    /// A member that may be left out. The outer `None` is a fault, the inner one an absent member.
    pub fn optional<T>(
        &mut self,
        name: &str,
        rule: impl Fn(&mut Field<'_>) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.given(name)? {
            Some(given) => rule(&mut self.field(name, given)).map(Some),
            None => Some(None),
        }
    }

    /// A list by [`rules::list_of`] that may be left out. In a form each of its items is a value of this name, and an empty
    /// value is no item.
    pub fn optional_list<T>(
        &mut self,
        name: &str,
        item: &'static str,
        length: RangeInclusive<usize>,
        rule: impl Fn(&mut Field<'_>) -> Option<T>,
    ) -> Option<Option<Vec<T>>> {
        let Members::Form(pairs) = self.members else {
            return self.optional(name, rules::list_of(item, length, rule));
        };
        let sent: Vec<_> = pairs.iter().filter(|(found, _)| found == name).collect();
        if sent.is_empty() {
            return Some(None);
        }
        let items: Vec<_> = sent.iter().filter(|(_, value)| !value.is_empty()).collect();
        let items = items.iter().map(|(_, value)| Given::Text(value));
        rules::read_list(&mut self.field(name, Given::Text("")), items, &length, rule).map(Some)
    }

    /// The same for one that must be there.
    pub fn required_list<T>(
        &mut self,
        name: &str,
        item: &'static str,
        length: RangeInclusive<usize>,
        rule: impl Fn(&mut Field<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        match self.optional_list(name, item, length, rule)? {
            Some(list) => Some(list),
            None => self.fail(name, "is required"),
        }
    }

    /// Every value of a parameter that may be repeated, may hold several values with commas between them
    /// (`?status=sold,pending`), or both. Absent or empty, it has none.
    pub fn each<T>(&mut self, name: &str, rule: impl Fn(&mut Field<'_>) -> Option<T>) -> Option<Vec<T>> {
        // One more than are taken, to see that there are more.
        const LOOKED_AT: usize = MOST_VALUES + 1;
        self.ask(name);
        let values: Vec<_> = match self.members {
            Members::Json(members) => members.get(name).map(Given::Json).into_iter().collect(),
            Members::Xml(elements) => named(elements, name).take(LOOKED_AT).collect(),
            Members::Form(pairs) | Members::Query(pairs) => {
                let given = pairs.iter().filter(|(found, value)| found == name && !value.is_empty());
                let values = given.flat_map(|(_, value)| value.split(','));
                values.map(Given::Text).take(LOOKED_AT).collect()
            }
        };
        if values.len() > MOST_VALUES {
            return self.fail(name, format!("must have at most {MOST_VALUES} values"));
        }
        // All of them have the same pointer, so that the first that is wrong speaks for the others.
        values.into_iter().map(|given| rule(&mut self.field(name, given))).collect()
    }

    /// Notes a fault that no single rule sees, such as two members that do not go together.
    pub fn fail<T>(&mut self, name: &str, detail: impl Into<Cow<'static, str>>) -> Option<T> {
        let pointer = self.pointer_to(name);
        self.faults.errors.push(Invalid { pointer, detail: detail.into() });
        None
    }

    /// The same for what is so wrong that the whole body counts as malformed; see [`Field::malformed`].
    pub fn malformed<T>(&mut self, name: &str, detail: impl Into<Cow<'static, str>>) -> Option<T> {
        self.faults.malformed = true;
        self.fail(name, detail)
    }

    /// Whether a member is there, whatever it is.
    pub fn has(&self, name: &str) -> bool {
        match self.members {
            Members::Json(members) => members.contains_key(name),
            Members::Xml(elements) => named(elements, name).next().is_some(),
            Members::Form(pairs) | Members::Query(pairs) => pairs.iter().any(|(found, _)| found == name),
        }
    }

    /// Whether anything is wrong so far, anywhere in the request's body or query string.
    pub fn has_faults(&self) -> bool {
        !self.faults.errors.is_empty()
    }

    /// What the service knows, for rules that depend on it. A service that has such rules gives its requests [`Facts`].
    pub fn facts<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.faults.facts.as_ref()?.get()
    }

    fn ask(&mut self, name: &str) {
        if matches!(self.members, Members::Query(_)) {
            self.asked.push(name.to_owned());
        }
    }

    fn given(&mut self, name: &str) -> Option<Option<Given<'a>>> {
        self.ask(name);
        let (first, second) = match self.members {
            Members::Json(members) => (members.get(name).map(Given::Json), None),
            Members::Xml(elements) => {
                let mut found = named(elements, name);
                (found.next(), found.next())
            }
            Members::Form(pairs) | Members::Query(pairs) => {
                let found = pairs.iter().filter(|(found, _)| found == name);
                let mut found = found.map(|(_, value)| Given::Text(value));
                (found.next(), found.next())
            }
        };
        if second.is_some() {
            // Which of the two is meant nobody knows, as with JSON that has a member twice.
            self.faults.malformed = true;
            return self.fail(name, "is given more than once");
        }
        Some(first)
    }

    fn field<'f>(&'f mut self, name: &str, given: Given<'f>) -> Field<'f> {
        Field { given, pointer: self.pointer_to(name), faults: self.faults }
    }

    fn pointer_to(&self, name: &str) -> String {
        match self.members {
            Members::Query(_) => format!("{}{name}", self.pointer),
            _ => format!("{}/{name}", self.pointer),
        }
    }
}

fn named<'a>(elements: &'a [Element], name: &str) -> impl Iterator<Item = Given<'a>> {
    elements.iter().filter(move |element| *element.name == *name).map(Given::Xml)
}
