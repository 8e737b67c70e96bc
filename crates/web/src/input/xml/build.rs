//! Builds the tree of a document.

use std::borrow::Cow;

use quick_xml::{
    Error, Reader,
    errors::IllFormedError,
    events::{BytesStart, Event},
};

use super::{
    Element, is_blank,
    name::is_name,
    scope::Scope,
    tag::{UNCLOSED, attributes, resolve},
    trim,
};
use crate::{
    input::{content_type::is_utf8, large::Turn},
    sentence::shortened,
    xml::is_allowed,
};

const DEEPEST: usize = 32;
const MOST_ELEMENTS: usize = 50_000;

/// An error message, as a predicate of the document.
type Message = Cow<'static, str>;

/// Reads a document with this root element. An error is a predicate: "is not valid XML: …".
pub(in crate::input) fn parse(text: &str, root: &str) -> Result<Element, Message> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if trim(text).is_empty() {
        return Err("is empty; an XML document is required".into());
    }
    let mut turn = Turn::default();
    let is_odd = |(_, c): &(usize, char)| {
        turn.read(c.len_utf8());
        !is_allowed(*c)
    };
    if let Some((at, odd)) = text.char_indices().find(is_odd) {
        return Err(invalid(text, at, format!("the character U+{:04X} is not allowed", u32::from(odd))));
    }
    if text.starts_with('\u{feff}') {
        // The library would read it as a second byte order mark.
        return Err(invalid(text, 0, OUTSIDE));
    }
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_comments = true;
    // End tags are compared here, where long names are shortened in messages.
    config.check_end_names = false;
    let mut document = Document::default();
    loop {
        let start = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = reader.read_event();
        turn.read(usize::try_from(reader.buffer_position()).map_or(0, |end| end.saturating_sub(start)));
        let at = match &event {
            Ok(_) => start,
            Err(_) => usize::try_from(reader.error_position()).unwrap_or(usize::MAX),
        };
        let done = event.map_err(|error| syntax(&error)).and_then(|event| document.take(event, start));
        match done {
            Ok(false) => {}
            Ok(true) => break,
            Err(XmlError::Syntax(what)) => return Err(invalid(text, at, what)),
            Err(XmlError::Rejected(why)) => return Err(why),
        }
    }
    match document.root {
        Some(found) if *found.name == *root => Ok(found),
        Some(found) => {
            let found = shortened(&found.name);
            Err(format!("must be an XML document with the root element {root}, not {found}").into())
        }
        None => Err(invalid(text, text.len(), "there is no element")),
    }
}

/// Why a document is rejected.
enum XmlError {
    /// It is not well formed; the caller adds the position.
    Syntax(Message),
    /// It exceeds a limit or uses a forbidden feature.
    Rejected(Message),
}

impl<T: Into<Message>> From<T> for XmlError {
    fn from(what: T) -> Self {
        XmlError::Syntax(what.into())
    }
}

fn rejected(why: impl Into<Message>) -> XmlError {
    XmlError::Rejected(why.into())
}

fn invalid(text: &str, at: usize, what: impl Into<Message>) -> Message {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    format!("is not valid XML: {} at line {line} column {column}", what.into()).into()
}

/// The library's error, as a message for the client.
fn syntax(error: &Error) -> XmlError {
    match error {
        Error::Syntax(error) => error.to_string().replace('`', "").into(),
        Error::IllFormed(IllFormedError::UnmatchedEndTag(_)) => {
            "there is no element that this tag could end".into()
        }
        Error::IllFormed(IllFormedError::MissingDoctypeName) => rejected(DOCTYPE),
        Error::IllFormed(IllFormedError::DoubleHyphenInComment) => "a comment must not contain --".into(),
        Error::IllFormed(IllFormedError::UnclosedReference) => UNCLOSED.into(),
        _ => "it cannot be read".into(),
    }
}

const DOCTYPE: &str = "must not have a DOCTYPE";

/// The part of a document that was read so far.
#[derive(Default)]
struct Document {
    /// The open elements, each with its name including the prefix.
    open: Vec<(Box<str>, Element)>,
    root: Option<Element>,
    scope: Scope,
    elements: usize,
}

impl Document {
    /// Reads the next event of the document; returns whether it was the last.
    fn take(&mut self, event: Event<'_>, start: usize) -> Result<bool, XmlError> {
        match event {
            Event::Start(tag) => {
                let opened = self.opened(&tag)?;
                self.open.push(opened);
            }
            Event::Empty(tag) => {
                let (_, element) = self.opened(&tag)?;
                self.closed(element);
            }
            Event::End(tag) => {
                let found = tag.name();
                let Some((name, element)) = self.open.pop() else {
                    return Err("there is no element that this tag could end".into());
                };
                if *name != *found.as_ref() {
                    let (name, found) = (shortened(&name), shortened(found.as_ref()));
                    return Err(format!("</{found}> cannot end <{name}>").into());
                }
                self.closed(element);
            }
            Event::Text(text) if text.contains("]]>") => {
                return Err("]]> must be written as ]]&gt; in text".into());
            }
            Event::Text(text) => self.text(&text.xml10_content())?,
            Event::CData(text) => {
                if self.open.is_empty() {
                    return Err(OUTSIDE.into());
                }
                self.text(&text.xml10_content())?;
            }
            Event::GeneralRef(reference) => {
                let c = resolve(&reference)?;
                if self.open.is_empty() {
                    return Err(OUTSIDE.into());
                }
                self.text(c.encode_utf8(&mut [0; 4]))?;
            }
            Event::Decl(declaration) if start == 0 => declared(&declaration)?,
            Event::Decl(_) => return Err("an XML declaration must come first".into()),
            Event::PI(instruction) => {
                let target = instruction.target();
                if !is_name(target) || target.eq_ignore_ascii_case("xml") {
                    return Err("a processing instruction must start with a name".into());
                }
            }
            Event::Comment(_) => {}
            Event::DocType(_) => return Err(rejected(DOCTYPE)),
            Event::Eof => {
                return match self.open.last() {
                    Some((name, _)) => Err(format!("it ends before </{}>", shortened(name)).into()),
                    None => Ok(true),
                };
            }
        }
        Ok(false)
    }

    fn opened(&mut self, tag: &BytesStart<'_>) -> Result<(Box<str>, Element), XmlError> {
        if self.open.is_empty() && self.root.is_some() {
            return Err("there must be one root element only".into());
        }
        if self.open.len() == DEEPEST {
            return Err(rejected(format!("must not be nested deeper than {DEEPEST} elements")));
        }
        self.elements += 1;
        if self.elements > MOST_ELEMENTS {
            return Err(rejected(format!("must have at most {MOST_ELEMENTS} elements")));
        }
        let name = tag.name();
        if !is_name(name.as_ref()) {
            return Err("a tag must start with a name".into());
        }
        let attributes = attributes(tag.attributes_raw())?;
        let depth = self.open.len();
        self.scope.enter(depth, &attributes)?;
        let local = self.scope.local_name(name.as_ref())?;
        let nil = self.scope.is_nil(&attributes)?;
        let element = Element { name: local.into(), text: String::new(), children: Vec::new(), nil };
        Ok((name.as_ref().into(), element))
    }

    fn closed(&mut self, element: Element) {
        match self.open.last_mut() {
            Some((_, parent)) => parent.children.push(element),
            None => self.root = Some(element),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), XmlError> {
        match self.open.last_mut() {
            Some((_, element)) => element.text.push_str(text),
            None if text.chars().all(is_blank) => {}
            None => return Err(OUTSIDE.into()),
        }
        Ok(())
    }
}

const OUTSIDE: &str = "there must be no text outside of the root element";

/// Checks the declaration: `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`, the last two optional.
fn declared(declaration: &str) -> Result<(), XmlError> {
    let attributes = attributes(declaration.strip_prefix("xml").unwrap_or(declaration))?;
    let mut rest = attributes.as_slice();
    let mut next = |name| match rest.split_first() {
        Some((first, others)) if first.name == name => {
            rest = others;
            Some(first.value.as_ref())
        }
        _ => None,
    };
    let (version, encoding, standalone) = (next("version"), next("encoding"), next("standalone"));
    match version {
        Some("1.0") => {}
        Some(other) => return Err(rejected(format!("must be XML 1.0, not {}", shortened(other)))),
        None => return Err("an XML declaration must start with its version".into()),
    }
    if let Some(other) = encoding.filter(|encoding| !is_utf8(encoding)) {
        return Err(rejected(format!("must be sent in UTF-8, not in {}", shortened(other))));
    }
    if !matches!(standalone, None | Some("yes" | "no")) || !rest.is_empty() {
        return Err("the XML declaration has something that does not belong there".into());
    }
    Ok(())
}
