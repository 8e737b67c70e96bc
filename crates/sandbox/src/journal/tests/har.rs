//! Archives, held against the HAR 1.2 specification.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{super::har, bodies::compressed, *};

/// The members of an object of the specification: their name, whether they are required, and their type.
type Members = &'static [(&'static str, bool, Type)];

#[derive(Clone, Copy)]
enum Type {
    Text,
    /// Whole, or a fraction; -1 where it is not known.
    Number,
    Time,
    Url,
    Object(Members),
    List(Members),
}

use Type::{List, Number, Object, Text, Time, Url};

const PAIR: Members = &[("name", true, Text), ("value", true, Text), ("comment", false, Text)];

const COOKIE: Members = &[("name", true, Text), ("value", true, Text)];

const ARCHIVE: Members = &[("log", true, Object(LOG))];

const LOG: Members = &[
    ("version", true, Text),
    ("creator", true, Object(&[("name", true, Text), ("version", true, Text), ("comment", false, Text)])),
    ("entries", true, List(ENTRY)),
    ("comment", false, Text),
];

const ENTRY: Members = &[
    ("startedDateTime", true, Time),
    ("time", true, Number),
    ("request", true, Object(REQUEST)),
    ("response", true, Object(RESPONSE)),
    ("cache", true, Object(&[("comment", false, Text)])),
    ("timings", true, Object(TIMINGS)),
    ("serverIPAddress", false, Text),
    ("connection", false, Text),
    ("comment", false, Text),
];

const REQUEST: Members = &[
    ("method", true, Text),
    ("url", true, Url),
    ("httpVersion", true, Text),
    ("cookies", true, List(COOKIE)),
    ("headers", true, List(PAIR)),
    ("queryString", true, List(PAIR)),
    ("postData", false, Object(&[("mimeType", true, Text), ("text", true, Text), ("comment", false, Text)])),
    ("headersSize", true, Number),
    ("bodySize", true, Number),
    ("comment", false, Text),
];

const RESPONSE: Members = &[
    ("status", true, Number),
    ("statusText", true, Text),
    ("httpVersion", true, Text),
    ("cookies", true, List(COOKIE)),
    ("headers", true, List(PAIR)),
    ("content", true, Object(CONTENT)),
    ("redirectURL", true, Text),
    ("headersSize", true, Number),
    ("bodySize", true, Number),
    ("comment", false, Text),
];

const CONTENT: Members = &[
    ("size", true, Number),
    ("compression", false, Number),
    ("mimeType", true, Text),
    ("text", false, Text),
    ("encoding", false, Text),
    ("comment", false, Text),
];

const TIMINGS: Members = &[
    ("blocked", false, Number),
    ("dns", false, Number),
    ("connect", false, Number),
    ("send", true, Number),
    ("wait", true, Number),
    ("receive", true, Number),
    ("ssl", false, Number),
    ("comment", false, Text),
];

/// Adds what of an object the specification does not allow.
fn check(object: &Value, members: Members, at: &str, wrong: &mut Vec<String>) {
    let Some(found) = object.as_object() else { return wrong.push(format!("{at} is no object")) };
    for name in found.keys().filter(|name| members.iter().all(|(known, ..)| known != name)) {
        wrong.push(format!("{at}.{name} is unknown"));
    }
    for (name, required, expected) in members {
        let at = format!("{at}.{name}");
        let Some(value) = found.get(*name) else {
            if *required {
                wrong.push(format!("{at} is missing"));
            }
            continue;
        };
        let text = value.as_str();
        match expected {
            Object(members) => check(value, members, &at, wrong),
            List(members) => match value.as_array() {
                Some(items) => items.iter().for_each(|item| check(item, members, &at, wrong)),
                None => wrong.push(format!("{at} is no list")),
            },
            Text if text.is_some() => {}
            Number if value.as_f64().is_some_and(|number| number >= 0.0 || number == -1.0) => {}
            Time if text.is_some_and(|text| text.parse::<Timestamp>().is_ok()) => {}
            Url if text.is_some_and(|text| text.starts_with("http://") || text.starts_with("https://")) => {}
            _ => wrong.push(format!("{at} is {value}")),
        }
    }
}

fn base_url(service: &str) -> String {
    format!("https://{service}.example.com/sandbox/ada")
}

#[test]
fn archive_has_the_structure_of_the_specification() {
    let journal = journal();
    let (none, binary) = (CapturedHeaders::default(), [0xff_u8; 20]);
    record(&journal);
    with_call(|call| {
        let empty = Message { headers: none.clone(), body: b"", length: 0 };
        let binary = Message { headers: none.clone(), body: &binary, length: 20 };
        let version = Version::HTTP_2;
        journal.record(&NewCall {
            request: empty.clone(),
            answer: empty,
            status: None,
            query: None,
            problem: None,
            ..call
        });
        journal.record(&NewCall {
            request: binary.clone(),
            answer: binary,
            query: Some("%ff&&="),
            version,
            ..call
        });
    });
    let entries = journal.list(&Filter::default());
    let archive = serde_json::to_value(har(&entries, base_url)).unwrap();
    let mut wrong = Vec::new();
    check(&archive, ARCHIVE, "", &mut wrong);
    assert_eq!(wrong, [""; 0]);
    assert_eq!(archive["log"]["version"], "1.2");
    for entry in archive["log"]["entries"].as_array().unwrap() {
        let part = |name: &str| entry["timings"][name].as_f64().unwrap();
        assert_eq!(entry["time"].as_f64(), Some(part("send") + part("wait") + part("receive")));
    }
}

#[test]
fn archive_has_the_calls_in_order_with_their_contents() {
    let journal = journal();
    record(&journal);
    let binary = vec![0xff_u8; 20_000];
    with_call(|call| {
        let none = CapturedHeaders::default();
        let cut = Message { headers: none.clone(), body: &binary, length: 20_000 };
        journal.record(&NewCall { status: None, request: cut.clone(), answer: cut, ..call });
    });
    let entries = journal.list(&Filter::default());
    let archive = serde_json::to_value(har(&entries, base_url)).unwrap();
    let entries = &archive["log"]["entries"];
    assert_eq!(
        entries[0],
        json!({
            "startedDateTime": "2026-03-01T12:00:00.5Z",
            "time": 3.25,
            "request": {
                "method": "POST",
                "url": "https://petstore.example.com/sandbox/ada/v3/pet?dry=1",
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": [{"name": "host", "value": "pets.example.com"},
                    {"name": "content-type", "value": "application/json"}],
                "queryString": [{"name": "dry", "value": "1"}],
                "postData": {"mimeType": "application/json", "text": "{\"name\": \"doggie\"}"},
                "headersSize": -1,
                "bodySize": 18,
            },
            "response": {
                "status": 409,
                "statusText": "Conflict",
                "httpVersion": "HTTP/1.1",
                "cookies": [],
                "headers": [{"name": "content-type", "value": "application/problem+json"},
                    {"name": "location", "value": "/v3/pet/1"}],
                "content": {"size": 2, "mimeType": "application/problem+json", "text": "{}"},
                "redirectURL": "/v3/pet/1",
                "headersSize": -1,
                "bodySize": 2,
            },
            "cache": {},
            "timings": {"send": 0.0, "wait": 3.25, "receive": 0.0},
            "comment": "call 1",
        })
    );
    let second = &entries[1];
    assert_eq!(second["comment"], "call 2");
    assert_eq!(second["request"]["postData"]["comment"], "base64; the first 16384 of 20000 bytes");
    let content = &second["response"]["content"];
    assert_eq!((&content["encoding"], &content["size"]), (&json!("base64"), &json!(20_000)));
    assert_eq!(content["comment"], "the first 16384 of 20000 bytes");
    assert_eq!((&second["response"]["status"], &second["response"]["statusText"]), (&json!(0), &json!("")));
}

/// Records calls whose body and answer are these compressed bytes, and returns the archive.
fn archive_of_compressed(calls: usize, plain: &[u8]) -> Value {
    let journal = journal();
    let body = compressed(plain);
    let headers = headers(&[("content-type", "text/plain"), ("content-encoding", "gzip")]);
    let message = Message { headers, body: &body, length: body.len() as u64 };
    for _ in 0..calls {
        with_call(|call| {
            journal.record(&NewCall { request: message.clone(), answer: message.clone(), ..call });
        });
    }
    let entries = journal.list(&Filter::default());
    serde_json::to_value(har(&entries, base_url)).unwrap()
}

#[test]
fn archive_leaves_out_the_bodies_after_its_limit() {
    let archive = archive_of_compressed(1000, &[b'1'; MOST_BODY_BYTES]);
    let entries = archive["log"]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 1000);
    let has_bodies = |entry: &&Value| entry["response"]["content"]["text"].is_string();
    // Two bodies of 16 KiB each.
    assert_eq!(entries.iter().filter(has_bodies).count(), 512);
    assert!(entries[..512].iter().all(|entry| has_bodies(&entry)));
    let last = &entries[999];
    let comment = "left out, as the bodies of the archive have more than 16 MiB";
    assert_eq!(
        last["request"]["postData"],
        json!({"mimeType": "text/plain", "text": "", "comment": comment})
    );
    assert_eq!(last["response"]["content"]["comment"], comment);
    assert_eq!(last["response"]["headers"][0], json!({"name": "content-type", "value": "text/plain"}));
    let mut wrong = Vec::new();
    check(&archive, ARCHIVE, "", &mut wrong);
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn limit_of_an_archive_counts_escaped_characters() {
    // In JSON a NUL has six characters.
    let archive = archive_of_compressed(1000, &[0; MOST_BODY_BYTES]);
    let size = archive.to_string().len();
    assert!((16 << 20..18 << 20).contains(&size), "{size}");
}
