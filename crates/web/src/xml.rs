//! Writes XML: how a type is written as elements, and the writer that escapes text.
//!
//! ```
//! use web::xml::{ToXml, Xml};
//!
//! struct Pet { id: i64, name: String, photos: Vec<String> }
//!
//! impl ToXml for Pet {
//!     const ROOT: &'static str = "pet";
//!
//!     fn content(&self, xml: &mut Xml) {
//!         xml.value("id", self.id);
//!         xml.text("name", &self.name);
//!         xml.texts("photos", "photo", &self.photos);
//!     }
//! }
//! ```

use std::fmt::{self, Display, Write};

use jiff::{Timestamp, civil::Date};
use rust_decimal::Decimal;
use uuid::Uuid;

/// A type that can be written as an XML element.
pub trait ToXml {
    /// The name of its element, as a document or as an item of a list.
    const ROOT: &'static str;

    /// Writes the content between the element's tags.
    fn content(&self, xml: &mut Xml);
}

/// A type that can be an item of a list.
pub trait Listed: ToXml {
    /// The name of the element that holds the items.
    const LIST: &'static str;
}

impl<T: ToXml + ?Sized> ToXml for &T {
    const ROOT: &'static str = T::ROOT;

    fn content(&self, xml: &mut Xml) {
        (**self).content(xml);
    }
}

/// A type that can be written as an element of any name: a member of a resource.
pub trait Element {
    fn write(&self, name: &'static str, xml: &mut Xml);
}

macro_rules! element {
    ($($type:ty),* $(,)?) => {$(
        impl Element for $type {
            fn write(&self, name: &'static str, xml: &mut Xml) {
                xml.value(name, self);
            }
        }
    )*};
}

element! { i64, i32, u16, f64, bool, Decimal, Uuid, Date, Timestamp }

impl Element for str {
    fn write(&self, name: &'static str, xml: &mut Xml) {
        xml.text(name, self);
    }
}

impl Element for String {
    fn write(&self, name: &'static str, xml: &mut Xml) {
        xml.text(name, self);
    }
}

/// `None` is not written.
impl<T: Element> Element for Option<T> {
    fn write(&self, name: &'static str, xml: &mut Xml) {
        if let Some(value) = self {
            value.write(name, xml);
        }
    }
}

impl<T: Element + ?Sized> Element for &T {
    fn write(&self, name: &'static str, xml: &mut Xml) {
        (**self).write(name, xml);
    }
}

/// A document that is being written. The names of elements come from the code and are `'static`; all other text is escaped.
#[derive(Debug, Default)]
pub struct Xml {
    out: Vec<u8>,
    /// Whether a character that XML cannot carry was replaced.
    replaced: bool,
}

/// The line before the root element.
pub(crate) const DECLARATION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>"#;

impl Xml {
    /// A complete document, or `None` if its text has a character that XML cannot carry.
    pub fn document<T: ToXml + ?Sized>(root: &T) -> Option<Vec<u8>> {
        let mut xml = Xml::after(DECLARATION.into());
        xml.one(root);
        xml.finish()
    }

    /// A writer that appends to `out`.
    pub(crate) fn after(out: Vec<u8>) -> Self {
        Xml { out, replaced: false }
    }

    /// The written bytes, or `None` if a character was replaced.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        if self.replaced { None } else { Some(self.out) }
    }

    /// The written bytes, with U+FFFD in place of each character that XML cannot carry.
    pub(crate) fn finish_replaced(self) -> Vec<u8> {
        self.out
    }

    /// Writes an element with text.
    pub fn text(&mut self, name: &'static str, text: &str) {
        self.element(name, |xml| xml.characters(text));
    }

    /// Writes an element with a value that implements [`Display`]: a number, a boolean, an id, a date.
    pub fn value(&mut self, name: &'static str, value: impl Display) {
        self.element(name, |xml| {
            // Writing to memory fails only if the `Display` of `value` fails.
            let _ = write!(Escaped(xml), "{value}");
        });
    }

    /// Writes an element with the content that the closure writes.
    pub fn element(&mut self, name: &'static str, content: impl FnOnce(&mut Xml)) {
        self.open(name);
        content(self);
        self.close(name);
    }

    /// Writes a list: an element with one element for each item.
    pub fn each<I: IntoIterator>(
        &mut self,
        list: &'static str,
        item: &'static str,
        items: I,
        mut content: impl FnMut(&mut Xml, I::Item),
    ) {
        self.element(list, |xml| {
            for one in items {
                xml.element(item, |xml| content(xml, one));
            }
        });
    }

    /// Writes a list of texts: an element with one element for each text.
    pub fn texts<I: IntoIterator<Item: AsRef<str>>>(
        &mut self,
        list: &'static str,
        item: &'static str,
        items: I,
    ) {
        self.each(list, item, items, |xml, text| xml.characters(text.as_ref()));
    }

    /// Writes a list, if there is one: an element with one element named `item` for each item.
    pub fn list<'a, T: Element + 'a>(
        &mut self,
        name: &'static str,
        item: &'static str,
        items: Option<impl IntoIterator<Item = &'a T>>,
    ) {
        if let Some(items) = items {
            self.element(name, |xml| items.into_iter().for_each(|one| one.write(item, xml)));
        }
    }

    /// Writes a value as the element of its type.
    pub fn one<T: ToXml + ?Sized>(&mut self, value: &T) {
        self.element(T::ROOT, |xml| value.content(xml));
    }

    /// Writes text into the open element.
    pub fn characters(&mut self, text: &str) {
        let mut written = 0;
        for (at, c) in text.char_indices() {
            let instead = match c {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                // An XML parser reads a bare carriage return as a line feed.
                '\r' => "&#13;",
                c if is_allowed(c) => continue,
                _ => {
                    self.replaced = true;
                    "\u{fffd}"
                }
            };
            self.raw(&text[written..at]);
            self.raw(instead);
            written = at + c.len_utf8();
        }
        self.raw(&text[written..]);
    }

    pub(crate) fn open(&mut self, name: &str) {
        self.raw("<");
        self.raw(name);
        self.raw(">");
    }

    pub(crate) fn close(&mut self, name: &str) {
        self.raw("</");
        self.raw(name);
        self.raw(">");
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}

/// Writes formatted values as escaped text.
struct Escaped<'a>(&'a mut Xml);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.characters(text);
        Ok(())
    }
}

/// Whether XML 1.0 can carry this character, as itself or as a character reference.
pub(crate) fn is_allowed(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => c >= ' ',
    }
}
