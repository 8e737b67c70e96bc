//! Lists and their filters.

use axum::{extract::FromRequestParts, http::Request};
use web::{Problem, Query};

use super::*;

async fn query(query: &str) -> Result<JournalQuery, Problem> {
    let (mut parts, ()) = Request::get(format!("/?{query}")).body(()).unwrap().into_parts();
    Query::from_request_parts(&mut parts, &()).await.map(|Query(query)| query)
}

fn filled() -> Arc<Journal> {
    let journal = journal();
    with_call(|call| {
        journal.record(&call);
        journal.record(&NewCall {
            service: "train",
            operation: None,
            method: &Method::GET,
            path: "/trips",
            user: None,
            client: None,
            status: Some(StatusCode::OK),
            ..call.clone()
        });
        journal.record(&NewCall {
            path: "/v3/pet/7/uploadImage",
            user: Some("ada"),
            address: "2001:db8::1".parse().unwrap(),
            status: Some(StatusCode::NOT_FOUND),
            ..call.clone()
        });
        journal.record(&NewCall { status: None, ..call });
    });
    journal
}

#[tokio::test]
async fn filters_pass_the_calls_that_they_name() {
    let journal = filled();
    for (sent, expected) in [
        ("", &[4, 3, 2, 1][..]),
        ("service=train", &[2]),
        ("service=museum", &[]),
        ("method=GET", &[2]),
        ("method=POST", &[4, 3, 1]),
        ("status=404", &[3]),
        ("status=4xx", &[3, 1]),
        ("status=2xx", &[2]),
        ("status=5xx", &[]),
        ("path=/v3/pet/**", &[4, 3, 1]),
        ("path=/v3/*", &[4, 1]),
        ("operation=addPet", &[4, 3, 1]),
        ("caller=ada", &[3]),
        ("caller=client-1", &[4, 3, 1]),
        ("caller=2001:DB8:0::1", &[3]),
        ("since=2", &[4, 3]),
        ("since=9", &[]),
        ("limit=2", &[4, 3]),
        ("since=1&limit=1&method=POST&caller=demo", &[4]),
    ] {
        let filter = Filter::from(query(sent).await.unwrap());
        assert_eq!(numbers(&journal.list(&filter)), expected, "{sent}");
    }
}

#[tokio::test]
async fn invalid_filters_are_all_reported() {
    let sent = "service=zoo&method=get&status=6xx&path=x&since=-1&limit=1001&page=1";
    let problem = query(sent).await.expect_err("a problem");
    let errors: Vec<_> = problem.errors().iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(errors, ["?service", "?method", "?status", "?path", "?since", "?limit", "?page"]);
    for status in ["99", "600", "40", "4040", "xx4", "0xx", "4XX", "+40"] {
        assert!(query(&format!("status={}", status.replace('+', "%2B"))).await.is_err(), "{status}");
    }
}

#[tokio::test]
async fn list_has_a_hundred_calls_unless_a_client_asks_for_more() {
    let journal = journal();
    for _ in 0..150 {
        record(&journal);
    }
    assert_eq!(journal.list(&query("").await.unwrap().into()).len(), 100);
    assert_eq!(journal.list(&query("limit=1000").await.unwrap().into()).len(), 150);
}

#[test]
fn summary_and_call_have_the_members_of_the_document() {
    use serde_json::json;
    let journal = journal();
    let number = record(&journal);
    let entry = journal.get(number).unwrap();
    let caller = json!({"user": "demo", "client": "client-1", "address": "192.0.2.7"});
    assert_eq!(
        serde_json::to_value(entry.summary()).unwrap(),
        json!({"number": 1, "time": "2026-03-01T12:00:00.5Z", "duration_ms": 3.25, "service": "petstore",
            "operation": "addPet", "caller": caller, "method": "POST", "path": "/v3/pet?dry=1", "status": 409,
            "problem": "conflict", "aborted": false})
    );
    let (event, subscription) = (uuid::Uuid::from_u128(1), uuid::Uuid::from_u128(2));
    let delivery = RecordedDelivery { event, subscription, status: "waiting".into(), attempts: 1 };
    assert_eq!(
        serde_json::to_value(entry.call(vec![delivery])).unwrap(),
        json!({
            "call": entry.summary(),
            "request_id": "r-1",
            "request": {
                "headers": [{"name": "host", "value": "pets.example.com"}, {"name": "content-type", "value": "application/json"}],
                "body": {"text": "{\"name\": \"doggie\"}", "base64": false, "length": 18, "truncated": false},
            },
            "answer": {
                "headers": [{"name": "content-type", "value": "application/problem+json"},
                    {"name": "location", "value": "/v3/pet/1"}],
                "body": {"text": "{}", "base64": false, "length": 2, "truncated": false},
            },
            "events": [],
            "deliveries": [{"event": event, "subscription": subscription, "status": "waiting", "attempts": 1}],
        })
    );
}

#[test]
fn schemas_of_calls_refer_to_their_components() {
    use utoipa::ToSchema;
    let mut components = Vec::new();
    JournalCall::schemas(&mut components);
    let mut names: Vec<_> = components.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names,
        ["CallSummary", "JournalBody", "JournalCaller", "JournalDelivery", "JournalHeader", "JournalMessage"]
    );
}
