//! Reads what a client sends, and finds all validation errors at once.
//!
//! A type that can be read from a request implements [`Input`]: it reads each member from [`Fields`] by name and rule, and
//! each member that breaks its rule adds an [`Invalid`](crate::problem::Invalid) with its pointer. Query strings and bodies
//! (JSON, XML or a form) are read the same way.
//!
//! ```
//! use web::input::{Fields, Input, rules};
//!
//! struct Visit { date: jiff::civil::Date, guests: i64 }
//!
//! impl Input for Visit {
//!     fn read(fields: &mut Fields<'_>) -> Option<Self> {
//!         let date = fields.required("date", rules::date());
//!         let guests = fields.optional("guests", rules::integer(1..=20));
//!         Some(Visit { date: date?, guests: guests?.unwrap_or(1) })
//!     }
//! }
//! ```

mod body;
mod collect;
mod combined;
mod content_type;
pub(crate) mod context;
mod field;
mod fields;
mod form;
mod large;
mod path;
mod query;
mod raw;
mod read;
mod repeats;
mod rule;
pub mod rules;
mod unknown;
mod upload;
mod xml;

pub use body::{Body, Form};
pub use combined::{Both, WithBody};
pub(crate) use content_type::media_types;
pub use context::ValidationContext;
pub use field::Field;
pub use fields::Fields;
pub use form::{Pairs, decode as form_decode, pairs as form_pairs};
pub use path::{Param, Path};
pub use query::Query;
pub use raw::RawBody;
pub(crate) use unknown::{UnknownParameters, unknown_parameters};
pub use upload::Upload;

use crate::problem::{INVALID_REQUEST, Kind};

/// A type read from the members of a body or a query string. `None` means that there is at least one validation error.
pub trait Input: Sized {
    /// The root element of a body in XML; without one, XML is not accepted. Namespaces are ignored.
    const XML_ROOT: Option<&'static str> = None;

    /// Whether the body may also be a form (`application/x-www-form-urlencoded`).
    const FORM: bool = false;

    /// The kind of problem for a well-formed body that breaks a rule. A malformed body, and every error of a query string, is
    /// an [`INVALID_REQUEST`].
    const BROKEN: &'static Kind = &INVALID_REQUEST;

    /// Reads the members of an object.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;

    /// Reads one value: a whole body, or a member when used as its rule. A type that is not an object implements this instead
    /// of `read`.
    fn read_value(field: &mut Field<'_>) -> Option<Self> {
        Self::read(&mut field.fields()?)
    }
}
