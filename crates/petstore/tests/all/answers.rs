//! Assertions on answers, and sample pets.

use serde_json::{Value, json};
use testkit::Answer;

/// A valid pet.
pub(crate) fn pet(name: &str) -> Value {
    json!({"name": name, "photoUrls": []})
}

/// A pet with a member more.
pub(crate) fn pet_with(name: &str, member: &str, value: impl Into<Value>) -> Value {
    let mut pet = pet(name);
    pet[member] = value.into();
    pet
}

/// A member of an answer that is text.
#[track_caller]
pub(crate) fn text<'a>(body: &'a Value, member: &str) -> &'a str {
    body[member].as_str().unwrap_or_else(|| panic!("no text {member} in {body}"))
}

/// A member of an answer that is a whole number.
#[track_caller]
pub(crate) fn number(body: &Value, member: &str) -> i64 {
    body[member].as_i64().unwrap_or_else(|| panic!("no number {member} in {body}"))
}

/// The ids of a list, in its order.
#[track_caller]
pub(crate) fn ids(answer: &Answer) -> Vec<i64> {
    let list = answer.has_status(200).json();
    let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}"));
    items.iter().map(|item| number(item, "id")).collect()
}

/// Asserts a problem of this status and kind with exactly these validation errors.
#[track_caller]
pub(crate) fn is_refused(answer: &Answer, status: u16, kind: &str, errors: &[(&str, &str)]) {
    answer.is_problem(status, kind);
    let problem = answer.json();
    let found = problem["errors"].as_array().unwrap_or_else(|| panic!("no errors in {problem}"));
    let found: Vec<_> = found
        .iter()
        .map(|error| (error["pointer"].as_str().unwrap_or("?"), error["detail"].as_str().unwrap_or("?")))
        .collect();
    assert_eq!(found, errors, "{problem}");
}

/// Asserts a 422 with exactly these validation errors.
#[track_caller]
pub(crate) fn is_broken(answer: &Answer, errors: &[(&str, &str)]) {
    is_refused(answer, 422, "unprocessable", errors);
}

/// Asserts a success with exactly this XML after its declaration.
#[track_caller]
pub(crate) fn is_xml(answer: &Answer, xml: &str) {
    let whole = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{xml}");
    assert_eq!((answer.status, answer.text()), (200, whole));
    assert_eq!(answer.header("content-type"), "application/xml");
    assert_eq!(answer.header("vary").split(", ").next(), Some("accept"), "{:?}", answer.headers);
}

/// Asserts a success without a body.
#[track_caller]
pub(crate) fn is_empty(answer: &Answer) {
    assert_eq!((answer.status, answer.text().as_str()), (200, ""));
    assert_eq!(answer.header("content-type"), "");
}

/// An answer as it came over the wire, for requests that are written by hand.
#[track_caller]
pub(crate) fn parse(answer: &str) -> Answer {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("no header: {line}"));
        (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap())
    });
    Answer { status: status.unwrap(), headers: headers.collect(), body: body.as_bytes().to_vec() }
}
