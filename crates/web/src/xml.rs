//! XML, written: what a type looks like as elements, and the writer that escapes.
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
    /// The name of its element, where it stands alone or in a list.
    const ROOT: &'static str;

    /// Writes what stands between the element's tags.
    fn content(&self, xml: &mut Xml);
}

/// A type of which several can stand in a list.
pub trait Listed: ToXml {
    /// The name of the element that holds them.
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

/// Nothing, where it is absent.
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

/// A document on its way. Names of elements are ours, and so `'static`; everything else is escaped.
#[derive(Debug, Default)]
pub struct Xml {
    out: Vec<u8>,
    unfit: bool,
}

/// What stands before the root element.
pub(crate) const DECLARATION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>"#;

impl Xml {
    /// A whole document of one element, or `None` if it has a character that XML has no way to write.
    pub fn document<T: ToXml + ?Sized>(root: &T) -> Option<Vec<u8>> {
        let mut xml = Xml::after(DECLARATION.into());
        xml.one(root);
        xml.finish()
    }

    /// Goes on after what has been written.
    pub(crate) fn after(out: Vec<u8>) -> Self {
        Xml { out, unfit: false }
    }

    /// What was written, or `None` if a character had to be replaced.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        if self.unfit { None } else { Some(self.out) }
    }

    /// What was written, U+FFFD standing for each character that XML cannot carry.
    pub(crate) fn finish_replaced(self) -> Vec<u8> {
        self.out
    }

    /// An element that holds text.
    pub fn text(&mut self, name: &'static str, text: &str) {
        self.element(name, |xml| xml.characters(text));
    }

    /// An element that holds a number, a truth value, an id, a date: whatever writes itself.
    pub fn value(&mut self, name: &'static str, value: impl Display) {
        self.element(name, |xml| {
            // Writing to memory fails only if `value` does; it has then written what it could.
            let _ = write!(Escaped(xml), "{value}");
        });
    }

    /// An element with content.
    pub fn element(&mut self, name: &'static str, content: impl FnOnce(&mut Xml)) {
        self.open(name);
        content(self);
        self.close(name);
    }

    /// An element that holds one element for each item.
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

    /// An element that holds an element with text for each item.
    pub fn texts<I: IntoIterator<Item: AsRef<str>>>(
        &mut self,
        list: &'static str,
        item: &'static str,
        items: I,
    ) {
        self.each(list, item, items, |xml, text| xml.characters(text.as_ref()));
    }

    /// An element that holds an element of a name for each item, if there is a list.
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

    /// A value under its own name.
    pub fn one<T: ToXml + ?Sized>(&mut self, value: &T) {
        self.element(T::ROOT, |xml| value.content(xml));
    }

    /// Text within the element that is open.
    pub fn characters(&mut self, text: &str) {
        let mut written = 0;
        for (at, c) in text.char_indices() {
            let instead = match c {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                // A reader takes a bare one for a line feed.
                '\r' => "&#13;",
                c if is_allowed(c) => continue,
                _ => {
                    self.unfit = true;
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

/// Lets formatting write text.
struct Escaped<'a>(&'a mut Xml);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.characters(text);
        Ok(())
    }
}

/// Whether XML 1.0 has a way to write this character, be it by its number.
pub(crate) fn is_allowed(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => c >= ' ',
    }
}
