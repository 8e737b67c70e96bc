//! The `Content-Type` of a body.

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

/// The syntax of a body.
#[derive(Clone, Copy)]
pub(super) enum Syntax {
    Json,
    Xml { root: &'static str },
    Form,
}

impl Syntax {
    /// The syntax by the headers, if a `T` is accepted in it.
    pub(super) fn of<T: Input>(headers: &HeaderMap) -> Result<Self, Problem> {
        let accepted = media_types::<T>();
        let Some(given) = ContentType::of(headers) else {
            return Err(unsupported(&accepted, None));
        };
        let syntax = match T::XML_ROOT {
            _ if given.is(JSON) => Syntax::Json,
            Some(root) if given.is(XML) || given.is(TEXT_XML) => Syntax::Xml { root },
            _ if T::FORM && given.is(FORM) => Syntax::Form,
            _ => return Err(unsupported(&accepted, Some(given.essence))),
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

/// The media types in which a body is accepted.
pub(crate) fn media_types<T: Input>() -> Vec<&'static str> {
    let mut accepted = vec![JSON];
    accepted.extend(T::XML_ROOT.map(|_| XML));
    accepted.extend(T::FORM.then_some(FORM));
    accepted
}

/// Whether this charset is UTF-8 or its subset ASCII.
pub(super) fn is_utf8(charset: &str) -> bool {
    ["utf-8", "us-ascii"].iter().any(|name| charset.eq_ignore_ascii_case(name))
}

/// The problem of a body with an unsupported media type.
pub(super) fn unsupported(accepted: &[&str], given: Option<&str>) -> Problem {
    let accepted = any_of(accepted);
    let detail = match given {
        Some(other) => format!("The body must be sent as {accepted}, not as {}.", shortened(other)),
        None => format!("The body must be sent as {accepted}; the request has no Content-Type."),
    };
    Problem::new(&UNSUPPORTED_MEDIA_TYPE, detail)
}
