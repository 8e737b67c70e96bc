//! What is kept of bodies and headers.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use super::*;

/// The body of a call as JSON shows it.
fn shown(body: &[u8], length: u64) -> Option<RecordedBody> {
    let journal = journal();
    let number = with_call(|call| {
        let none = CapturedHeaders::default();
        recorded(&journal, &NewCall { request: Message { headers: none.clone(), body, length }, ..call })
    });
    journal.get(number).unwrap().call(vec![]).request.body
}

#[test]
fn empty_body_is_absent() {
    assert_eq!(shown(b"", 0), None);
    let unread = RecordedBody { text: String::new(), base64: false, length: 5, truncated: true };
    assert_eq!(shown(b"", 5), Some(unread), "a body of which nothing was read");
}

#[test]
fn body_that_is_not_text_is_base64() {
    let binary = RecordedBody { text: "iVD/AA==".into(), base64: true, length: 4, truncated: false };
    assert_eq!(shown(b"\x89P\xff\0", 4), Some(binary));
    let text = shown("zoë\n".as_bytes(), 5).unwrap();
    assert_eq!((text.text.as_str(), text.base64), ("zoë\n", false));
}

#[test]
fn long_body_is_cut_between_characters() {
    let long = "x".to_owned() + &"ü".repeat(20_000);
    let body = shown(long.as_bytes(), long.len() as u64).unwrap();
    assert_eq!(body.text.len(), MOST_BODY_BYTES - 1);
    assert!(long.starts_with(&body.text));
    assert_eq!((body.base64, body.length, body.truncated), (false, 40_001, true));
    let exact = "x".repeat(MOST_BODY_BYTES);
    let body = shown(exact.as_bytes(), exact.len() as u64).unwrap();
    assert_eq!((body.text == exact, body.truncated), (true, false));
    // A body that ends within a character, without a cut, is not text.
    assert!(shown(b"z\xc3", 2).unwrap().base64);
}

#[test]
fn headers_are_kept_in_order_with_repeats_and_without_other_bytes() {
    let journal = journal();
    let mut sent = http::HeaderMap::new();
    sent.append("accept", "a".parse().unwrap());
    sent.append("accept", "b: c".parse().unwrap());
    sent.append("x-empty", "".parse().unwrap());
    sent.append("x-latin", http::HeaderValue::from_bytes(b"caf\xe9").unwrap());
    let sent = CapturedHeaders::new(&sent);
    let number = with_call(|call| {
        recorded(&journal, &NewCall { request: Message { headers: sent.clone(), ..call.request }, ..call })
    });
    let shown = journal.get(number).unwrap().call(vec![]).request.headers;
    let shown: Vec<_> = shown.iter().map(|header| (header.name.as_str(), header.value.as_str())).collect();
    assert_eq!(shown, [("accept", "a"), ("accept", "b: c"), ("x-empty", ""), ("x-latin", "caf\u{fffd}")]);
}

pub(super) fn compressed(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// The body of an answer with this compressed body, of which the observer had only the beginning.
fn shown_compressed(body: &[u8], length: u64) -> RecordedBody {
    shown_with_encoding("gzip", body, length)
}

fn shown_with_encoding(encoding: &str, body: &[u8], length: u64) -> RecordedBody {
    let journal = journal();
    let number = with_call(|call| {
        let headers = headers(&[("content-type", "application/json"), ("content-encoding", encoding)]);
        recorded(&journal, &NewCall { answer: Message { headers: headers.clone(), body, length }, ..call })
    });
    journal.get(number).unwrap().call(vec![]).answer.body.unwrap()
}

#[test]
fn compressed_body_is_shown_as_text() {
    let text = format!("[{}\"doggie\"]", "1,".repeat(2000));
    let bytes = compressed(text.as_bytes());
    let shown = shown_compressed(&bytes, bytes.len() as u64);
    assert_eq!(shown, RecordedBody { text, base64: false, length: 4010, truncated: false });
}

#[test]
fn long_or_cut_compressed_body_is_shown_up_to_the_limit() {
    // A small body can be long when it is decompressed.
    let bytes = compressed(&vec![b'1'; 1_000_000]);
    let shown = shown_compressed(&bytes, bytes.len() as u64);
    assert_eq!((shown.text == "1".repeat(MOST_BODY_BYTES), shown.truncated), (true, true));
    let text: String = (0..20_000).map(|number| format!("{number},")).collect();
    let bytes = compressed(text.as_bytes());
    assert!(bytes.len() > MOST_BODY_BYTES);
    let shown = shown_compressed(&bytes[..MOST_BODY_BYTES], bytes.len() as u64);
    assert!(text.starts_with(&shown.text) && shown.text.len() == MOST_BODY_BYTES && shown.truncated);
    let broken = RecordedBody { text: String::new(), base64: false, length: 8, truncated: true };
    assert_eq!(shown_compressed(b"not gzip", 8), broken);
}

#[test]
fn body_of_another_encoding_has_only_its_length() {
    for encoding in ["br", "deflate", "gzip, gzip", "gzip, br"] {
        let unread = RecordedBody { text: String::new(), base64: false, length: 5, truncated: true };
        assert_eq!(shown_with_encoding(encoding, b"plain", 5), unread, "{encoding}");
    }
    for encoding in ["", "identity", " Identity "] {
        assert_eq!(shown_with_encoding(encoding, b"plain", 5).text, "plain", "{encoding}");
    }
}
