//! Rules for numbers and lists, and the collection of validation errors.

use crate::support::all_rules::{member, parameter, serve_all_rules};
use serde_json::json;

#[tokio::test]
async fn whole_numbers_are_checked() {
    let (_server, client) = serve_all_rules().await;
    let wanted = Err("must be a whole number from -5 to 1000");
    for (json, expected) in [
        ("0", Ok(json!(0))),
        ("-0", Ok(json!(0))),
        ("-5", Ok(json!(-5))),
        ("1000", Ok(json!(1000))),
        ("-6", wanted.clone()),
        ("1001", wanted.clone()),
        // JSON Schema: a number without a fractional part is an integer in any notation.
        ("1.0", Ok(json!(1))),
        ("-5.000", Ok(json!(-5))),
        ("1e0", Ok(json!(1))),
        ("1e3", Ok(json!(1000))),
        ("0.1E+1", Ok(json!(1))),
        ("1200e-2", Ok(json!(12))),
        ("-0.0", Ok(json!(0))),
        ("0.0e999999999999999999999", Ok(json!(0))),
        ("0.5", wanted.clone()),
        ("4.5", wanted.clone()),
        ("1.0000000000000000000000000001", wanted.clone()),
        ("12e-2", wanted.clone()),
        ("1000.5", wanted.clone()),
        ("1001.0", wanted.clone()),
        ("-6.0", wanted.clone()),
        ("1e400", wanted.clone()),
        ("1e-400", wanted.clone()),
        ("1e999999999999999999999", wanted.clone()),
        ("1e-999999999999999999999", wanted.clone()),
        (r#""1""#, wanted.clone()),
        ("true", wanted.clone()),
        ("[1]", wanted.clone()),
        ("null", wanted.clone()),
        ("9223372036854775808", wanted.clone()),
        ("-9223372036854775809", wanted.clone()),
        ("1e999999999", wanted.clone()),
    ] {
        member(&client, "integer", json, expected).await;
    }
    let many = "9".repeat(100_000);
    member(&client, "integer", &many, wanted.clone()).await;
    member(&client, "integer", &format!("1.{}", "0".repeat(100_000)), Ok(json!(1))).await;
    member(&client, "integer", &format!("1{}e-100000", "0".repeat(100_000)), Ok(json!(1))).await;
    member(&client, "integer", &format!("0.{}1", "0".repeat(100_000)), wanted.clone()).await;
    for (text, expected) in [
        ("0", Ok(json!(0))),
        ("-5", Ok(json!(-5))),
        // Leading zeros of a number in a query are ignored, unlike in JSON.
        ("01", Ok(json!(1))),
        ("%31", Ok(json!(1))),
        ("+1", wanted.clone()),
        ("%2B1", wanted.clone()),
        ("%201", wanted.clone()),
        ("1%20", wanted.clone()),
        ("1_000", wanted.clone()),
        ("1.0", wanted.clone()),
        ("1e1", wanted.clone()),
        ("0x1", wanted.clone()),
        ("-", wanted.clone()),
        ("--1", wanted.clone()),
        ("", wanted.clone()),
        ("%EF%BC%91", wanted.clone()),
        ("9223372036854775808", wanted.clone()),
        ("99999999999999999999999999", wanted),
    ] {
        parameter(&client, "integer", text, expected).await;
    }
    let open = "must be a whole number, 0 or more";
    member(&client, "large", "9223372036854775807", Ok(json!(i64::MAX))).await;
    member(&client, "large", "9223372036854775807.0", Ok(json!(i64::MAX))).await;
    member(&client, "large", "922337203685477580700e-2", Ok(json!(i64::MAX))).await;
    member(&client, "large", "9223372036854775808", Err(open)).await;
    member(&client, "large", "9223372036854775808.0", Err(open)).await;
    member(&client, "large", "9223372036854775807.5", Err(open)).await;
    member(&client, "large", "-1", Err(open)).await;
}

#[tokio::test]
async fn decimals_are_checked() {
    let (_server, client) = serve_all_rules().await;
    let digits = Err("must be a decimal number of at most 28 digits");
    let range = Err("must be a number from 0 to 100");
    let open = Err("must be a number, 0 or more");
    for (name, json, expected) in [
        ("percent", "0", Ok(json!("0"))),
        ("percent", "100", Ok(json!("100"))),
        ("percent", "100.00", Ok(json!("100.00"))),
        ("percent", "25.50", Ok(json!("25.50"))),
        ("percent", "0.1e1", Ok(json!("1"))),
        ("percent", "1E+1", Ok(json!("10"))),
        ("percent", "5e-1", Ok(json!("0.5"))),
        ("percent", "-0", Ok(json!("0"))),
        ("percent", "-0.00", Ok(json!("0.00"))),
        ("percent", "100.01", range.clone()),
        ("percent", "-0.01", range.clone()),
        ("percent", "1e3", range.clone()),
        ("percent", "1e400", digits.clone()),
        ("percent", "1e-400", digits.clone()),
        ("percent", "1e99999999999999999999", digits.clone()),
        ("percent", "1e-99999999999999999999", digits.clone()),
        ("percent", "0.1234567890123456789012345678", Ok(json!("0.1234567890123456789012345678"))),
        ("percent", "0.12345678901234567890123456789", digits.clone()),
        ("price", "9999999999999999999999999999", Ok(json!("9999999999999999999999999999"))),
        ("price", "99999999999999999999999999999", digits.clone()),
        ("price", "-1", open),
        ("price", r#""1""#, Err("must be a number")),
        ("price", "true", Err("must be a number")),
        ("price", "null", Err("must be a number")),
        ("price", "[]", Err("must be a number")),
    ] {
        member(&client, name, json, expected).await;
    }
    let many = "1".repeat(100_000);
    for long in [many.clone(), format!("0.{many}"), format!("{many}e-{many}"), format!("1e{many}")] {
        member(&client, "price", &long, digits.clone()).await;
    }
    for (text, expected) in [
        ("12.50", Ok(json!("12.50"))),
        ("", digits.clone()),
        ("abc", digits.clone()),
        ("NaN", digits.clone()),
        ("inf", digits.clone()),
        ("1,5", digits.clone()),
        ("%201", digits.clone()),
        ("1_000", digits.clone()),
        ("%2B1", digits.clone()),
        (".5", digits.clone()),
        ("5.", digits.clone()),
        ("1.2.3", digits.clone()),
        ("e5", digits),
    ] {
        parameter(&client, "price", text, expected).await;
    }
}

#[tokio::test]
async fn lists_and_their_items_are_checked() {
    let (_server, client) = serve_all_rules().await;
    for (name, json, expected) in [
        ("days", r#"["2026-01-01"]"#, Ok(json!(["2026-01-01"]))),
        ("days", r#"["2026-01-03","2026-01-01"]"#, Ok(json!(["2026-01-03", "2026-01-01"]))),
        ("days", "[]", Err("must have at least one item")),
        ("days", r#"["","","",""]"#, Err("must have at most 3 items, not 4")),
        ("days", r#""2026-01-01""#, Err("must be a list")),
        ("days", "{}", Err("must be a list")),
        ("days", "null", Err("must be a list")),
        ("grid", "[]", Ok(json!([]))),
        ("grid", "[[1,2],[3,4]]", Ok(json!([[1, 2], [3, 4]]))),
    ] {
        member(&client, name, json, expected).await;
    }
    parameter(&client, "days", "2026-01-01", Err("must be a list")).await;
    let body = json!({"days": ["2026-01-01", "soon", null], "grid": [[1], [7, 10]]});
    client.post("/body").json(&body).send().await.is_invalid(&[
        ("#/days/1", "must be a calendar date like 2026-05-17"),
        ("#/days/2", "must not be null"),
        ("#/grid/0", "must have at least 2 items, not 1"),
        ("#/grid/1/1", "must be a whole number from 0 to 9"),
    ]);
}

#[tokio::test]
async fn all_validation_errors_are_listed_in_the_order_of_the_members() {
    let (_server, client) = serve_all_rules().await;
    let body = r#"{"price": -1, "text": "", "unknown": 7, "integer": 5000, "date": "never", "note": "fine"}"#;
    let answer = client.post("/body").body("application/json", body).send().await;
    answer.is_invalid(&[
        ("#/text", "must not be empty"),
        ("#/integer", "must be a whole number from -5 to 1000"),
        ("#/date", "must be a calendar date like 2026-05-17"),
        ("#/price", "must be a number, 0 or more"),
    ]);
    let detail = answer.is_problem(400, "invalid-request");
    assert_eq!(detail, "4 things are wrong with this request; see errors.");
    let answer = client.post("/body").json(&json!({"text": ""})).send().await;
    assert_eq!(answer.is_problem(400, "invalid-request"), "#/text must not be empty.");
}

#[tokio::test]
async fn missing_required_members_are_rejected() {
    let (_server, client) = serve_all_rules().await;
    client.post("/required").json(&json!({"name": "a", "size": 1})).send().await.is(200, &json!("fine"));
    client
        .post("/required")
        .json(&json!({}))
        .send()
        .await
        .is_invalid(&[("#/name", "is required"), ("#/size", "is required")]);
    // Null is not the same as absent.
    client
        .post("/required")
        .json(&json!({"name": null, "size": null}))
        .send()
        .await
        .is_invalid(&[("#/name", "must not be null"), ("#/size", "must be a whole number from 1 to 9")]);
    client
        .post("/required")
        .json(&json!({"name": "clash", "size": 9}))
        .send()
        .await
        .is_invalid(&[("#/size", "must not be 9 for a clash")]);
    client
        .get("/required?size=0")
        .send()
        .await
        .is_invalid(&[("?name", "is required"), ("?size", "must be a whole number from 1 to 9")]);
}
