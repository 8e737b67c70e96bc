//! One member, as an argument of a rule.

use std::{any::Any, borrow::Cow, sync::Arc};

use serde_json::Value;

use super::{
    context::ValidationContext,
    form::Pairs,
    xml::{self, Element},
};
use crate::problem::{INVALID_REQUEST, Invalid, Kind, Problem};

/// One member, or a whole body.
pub struct Field<'a> {
    pub(super) raw: RawValue<'a>,
    pub(super) pointer: String,
    pub(super) validation: &'a mut Validation,
}

/// The value before a rule reads it: JSON with its types, plain text, an XML element, or (only for a whole body) a form.
#[derive(Clone, Copy)]
pub(super) enum RawValue<'a> {
    Json(&'a Value),
    Text(&'a str),
    Xml(&'a Element),
    Form(&'a Pairs<'a>),
    /// The values of a list in a form or a query string.
    Values(&'a [&'a str]),
}

/// The validation errors of a request so far.
#[derive(Default)]
pub(super) struct Validation {
    pub(super) errors: Vec<Invalid>,
    pub(super) malformed: bool,
    /// Whether a text in JSON can be a number or a boolean.
    pub(super) reads_texts: bool,
    /// The data of the service for its rules.
    pub(super) context: Option<ValidationContext>,
}

impl Validation {
    /// The value, if there is no validation error.
    pub(super) fn check<T>(self, value: Option<T>, broken: &'static Kind) -> Result<T, Problem> {
        match value {
            Some(value) if self.errors.is_empty() => Ok(value),
            None if self.errors.is_empty() => Err(Problem::internal("a rule lacks the context it needs")),
            _ => Err(Problem::broken(if self.malformed { &INVALID_REQUEST } else { broken }, self.errors)),
        }
    }
}

impl<'a> Field<'a> {
    /// Adds a validation error for this member; the detail is a predicate ("must be …").
    pub fn fail<T>(&mut self, detail: impl Into<Cow<'static, str>>) -> Option<T> {
        self.validation.errors.push(Invalid { pointer: self.pointer.clone(), detail: detail.into() });
        None
    }

    /// Adds a validation error that makes the body malformed ([`INVALID_REQUEST`]), also for a type with another
    /// [`Input::BROKEN`](super::Input::BROKEN).
    pub fn malformed<T>(&mut self, detail: impl Into<Cow<'static, str>>) -> Option<T> {
        self.validation.malformed = true;
        self.fail(detail)
    }

    /// The data of the service for its rules; see [`Fields::context`](super::Fields::context).
    pub fn context<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.validation.context.as_ref()?.get()
    }

    /// A text in JSON that is read as a number or a boolean.
    pub(super) fn text_value(&self) -> Option<&'a str> {
        match self.raw {
            RawValue::Json(Value::String(text)) if self.validation.reads_texts => Some(text),
            _ => None,
        }
    }

    /// The child elements of an XML element without text.
    pub(super) fn elements(&mut self, wanted: &'static str) -> Option<&'a [Element]> {
        match self.raw {
            RawValue::Xml(element) if element.nil => self.fail("must not be null"),
            RawValue::Xml(element) if element.has_text() => self.fail(wanted),
            RawValue::Xml(element) => Some(&element.children),
            _ => self.fail(wanted),
        }
    }

    /// The value as text, unchanged.
    pub(super) fn text(&mut self, wanted: impl Into<Cow<'static, str>>) -> Option<&'a str> {
        match self.raw {
            RawValue::Json(Value::String(text)) => Some(text),
            RawValue::Text(text) => Some(text),
            RawValue::Json(Value::Null) => self.fail("must not be null"),
            RawValue::Xml(element) if element.nil => self.fail("must not be null"),
            RawValue::Xml(element) if element.children.is_empty() => Some(&element.text),
            RawValue::Json(_) | RawValue::Xml(_) | RawValue::Form(_) | RawValue::Values(_) => {
                self.fail(wanted)
            }
        }
    }

    /// The value as text; in XML without the blanks around it.
    pub(super) fn word(&mut self, wanted: impl Into<Cow<'static, str>>) -> Option<&'a str> {
        let text = self.text(wanted)?;
        Some(if let RawValue::Xml(_) = self.raw { xml::trim(text) } else { text })
    }
}
