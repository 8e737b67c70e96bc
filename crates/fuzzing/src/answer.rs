//! What must hold for every answer.

use bytes::Bytes;
use http::StatusCode;
use quick_xml::{Reader, events::Event};
use serde_json::Value;

/// The answer to an input.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub content_type: String,
    pub body: Bytes,
}

impl Answer {
    /// What is wrong with it, whichever the request was.
    pub(crate) fn violation(&self) -> Option<String> {
        if self.status.is_server_error() {
            return Some("a server error".to_owned());
        }
        let essence = self.content_type.split(';').next().unwrap_or_default();
        let is_of =
            |kind: &str| essence.ends_with(&format!("/{kind}")) || essence.ends_with(&format!("+{kind}"));
        if is_of("json") && !self.body.is_empty() {
            let error = serde_json::from_slice::<Value>(&self.body).err()?;
            return Some(format!("no valid JSON: {error}"));
        }
        if is_of("xml") && !self.body.is_empty() {
            return xml_violation(&self.body);
        }
        None
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Why bytes are no well-formed XML.
fn xml_violation(body: &[u8]) -> Option<String> {
    let Ok(text) = std::str::from_utf8(body) else { return Some("no UTF-8".to_owned()) };
    // The reader accepts these.
    if let Some(character) = text.chars().find(|character| !is_xml(*character)) {
        return Some(format!("no valid XML: it has the character {character:?}"));
    }
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => return None,
            Ok(_) => {}
            Err(error) => return Some(format!("no valid XML: {error}")),
        }
    }
}

/// Whether XML 1.0 can have a character.
fn is_xml(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(status: u16, content_type: &str, body: &'static str) -> Option<String> {
        let status = StatusCode::from_u16(status).unwrap();
        Answer { status, content_type: content_type.to_owned(), body: body.into() }.violation()
    }

    #[test]
    fn server_errors_and_malformed_documents_are_violations() {
        assert_eq!(violation(200, "application/json", "{}"), None);
        assert_eq!(violation(404, "application/problem+xml; charset=utf-8", "<a>\u{10000}</a>"), None);
        assert_eq!(violation(204, "application/json", ""), None);
        assert_eq!(violation(200, "text/html", "<p>&"), None);
        for (status, content_type, body) in [
            (500, "text/plain", ""),
            (503, "application/problem+json", "{}"),
            (400, "application/problem+json", "{"),
            (200, "application/json", "\u{1}"),
            (200, "application/xml", "<a>\u{1}</a>"),
            (200, "text/xml", "<a></b>"),
            (200, "application/xml", "<a>\u{fffe}</a>"),
        ] {
            assert!(violation(status, content_type, body).is_some(), "{status} {content_type} {body}");
        }
    }
}
