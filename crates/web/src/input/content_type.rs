//! What a body says that it is.

use http::{HeaderMap, header};

use super::Input;
use crate::{
    negotiate::{JSON, TEXT_XML, XML},
    problem::{Problem, UNSUPPORTED_MEDIA_TYPE},
    sentence::{any_of, shortened},
};

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// A `Content-Type` header.
#[derive(Clone, Copy)]
pub(super) struct ContentType<'a> {
    /// The type without its parameters.
    pub(super) essence: &'a str,
    charset: Option<&'a str>,
}

impl<'a> ContentType<'a> {
    pub(super) fn of(headers: &'a HeaderMap) -> Option<Self> {
        let given = headers.get(header::CONTENT_TYPE)?.to_str().unwrap_or("unreadable");
        let mut parts = given.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
        });
        Some(ContentType { essence, charset })
    }

    pub(super) fn is(self, essence: &str) -> bool {
        self.essence.eq_ignore_ascii_case(essence)
    }
}

/// How the text of a body is to be read.
#[derive(Clone, Copy)]
pub(super) enum Syntax {
    Json,
    Xml { root: &'static str },
    Form,
}

impl Syntax {
    /// What the headers say, if a `T` is taken in it.
    pub(super) fn of<T: Input>(headers: &HeaderMap) -> Result<Self, Problem> {
        let taken = media_types::<T>();
        let Some(given) = ContentType::of(headers) else {
            return Err(unsupported(&taken, None));
        };
        let syntax = match T::XML_ROOT {
            _ if given.is(JSON) => Syntax::Json,
            Some(root) if given.is(XML) || given.is(TEXT_XML) => Syntax::Xml { root },
            _ if T::FORM && given.is(FORM) => Syntax::Form,
            _ => return Err(unsupported(&taken, Some(given.essence))),
        };
        match given.charset {
            Some(other) if !is_utf8(other) => Err(Problem::new(
                &UNSUPPORTED_MEDIA_TYPE,
                format!("The body must be sent in UTF-8, not in {}.", shortened(other)),
            )),
            _ => Ok(syntax),
        }
    }
}

/// The media types in which a body is taken.
pub(crate) fn media_types<T: Input>() -> Vec<&'static str> {
    let mut taken = vec![JSON];
    taken.extend(T::XML_ROOT.map(|_| XML));
    taken.extend(T::FORM.then_some(FORM));
    taken
}

/// Whether text under this name is UTF-8; ASCII is a part of it.
pub(super) fn is_utf8(charset: &str) -> bool {
    ["utf-8", "us-ascii"].iter().any(|name| charset.eq_ignore_ascii_case(name))
}

/// The refusal of a body by its type.
pub(super) fn unsupported(taken: &[&str], given: Option<&str>) -> Problem {
    let taken = any_of(taken);
    let detail = match given {
        Some(other) => format!("The body must be sent as {taken}, not as {}.", shortened(other)),
        None => format!("The body must be sent as {taken}; the request has no Content-Type."),
    };
    Problem::new(&UNSUPPORTED_MEDIA_TYPE, detail)
}
