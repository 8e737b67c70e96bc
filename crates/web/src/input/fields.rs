//! The members of an object, read by name and rule.

use std::{any::Any, borrow::Cow, collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{
    field::{Field, RawValue, Validation},
    form::Pairs,
    rule::{Arity, MOST_VALUES, Rule},
    unknown,
    xml::Element,
};
use crate::problem::Invalid;

/// The members of an object, or the parameters of a query.
pub struct Fields<'a> {
    pub(super) members: Members<'a>,
    pub(super) pointer: Cow<'a, str>,
    pub(super) validation: &'a mut Validation,
    /// The names of the query parameters that the operation has.
    pub(super) known: Vec<String>,
}

#[derive(Clone, Copy)]
pub(super) enum Members<'a> {
    Json(&'a serde_json::Map<String, Value>),
    Xml(&'a [Element]),
    Form(&'a Pairs<'a>),
    Query(&'a Pairs<'a>),
}

impl Field<'_> {
    /// The members of the object that this value is.
    pub fn fields(&mut self) -> Option<Fields<'_>> {
        let members = match self.raw {
            RawValue::Json(Value::Object(members)) => Members::Json(members),
            RawValue::Json(_) => return self.fail("must be a JSON object"),
            RawValue::Text(_) | RawValue::Values(_) => return self.fail("must be an object"),
            RawValue::Xml(_) => Members::Xml(self.elements("must hold elements, not text")?),
            RawValue::Form(pairs) => Members::Form(pairs),
        };
        Some(Fields {
            members,
            pointer: Cow::Borrowed(&self.pointer),
            validation: self.validation,
            known: Vec::new(),
        })
    }
}

impl<'a> Fields<'a> {
    /// A required member.
    #[expect(clippy::needless_pass_by_value, reason = "callers construct the rule in the call")]
    pub fn required<R: Rule>(&mut self, name: &str, rule: R) -> Option<R::Value> {
        match self.sent(name, &rule)? {
            Some(value) => Some(value),
            None if rule.arity() == Arity::Separated => {
                rule.read(&mut self.field(name, RawValue::Values(&[])))
            }
            None => self.fail(name, "is required"),
        }
    }

    /// An optional member. The outer `None` is a validation error, the inner one an absent member.
    #[expect(clippy::needless_pass_by_value, reason = "callers construct the rule in the call")]
    pub fn optional<R: Rule>(&mut self, name: &str, rule: R) -> Option<Option<R::Value>> {
        self.sent(name, &rule)
    }

    pub(super) fn sent<R: Rule>(&mut self, name: &str, rule: &R) -> Option<Option<R::Value>> {
        match (rule.arity(), self.members) {
            (Arity::Items, Members::Form(pairs)) => {
                let sent: Vec<_> = pairs.iter().filter(|(found, _)| found == name).collect();
                if sent.is_empty() {
                    return Some(None);
                }
                // An empty value is not an item: a form sends an empty list as one empty value.
                let values = sent.iter().map(|(_, value)| value.as_ref()).filter(|value| !value.is_empty());
                let values: Vec<_> = values.collect();
                rule.read(&mut self.field(name, RawValue::Values(&values))).map(Some)
            }
            (Arity::Separated, Members::Form(pairs) | Members::Query(pairs)) => {
                self.note(name);
                let sent = pairs.iter().filter(|(found, value)| found == name && !value.is_empty());
                let values = sent.flat_map(|(_, value)| value.split(','));
                // One more than the limit, so that the rule sees that there are too many.
                let values: Vec<_> = values.take(MOST_VALUES + 1).collect();
                if values.is_empty() {
                    return Some(None);
                }
                rule.read(&mut self.field(name, RawValue::Values(&values))).map(Some)
            }
            _ => match self.raw(name)? {
                Some(raw) => rule.read(&mut self.field(name, raw)).map(Some),
                None => Some(None),
            },
        }
    }

    /// Adds a validation error that no single rule finds, such as two members that contradict each other.
    pub fn fail<T>(&mut self, name: &str, detail: impl Into<Cow<'static, str>>) -> Option<T> {
        let pointer = self.pointer_to(name);
        self.validation.errors.push(Invalid { pointer, detail: detail.into() });
        None
    }

    /// Adds a validation error that makes the body malformed; see [`Field::malformed`].
    pub fn malformed<T>(&mut self, name: &str, detail: impl Into<Cow<'static, str>>) -> Option<T> {
        self.validation.malformed = true;
        self.fail(name, detail)
    }

    /// Adds a validation error for each member that is not among these.
    pub fn closed(&mut self, known: &[&str]) {
        let sent: BTreeSet<&str> = match self.members {
            Members::Json(members) => members.keys().map(String::as_str).collect(),
            Members::Xml(elements) => elements.iter().map(|element| &*element.name).collect(),
            Members::Form(pairs) | Members::Query(pairs) => pairs.iter().map(|(name, _)| &**name).collect(),
        };
        for (step, detail) in unknown::members(&sent, known) {
            self.fail::<()>(&step, detail);
        }
    }

    /// Whether a member is present, with any value.
    pub fn has(&self, name: &str) -> bool {
        match self.members {
            Members::Json(members) => members.contains_key(name),
            Members::Xml(elements) => named(elements, name).next().is_some(),
            Members::Form(pairs) | Members::Query(pairs) => pairs.iter().any(|(found, _)| found == name),
        }
    }

    /// Whether the request's body or query string has a validation error so far.
    pub fn has_errors(&self) -> bool {
        !self.validation.errors.is_empty()
    }

    /// The data of the service for its rules. A service with such rules adds a
    /// [`ValidationContext`](super::ValidationContext) to its requests.
    pub fn context<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.validation.context.as_ref()?.get()
    }

    fn note(&mut self, name: &str) {
        if matches!(self.members, Members::Query(_)) {
            self.known.push(name.to_owned());
        }
    }

    fn raw(&mut self, name: &str) -> Option<Option<RawValue<'a>>> {
        self.note(name);
        let (first, second) = match self.members {
            Members::Json(members) => (members.get(name).map(RawValue::Json), None),
            Members::Xml(elements) => {
                let mut found = named(elements, name);
                (found.next(), found.next())
            }
            Members::Form(pairs) | Members::Query(pairs) => {
                let found = pairs.iter().filter(|(found, _)| found == name);
                let mut found = found.map(|(_, value)| RawValue::Text(value));
                (found.next(), found.next())
            }
        };
        if second.is_some() {
            // It is undefined which of the two is meant, as with a repeated member in JSON.
            self.validation.malformed = true;
            return self.fail(name, "is given more than once");
        }
        Some(first)
    }

    fn field<'f>(&'f mut self, name: &str, raw: RawValue<'f>) -> Field<'f> {
        Field { raw, pointer: self.pointer_to(name), validation: self.validation }
    }

    fn pointer_to(&self, name: &str) -> String {
        match self.members {
            Members::Query(_) => [&*self.pointer, name].concat(),
            _ => [&*self.pointer, "/", name].concat(),
        }
    }
}

fn named<'a>(elements: &'a [Element], name: &str) -> impl Iterator<Item = RawValue<'a>> {
    elements.iter().filter(move |element| *element.name == *name).map(RawValue::Xml)
}
