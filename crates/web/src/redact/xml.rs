//! Secrets in XML.

use std::borrow::Cow;

use super::{REDACTED, is_secret_name};

/// XML without secrets: the content of each element with the name of a secret is replaced, and each attribute of such a name.
pub fn xml(text: &str) -> Cow<'_, str> {
    let (mut redacted, mut copied, mut at) = (String::new(), 0, 0);
    let mut replace = |from: usize, to: usize| {
        redacted.push_str(&text[copied..from]);
        redacted.push_str(REDACTED);
        copied = to;
    };
    while let Some(start) = text[at..].find('<').map(|found| at + found + 1) {
        let tag = &text[start..];
        if let Some(end) = skipped(tag) {
            at = start + end;
            continue;
        }
        let name = &tag
            [..tag.find(|letter: char| letter.is_whitespace() || "/>".contains(letter)).unwrap_or(tag.len())];
        let (mut end, mut has_secret_value) = (start + name.len(), false);
        while let Some((attribute, value)) = next_attribute(&text[end..]) {
            // A field of a page: `<input name="token" value="…">`.
            has_secret_value |=
                attribute == "name" && is_secret_name(&text[end + value.start..end + value.end]);
            if is_secret_name(attribute) || attribute == "value" && has_secret_value {
                replace(end + value.start, end + value.end);
            }
            end += value.end;
        }
        // Without its end, the tag is the last part of a captured body.
        let Some(close) = text[end..].find('>').map(|found| end + found) else { break };
        at = close + 1;
        if !is_secret_name(name) || text[..close].ends_with('/') {
            continue;
        }
        let content = &text[at..];
        let length = content.find(&format!("</{name}")).unwrap_or(content.len());
        if length > 0 {
            replace(at, at + length);
        }
        at += length;
    }
    if copied == 0 {
        return text.into();
    }
    redacted.push_str(&text[copied..]);
    redacted.into()
}

/// The length of a tag that is no start of an element, without its `<`: an end tag, a comment, a declaration.
fn skipped(tag: &str) -> Option<usize> {
    let end = match () {
        () if tag.starts_with("!--") => "-->",
        () if tag.starts_with("![CDATA[") => "]]>",
        () if tag.starts_with(['/', '?', '!']) => ">",
        () => return None,
    };
    Some(tag.find(end).map_or(tag.len(), |at| at + end.len()))
}

/// The next attribute in the rest of a tag: its name, and where its value is.
fn next_attribute(rest: &str) -> Option<(&str, std::ops::Range<usize>)> {
    let tag = &rest[..rest.find('>').unwrap_or(rest.len())];
    let (name, _) = tag.split_once('=')?;
    let after = name.len() + 1;
    let quote = after + rest[after..].find(['"', '\''])?;
    if !rest[after..quote].trim().is_empty() {
        return None;
    }
    let start = quote + 1;
    let length = rest[start..].find(&rest[quote..start]).unwrap_or(rest.len() - start);
    Some((name.trim().rsplit(char::is_whitespace).next().unwrap_or_default(), start..start + length))
}
