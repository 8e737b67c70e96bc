//! Reads XML: a document as a small tree, within limits.
//!
//! The library finds the markup; this module checks the other rules of well-formed documents. Nothing is fetched or expanded:
//! a `DOCTYPE` is rejected, and with it all entities except the five that XML defines.

mod build;
mod name;
mod scope;
mod tag;
#[cfg(test)]
mod tests;

pub(super) use build::parse;

/// An element. Its namespace and its attributes are ignored, except `xsi:nil`.
#[derive(Debug)]
pub(super) struct Element {
    /// The name without its prefix.
    pub(super) name: Box<str>,
    /// The text directly in this element, with references resolved.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
    pub(super) nil: bool,
}

impl Element {
    /// Whether it has text besides the blanks between its children.
    pub(super) fn has_text(&self) -> bool {
        !trim(&self.text).is_empty()
    }
}

/// Text without the blanks around it, by the definition of XML.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_blank)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}
