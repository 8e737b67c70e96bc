//! The size of a body that is sent in pieces.

use http_body::SizeHint;

/// The size of a body, with a rest of so many bytes that was read from it and not sent yet.
pub(crate) fn with_rest(mut hint: SizeHint, rest: usize) -> SizeHint {
    let rest = rest as u64;
    if let Some(upper) = hint.upper() {
        hint.set_upper(upper + rest);
    }
    hint.set_lower(hint.lower() + rest);
    hint
}
