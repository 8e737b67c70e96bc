//! Secrets in JSON.

use std::borrow::Cow;

use super::{REDACTED, is_secret_name};

/// JSON without secrets: the value of each member with the name of a secret is replaced by a string, unless it is null. Names may
/// also be in single quotes or without quotes, as clients write them by mistake.
pub fn json(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut redacted, mut copied, mut at) = (String::new(), 0, 0);
    // The quotes of strings that end. One that does not end is an apostrophe, or the text ends in it.
    let mut quotes: &[u8] = b"\"'";
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let end = match byte {
            _ if quotes.contains(&byte) => string_end(bytes, at),
            _ if is_bare(byte) => Some(run_end(bytes, at, is_bare)),
            _ => Some(at + 1),
        };
        let Some(end) = end else {
            quotes = if byte == b'"' && quotes.len() > 1 {
                b"'"
            } else if quotes.len() > 1 {
                b"\""
            } else {
                b""
            };
            at += 1;
            continue;
        };
        at = end;
        let colon = run_end(bytes, at, |byte| byte.is_ascii_whitespace());
        if bytes.get(colon) != Some(&b':') || !is_secret_name(&name(&text[start..at])) {
            continue;
        }
        let value = run_end(bytes, colon + 1, |byte| byte.is_ascii_whitespace());
        at = value_end(bytes, value);
        if is_kept(&text[start..end], text[value..at].trim_end()) {
            continue;
        }
        redacted.push_str(&text[copied..value]);
        redacted.push('"');
        redacted.push_str(REDACTED);
        redacted.push('"');
        copied = at;
    }
    if copied == 0 {
        return text.into();
    }
    redacted.push_str(&text[copied..]);
    redacted.into()
}

/// Whether a value shows no secret. A code that is a number is a status.
fn is_kept(token: &str, value: &str) -> bool {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    value.is_empty() || value == "null" || is_number && name(token) == "code"
}

/// The name in a token.
fn name(token: &str) -> Cow<'_, str> {
    if !token.starts_with(['"', '\'']) {
        return token.into();
    }
    // A name with escapes, if it is well formed.
    match serde_json::from_str::<String>(token) {
        Ok(name) => name.into(),
        Err(_) => token.trim_matches(['"', '\'']).into(),
    }
}

/// A character of a name without quotes, also one that is not ASCII.
fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$' | 0x80..)
}

/// Where a run of such bytes ends.
fn run_end(bytes: &[u8], start: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().position(|byte| !is_in(*byte)).unwrap_or(rest.len())
}

/// Where the string that starts with a quote ends: after the other quote, if there is one.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == bytes[start] => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Where the value ends that starts here.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0_usize, start);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => at = string_end(bytes, at).unwrap_or(bytes.len()),
            b'{' | b'[' => (depth, at) = (depth + 1, at + 1),
            b'}' | b']' | b',' | b'\r' | b'\n' if depth == 0 => return at,
            b'}' | b']' => (depth, at) = (depth - 1, at + 1),
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}
