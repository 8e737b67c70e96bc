//! What a client sends, read with every fault found at once.
//!
//! A type that can be read from a request implements [`Input`]: it asks [`Fields`] for each member by name and
//! rule, and every member that breaks its rule leaves an [`Invalid`] with its place. Bodies and query strings
//! are read the same way.
//!
//! ```
//! use web::input::{Fields, Input, rules};
//!
//! struct Visit { date: jiff::civil::Date, guests: i64 }
//!
//! impl Input for Visit {
//!     fn read(fields: &mut Fields<'_>) -> Option<Self> {
//!         let date = fields.required("date", rules::date);
//!         let guests = fields.optional("guests", rules::integer(1..=20));
//!         Some(Visit { date: date?, guests: guests?.unwrap_or(1) })
//!     }
//! }
//! ```

mod body;
mod form;
mod path;
mod query;
mod repeats;
pub mod rules;

use std::borrow::Cow;

use serde_json::Value;

use crate::problem::{Invalid, Problem};

pub use body::{Body, Form};
pub use form::{Pairs, decode as form_decode, pairs as form_pairs};
pub use path::{Param, Path};
pub use query::Query;

/// A type read from the members of a body or a query string. `None` means that at least one fault was noted.
pub trait Input: Sized {
    fn read(fields: &mut Fields<'_>) -> Option<Self>;
}

/// The members of an object, or the parameters of a query.
pub struct Fields<'a> {
    members: Members<'a>,
    pointer: String,
    errors: Vec<Invalid>,
}

enum Members<'a> {
    Json(&'a serde_json::Map<String, Value>),
    Query(&'a [(Cow<'a, str>, Cow<'a, str>)]),
}

impl<'a> Fields<'a> {
    /// Reads a JSON body.
    pub(crate) fn of_body<T: Input>(body: &'a Value) -> Result<T, Problem> {
        let Value::Object(members) = body else {
            return Err(Problem::invalid_at("#", "must be a JSON object"));
        };
        let fields = Fields { members: Members::Json(members), pointer: "#".into(), errors: Vec::new() };
        fields.finish(T::read)
    }

    /// Reads a query string.
    pub(crate) fn of_query<T: Input>(parameters: &'a [(Cow<'a, str>, Cow<'a, str>)]) -> Result<T, Problem> {
        let fields = Fields { members: Members::Query(parameters), pointer: "?".into(), errors: Vec::new() };
        fields.finish(T::read)
    }

    fn finish<T>(mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Result<T, Problem> {
        let value = read(&mut self);
        match value {
            Some(value) if self.errors.is_empty() => Ok(value),
            _ => Err(Problem::invalid(self.errors)),
        }
    }

    /// A member that must be there.
    pub fn required<T>(&mut self, name: &str, rule: impl Fn(&mut Field<'_>) -> Option<T>) -> Option<T> {
        match self.given(name)? {
            Some(given) => self.apply(name, given, rule),
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
            Some(given) => self.apply(name, given, rule).map(Some),
            None => Some(None),
        }
    }

    /// Notes a fault that no single rule sees, such as two members that do not go together.
    pub fn fail<T>(&mut self, name: &str, detail: impl Into<Cow<'static, str>>) -> Option<T> {
        let pointer = self.pointer_to(name);
        self.errors.push(Invalid { pointer, detail: detail.into() });
        None
    }

    fn given(&mut self, name: &str) -> Option<Option<Given<'a>>> {
        match &self.members {
            Members::Json(members) => Some(members.get(name).map(Given::Json)),
            Members::Query(parameters) => {
                let mut found = parameters.iter().filter(|(found, _)| found == name);
                let first = found.next().map(|(_, value)| Given::Text(value.as_ref()));
                match found.next() {
                    Some(_) => self.fail(name, "is given more than once"),
                    None => Some(first),
                }
            }
        }
    }

    fn apply<T>(
        &mut self,
        name: &str,
        given: Given<'a>,
        rule: impl Fn(&mut Field<'_>) -> Option<T>,
    ) -> Option<T> {
        let pointer = self.pointer_to(name);
        rule(&mut Field { given, pointer, errors: &mut self.errors })
    }

    fn pointer_to(&self, name: &str) -> String {
        match self.members {
            Members::Json(_) => format!("{}/{name}", self.pointer),
            Members::Query(_) => format!("{}{name}", self.pointer),
        }
    }
}

/// One member, while a rule looks at it.
pub struct Field<'a> {
    given: Given<'a>,
    pointer: String,
    errors: &'a mut Vec<Invalid>,
}

/// What stands at a member: JSON with its types, or plain text whose type the rule knows.
#[derive(Clone, Copy)]
enum Given<'a> {
    Json(&'a Value),
    Text(&'a str),
}

impl Field<'_> {
    /// Notes that this member is wrong; says so as a predicate of it ("must be …").
    pub fn fail<T>(&mut self, detail: impl Into<Cow<'static, str>>) -> Option<T> {
        self.errors.push(Invalid { pointer: self.pointer.clone(), detail: detail.into() });
        None
    }
}
