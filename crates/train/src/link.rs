//! Links in answers.

use web::input::rules::{Text, text};

/// A complete address.
pub(crate) fn uri() -> Text {
    text(..).format("uri")
}
