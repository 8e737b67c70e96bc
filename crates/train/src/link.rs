//! Links in answers.

use uuid::Uuid;
use web::input::rules::{Text, text};

/// A complete address.
pub(crate) fn uri() -> Text {
    text(..).format("uri")
}

/// The address of a resource: `link(address, "/trips/", id)`. Lists have many of them, so it is made without the formatting machinery.
pub(crate) fn link(address: &str, collection: &str, id: Uuid) -> String {
    let mut buffer = Uuid::encode_buffer();
    let id: &str = id.hyphenated().encode_lower(&mut buffer);
    [address, collection, id].concat()
}
