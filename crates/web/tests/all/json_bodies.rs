//! Bodies in JSON, valid and malformed: each error has its answer.

use crate::support::{RawConnection, all_rules::serve_all_rules};
use serde_json::json;
use testkit::{Answer, Client};

async fn send(client: &Client, body: impl Into<Vec<u8>>) -> Answer {
    client.post("/body").body("application/json", body.into()).send().await
}

#[tokio::test]
async fn content_type_other_than_json_gets_415() {
    let (server, client) = serve_all_rules().await;
    for good in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "Application/JSON",
        "application/json ; odd",
    ] {
        client.post("/body").body(good, "{}").send().await.is(200, &json!({}));
    }
    let long = format!("text/{}", "x".repeat(5000));
    let shortened = format!("text/{}", "x".repeat(55));
    for (bad, told) in [
        ("text/plain", "text/plain"),
        ("application/jsonp", "application/jsonp"),
        ("application/x-www-form-urlencoded", "application/x-www-form-urlencoded"),
        ("application/vnd.api+json", "application/vnd.api+json"),
        ("text/plain; charset=utf-8", "text/plain"),
        ("", ""),
        (&long, &shortened),
    ] {
        let answer = client.post("/body").body(bad, "{}").send().await;
        assert_eq!(
            answer.is_problem(415, "unsupported-media-type"),
            format!("The body must be sent as application/json, not as {told}.")
        );
    }
    let mut wire = RawConnection::connect(server.address()).await;
    wire.send("POST /body HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}").await;
    assert_eq!(
        wire.answer().await.is_problem(415, "unsupported-media-type"),
        "The body must be sent as application/json; the request has no Content-Type."
    );
    wire.send(b"POST /body HTTP/1.1\r\nhost: localhost\r\ncontent-type: \xff\r\ncontent-length: 2\r\n\r\n{}")
        .await;
    assert_eq!(
        wire.answer().await.is_problem(415, "unsupported-media-type"),
        "The body must be sent as application/json, not as unreadable."
    );
}

#[tokio::test]
async fn body_other_than_one_json_object_is_rejected() {
    let (_server, client) = serve_all_rules().await;
    for (body, fault) in [
        ("", "is empty; a JSON object is required"),
        (" ", "is not valid JSON: EOF while parsing a value at line 1 column 1"),
        ("{", "is not valid JSON: EOF while parsing an object at line 1 column 1"),
        ("{}}", "is not valid JSON: trailing characters at line 1 column 3"),
        ("{} {}", "is not valid JSON: trailing characters at line 1 column 4"),
        ("{'text': 'a'}", "is not valid JSON: key must be a string at line 1 column 2"),
        (r#"{"text": "a",}"#, "is not valid JSON: trailing comma at line 1 column 14"),
        (r#"{"text": NaN}"#, "is not valid JSON: expected value at line 1 column 10"),
        (r#"{"integer": 01}"#, "is not valid JSON: invalid number at line 1 column 14"),
        (r#"{"text": "\ud800"}"#, "is not valid JSON: unexpected end of hex escape at line 1 column 17"),
        ("\u{feff}{}", "is not valid JSON: expected value at line 1 column 1"),
        ("// note\n{}", "is not valid JSON: expected value at line 1 column 1"),
        ("null", "must be a JSON object"),
        ("[]", "must be a JSON object"),
        ("7", "must be a JSON object"),
        (r#""{}""#, "must be a JSON object"),
    ] {
        let answer = send(&client, body).await;
        assert_eq!(answer.status, 400, "{body:?}");
        answer.is_invalid(&[("#", fault)]);
    }
    send(&client, b"{\"text\": \"\xff\"}").await.is_invalid(&[("#", "is not UTF-8")]);
    send(&client, "\r\n\t {} \n").await.is(200, &json!({}));
}

#[tokio::test]
async fn unknown_members_are_ignored_and_repeated_members_rejected() {
    let (_server, client) = serve_all_rules().await;
    send(&client, r#"{"other": [{"deep": null}], "text": "a", "TEXT": 7}"#)
        .await
        .is(200, &json!({"text": "a"}));
    let twice = "is given more than once";
    send(&client, r#"{"text": "a", "text": "b"}"#).await.is_invalid(&[("#/text", twice)]);
    send(&client, r#"{"text": "a", "te\u0078t": "a"}"#).await.is_invalid(&[("#/text", twice)]);
    send(&client, r#"{"text": "a", "other": [{"b": 1, "b": 2}]}"#)
        .await
        .is_invalid(&[("#/other/0/b", twice)]);
}

#[tokio::test]
async fn too_deep_nesting_is_rejected() {
    let (_server, client) = serve_all_rules().await;
    let fault =
        |column: usize| format!("is not valid JSON: recursion limit exceeded at line 1 column {column}");
    send(&client, "[".repeat(100_000)).await.is_invalid(&[("#", &fault(128))]);
    send(&client, r#"{"a":"#.repeat(100_000)).await.is_invalid(&[("#", &fault(128 * 5 - 4))]);
    let closed = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    send(&client, closed).await.is_invalid(&[("#", &fault(128))]);
    // Moderate depth is accepted, also in a member that is ignored.
    let deep = format!(r#"{{"other": {}{}}}"#, "[".repeat(100), "]".repeat(100));
    send(&client, deep).await.is(200, &json!({}));
}

#[tokio::test]
async fn large_body_of_many_small_values_is_read() {
    let (_server, client) = serve_all_rules().await;
    let keys: Vec<_> = (0..95_000).map(|number| format!(r#""k{number}":0"#)).collect();
    let body = format!(r#"{{{},"integer":1}}"#, keys.join(","));
    assert!((900_000..1024 * 1024).contains(&body.len()), "{}", body.len());
    send(&client, body).await.is(200, &json!({"integer": 1}));

    let lists = format!(r#"{{"days":[{}[]]}}"#, "[],".repeat(340_000));
    assert!((1_000_000..1024 * 1024).contains(&lists.len()), "{}", lists.len());
    send(&client, lists).await.is_invalid(&[("#/days", "must have at most 3 items, not 340001")]);

    let same = format!(r#"{{{}"text":"a"}}"#, r#""text":"b","#.repeat(90_000));
    send(&client, same).await.is_invalid(&[("#/text", "is given more than once")]);
}

#[tokio::test]
async fn answer_does_not_repeat_long_input() {
    let (_server, client) = serve_all_rules().await;
    let long = "x".repeat(500_000);
    for body in [
        json!({"text": long}),
        json!({"date": long}),
        json!({"uuid": long}),
        json!({"email": long}),
        json!({"colour": long}),
    ] {
        let answer = client.post("/body").json(&body).send().await;
        answer.is_problem(400, "invalid-request");
        assert!(answer.body.len() < 1000, "{}", answer.text());
    }
}
