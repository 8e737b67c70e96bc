mod bodies;
mod curl;
mod follow;
mod har;
mod limits;
mod list;
mod observed;
mod secrets;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::{Method, StatusCode, Version};
use web::observe::CapturedHeaders;

use super::*;

fn journal() -> Arc<Journal> {
    Arc::new(Journal::new(&JournalMemory::new(64 << 20)))
}

fn headers(pairs: &[(&'static str, &str)]) -> CapturedHeaders<'static> {
    let map = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
    CapturedHeaders::new(&map)
}

/// Calls `use_call` with a call, which it can change.
fn with_call<R>(use_call: impl FnOnce(NewCall<'_>) -> R) -> R {
    let request = headers(&[("host", "pets.example.com"), ("content-type", "application/json")]);
    let answer = headers(&[("content-type", "application/problem+json"), ("location", "/v3/pet/1")]);
    use_call(NewCall {
        service: "petstore",
        operation: Some("addPet"),
        request_id: "r-1",
        time: "2026-03-01T12:00:00.5Z".parse().unwrap(),
        duration: Duration::from_micros(3250),
        ended: Instant::now(),
        user: Some("demo"),
        client: Some("client-1"),
        address: "192.0.2.7".parse().unwrap(),
        version: Version::HTTP_11,
        method: &Method::POST,
        path: "/v3/pet",
        query: Some("dry=1"),
        request: Message { headers: request, body: br#"{"name": "doggie"}"#, length: 18 },
        read_to_end: true,
        status: Some(StatusCode::CONFLICT),
        answer: Message { headers: answer, body: b"{}", length: 2 },
        problem: Some("conflict"),
        fault: None,
        aborted: false,
        events: &[],
    })
}

/// Records an example, and returns its number.
fn record(journal: &Journal) -> u64 {
    with_call(|call| recorded(journal, &call))
}

/// Records a call, and returns its number.
fn recorded(journal: &Journal, call: &NewCall<'_>) -> u64 {
    journal.record(call);
    journal.ring().last()
}

fn numbers(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.number).collect()
}
