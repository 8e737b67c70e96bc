//! The content of a tag: attributes, and references in attributes and text.

use std::borrow::Cow;

use super::{is_blank, name::is_name};
use crate::{sentence::shortened, xml::is_allowed};

/// How many attributes an element may have; all pairs are compared to find repeats.
const MOST_ATTRIBUTES: usize = 64;

pub(super) const UNCLOSED: &str = "an & must start a reference like &amp;, which ends with a semicolon";

pub(super) struct Attribute<'a> {
    pub(super) name: &'a str,
    pub(super) value: Cow<'a, str>,
}

type Message = Cow<'static, str>;

/// Parses the attributes of a tag from the text after its name. The library's parser accepts attributes that are not well
/// formed.
pub(super) fn attributes(text: &str) -> Result<Vec<Attribute<'_>>, Message> {
    let mut found: Vec<Attribute<'_>> = Vec::new();
    let mut rest = text;
    loop {
        let next = rest.trim_start_matches(is_blank);
        if next.is_empty() {
            return Ok(found);
        }
        if next.len() == rest.len() {
            return Err("there must be a blank before an attribute".into());
        }
        let (name, after) = next.split_once('=').ok_or("an attribute must have a value")?;
        let name = name.trim_end_matches(is_blank);
        if !is_name(name) {
            return Err("an attribute must have a name".into());
        }
        let after = after.trim_start_matches(is_blank);
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
        let quoted = quote.and_then(|quote| after.get(1..)?.split_once(quote));
        let (value, after) = quoted.ok_or("an attribute's value must stand in quotes")?;
        if found.iter().any(|other| other.name == name) {
            return Err("an attribute is given more than once".into());
        }
        if found.len() == MOST_ATTRIBUTES {
            return Err("an element has too many attributes".into());
        }
        found.push(Attribute { name, value: resolved(value)? });
        rest = after;
    }
}

/// A value with its references resolved.
fn resolved(value: &str) -> Result<Cow<'_, str>, Message> {
    if value.contains('<') {
        return Err("< must be written as &lt; in an attribute".into());
    }
    if !value.contains('&') {
        return Ok(value.into());
    }
    let mut pieces = value.split('&');
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (reference, text) = piece.split_once(';').ok_or(UNCLOSED)?;
        whole.push(resolve(reference)?);
        whole.push_str(text);
    }
    Ok(whole.into())
}

/// The character of a reference, from the text between its `&` and its `;`.
pub(super) fn resolve(reference: &str) -> Result<char, Message> {
    let number = |digits: &str, radix| {
        let plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        plain.then(|| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32)).flatten()
    };
    let found = match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match (reference.strip_prefix("#x"), reference.strip_prefix('#')) {
            (Some(digits), _) => number(digits, 16),
            (_, Some(digits)) => number(digits, 10),
            _ => None,
        },
    };
    let found = found.filter(|c| is_allowed(*c));
    found.ok_or_else(|| format!("&{}; stands for no character", shortened(reference)).into())
}
