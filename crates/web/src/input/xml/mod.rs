//! XML, read: a document as a small tree, within limits.
//!
//! The library finds the markup; that the document is well formed beyond that is looked at here. Nothing is ever
//! fetched or expanded: a `DOCTYPE` is refused, and with it every entity but the five that XML itself has.

mod build;
mod name;
mod scope;
mod tag;
#[cfg(test)]
mod tests;

pub(super) use build::parse;

/// An element. Its namespace and its attributes mean nothing to us, but for `xsi:nil`.
#[derive(Debug)]
pub(super) struct Element {
    /// The name without its prefix.
    pub(super) name: Box<str>,
    /// The text right within it, put together, as it was meant.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
    pub(super) nil: bool,
}

impl Element {
    /// Whether it has text of its own, beyond what sets its children apart.
    pub(super) fn has_text(&self) -> bool {
        !trim(&self.text).is_empty()
    }
}

/// Text without the blanks around it, as XML has them.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}
