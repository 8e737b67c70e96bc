//! Rules for plain text, words, dates, UUIDs and email addresses.

use crate::support::all_rules::{member, parameter, serve_all_rules};
use serde_json::{Value, json};

#[tokio::test]
async fn text_is_checked() {
    let (_server, client) = serve_all_rules().await;
    let empty = Err("must not be empty");
    let kind = Err("must be text");
    let cases = [
        ("text", r#""abc""#, Ok(json!("abc"))),
        ("text", r#""abcde""#, Ok(json!("abcde"))),
        ("text", r#""abcdef""#, Err("must be at most 5 characters long, not 6")),
        // Characters count, not bytes: these are 20 and 24 bytes.
        ("text", r#""😀😀😀😀😀""#, Ok(json!("😀😀😀😀😀"))),
        ("text", r#""😀😀😀😀😀😀""#, Err("must be at most 5 characters long, not 6")),
        ("text", r#""\ud83d\ude00""#, Ok(json!("😀"))),
        ("text", r#""""#, empty.clone()),
        ("text", r#""   ""#, empty.clone()),
        ("text", "\"\u{a0}\u{2003}\"", empty.clone()),
        ("text", r#""\n""#, empty.clone()),
        ("text", r#"" a ""#, Ok(json!(" a "))),
        ("text", r#""a\tb\r\n""#, Ok(json!("a\tb\r\n"))),
        ("text", r#""a\u0000""#, Err("must not contain the control character U+0000")),
        ("text", r#""\u001b[1m""#, Err("must not contain the control character U+001B")),
        ("text", r#""\u007f""#, Err("must not contain the control character U+007F")),
        ("text", r#""\u0085""#, Err("must not contain the control character U+0085")),
        ("text", "null", Err("must not be null")),
        ("text", "1", kind.clone()),
        ("text", "true", kind.clone()),
        ("text", "[]", kind.clone()),
        ("text", "{}", kind.clone()),
        ("note", r#""""#, Ok(json!(""))),
        ("note", r#""  ""#, Ok(json!("  "))),
        ("note", "null", Err("must not be null")),
        ("code", r#""a""#, Err("must be at least 2 characters long")),
        ("code", r#""é""#, Err("must be at least 2 characters long")),
        ("code", r#""éé""#, Ok(json!("éé"))),
        ("code", r#""""#, empty.clone()),
    ];
    for (name, json, expected) in cases {
        member(&client, name, json, expected).await;
    }
    for (name, text, expected) in [
        ("text", "abc", Ok(json!("abc"))),
        ("text", "a+b", Ok(json!("a b"))),
        ("text", "a%2Bb", Ok(json!("a+b"))),
        ("text", "%C3%A9", Ok(json!("é"))),
        ("text", "1", Ok(json!("1"))),
        ("text", "", empty.clone()),
        ("text", "+", empty),
        ("text", "%00", Err("must not contain the control character U+0000")),
        ("note", "", Ok(json!(""))),
    ] {
        parameter(&client, name, text, expected).await;
    }
}

#[tokio::test]
async fn enumeration_accepts_only_its_words() {
    let (_server, client) = serve_all_rules().await;
    let words = Err("must be one of: red, green");
    for (json, expected) in [
        (r#""red""#, Ok(json!("the first"))),
        (r#""green""#, Ok(json!("the second"))),
        (r#""Red""#, words.clone()),
        (r#""red ""#, words.clone()),
        (r#""""#, words.clone()),
        ("0", Err("must be text")),
        (r#"["red"]"#, Err("must be text")),
        ("null", Err("must not be null")),
    ] {
        member(&client, "colour", json, expected).await;
    }
    parameter(&client, "colour", "green", Ok(json!("the second"))).await;
    parameter(&client, "colour", "", words).await;
}

#[tokio::test]
async fn dates_are_checked() {
    let (_server, client) = serve_all_rules().await;
    const WANTED: &str = "must be a calendar date like 2026-05-17";
    let nowhere = |date: &str| format!("{WANTED}; there is no {date}");
    for date in ["2026-05-17", "2024-02-29", "2000-02-29", "0000-01-01", "0001-01-01", "9999-12-31"] {
        member(&client, "date", &format!("\"{date}\""), Ok(json!(date))).await;
        parameter(&client, "date", date, Ok(json!(date))).await;
    }
    for date in ["2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-04-31", "2026-01-00"] {
        member(&client, "date", &format!("\"{date}\""), Err(&nowhere(date))).await;
        parameter(&client, "date", date, Err(&nowhere(date))).await;
    }
    for json in [
        r#""""#,
        r#""2026-2-3""#,
        r#""20260203""#,
        r#""2026-05-1""#,
        r#""2026-05-170""#,
        r#""2026/05/17""#,
        r#""2026-W20-7""#,
        r#""17-05-2026""#,
        r#""2026-05-17T00:00:00Z""#,
        r#"" 2026-05-17""#,
        r#""2026-05-17 ""#,
        r#""-001-05-17""#,
        r#""-2026-05-17""#,
        r#""+2026-05-17""#,
        r#""２０２６-05-17""#,
        // Ten bytes, and not a digit among them.
        r#""ééééé""#,
        r#""2026-05-é""#,
        r#""2026-05\u001717""#,
        "20260517",
        "true",
        "{}",
    ] {
        member(&client, "date", json, Err(WANTED)).await;
    }
    member(&client, "date", "null", Err("must not be null")).await;
}

#[tokio::test]
async fn uuids_are_checked() {
    let (_server, client) = serve_all_rules().await;
    const WANTED: &str = "must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54";
    let id = "3be6453c-03eb-4357-ae5a-984a0e574a54";
    let upper = id.to_uppercase();
    for good in [id, &upper, "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"] {
        member(&client, "uuid", &format!("\"{good}\""), Ok(json!(good.to_lowercase()))).await;
    }
    let cases = [
        String::new(),
        "3be6453c03eb4357ae5a984a0e574a54".into(),
        format!("{{{id}}}"),
        format!("urn:uuid:{id}"),
        format!("{id} "),
        id[1..].into(),
        // The right length with something else in it.
        id.replace('3', "g"),
        id.replace('-', "0"),
        "3be6453c-03eb-4357-ae5a984a0e574a54-".into(),
        "é".repeat(18),
    ];
    for bad in cases {
        member(&client, "uuid", &format!("\"{bad}\""), Err(WANTED)).await;
    }
    member(&client, "uuid", "7", Err(WANTED)).await;
    member(&client, "uuid", "null", Err("must not be null")).await;
}

#[tokio::test]
async fn email_addresses_are_checked() {
    let (_server, client) = serve_all_rules().await;
    const WANTED: &str = "must be an email address like visitor@example.com";
    for good in ["a@b.co", "o'neil+tag@mail.example.org", "zoë@exämple.de"] {
        member(&client, "email", &Value::from(good).to_string(), Ok(json!(good))).await;
    }
    let long = format!("a@{}de", "b.".repeat(126));
    for bad in ["", "a", "a@b", "a@b@c.de", "a b@c.de", "a@b.de\n", "a@b.de\0", "<a@b.de>", &long] {
        member(&client, "email", &Value::from(bad).to_string(), Err(WANTED)).await;
    }
    member(&client, "email", "[]", Err(WANTED)).await;
    member(&client, "email", "null", Err("must not be null")).await;
    parameter(&client, "email", "a%2Bb@c.de", Ok(json!("a+b@c.de"))).await;
}
