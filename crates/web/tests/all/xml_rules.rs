//! The rules for bodies in XML: values, objects, lists and null.

use crate::support::pets::{is_broken, send_xml, serve_pets};
use serde_json::{Value, json};
use testkit::Client;

const XSI: &str = "xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'";
const NOT_AN_ID: &str = "must be a whole number from -9223372036854775808 to 9223372036854775807";

/// Sends a pet with one more element, and asserts its value or its validation error.
async fn element(client: &Client, name: &str, content: &str, expected: Result<Value, &str>) {
    let body = format!("<pet {XSI}><name>a</name><{name}>{content}</{name}></pet>");
    let answer = send_xml(client, body).await;
    match expected {
        Ok(value) => answer.is(200, &json!({"name": "a", name: value})),
        Err(detail) => is_broken(&answer, &[(&format!("#/{name}"), detail)]),
    }
}

#[tokio::test]
async fn values_are_read_by_the_rules_of_their_members() {
    let (_server, client) = serve_pets().await;
    let legs = Err("must be a whole number from 0 to 1000");
    let digits = Err("must be a decimal number of at most 28 digits");
    let uuid = "3be6453c-03eb-4357-ae5a-984a0e574a54";
    let not_a_uuid = Err("must be a UUID like 3be6453c-03eb-4357-ae5a-984a0e574a54");
    let not_a_date = Err("must be a calendar date like 2026-05-17");
    let truth = Err("must be true or false");
    let cases = [
        ("legs", "4", Ok(json!(4))),
        ("legs", "\n 4\t\r\n", Ok(json!(4))),
        ("legs", "004", Ok(json!(4))),
        ("legs", "-0", Ok(json!(0))),
        ("legs", "", legs.clone()),
        ("legs", " ", legs.clone()),
        ("legs", "+4", legs.clone()),
        ("legs", "4.0", legs.clone()),
        ("legs", "4 4", legs.clone()),
        ("legs", "\u{a0}4", legs.clone()),
        ("legs", "1001", legs.clone()),
        ("legs", "<a/>", legs.clone()),
        ("legs", "4<a/>", legs),
        ("id", "-9223372036854775808", Ok(json!(i64::MIN))),
        ("id", " 9223372036854775807 ", Ok(json!(i64::MAX))),
        ("price", " 25.50 ", Ok(json!("25.50"))),
        ("price", "1e1", Ok(json!("10"))),
        ("price", ".5", digits.clone()),
        ("price", "NaN", digits.clone()),
        ("price", "<a/>", digits),
        ("price", "100.01", Err("must be a number from 0 to 100")),
        ("seen", " 2026-05-17\n", Ok(json!("2026-05-17"))),
        ("seen", "2026-05-17Z", not_a_date.clone()),
        ("seen", "<a/>", not_a_date),
        ("seen", "2026-02-30", Err("must be a calendar date like 2026-05-17; there is no 2026-02-30")),
        ("chip", &format!("\t{uuid} "), Ok(json!(uuid))),
        ("chip", &format!("{{{uuid}}}"), not_a_uuid.clone()),
        ("chip", "<a/>", not_a_uuid),
        ("tame", "true", Ok(json!(true))),
        ("tame", " false ", Ok(json!(false))),
        ("tame", "1", Ok(json!(true))),
        ("tame", "\n0\n", Ok(json!(false))),
        ("tame", "TRUE", truth.clone()),
        ("tame", "yes", truth.clone()),
        ("tame", "", truth.clone()),
        ("tame", "<true/>", truth),
        ("status", "sold", Ok(json!("sold"))),
        ("status", "\n  sold\n", Ok(json!("sold"))),
        ("status", "Sold", Err("must be one of: sold, pending")),
        ("status", "<sold/>", Err("must be text")),
        ("mail", "a@b.co", Ok(json!("a@b.co"))),
        ("mail", " a@b.co", Err("must be an email address like visitor@example.com")),
        ("born", " 2026-05-17T10:30:00+02:00 ", Ok(json!("2026-05-17T08:30:00Z"))),
        ("days", "<date>2026-05-17</date>", Err("must be a list")),
    ];
    for (name, content, expected) in cases {
        element(&client, name, content, expected).await;
    }
    let broken = |what| [("#/name", what)];
    for (name, why) in [
        ("", "must not be empty"),
        ("  \n", "must not be empty"),
        ("<b>a</b>", "must be text"),
        ("a<b/>", "must be text"),
        ("&#x85;", "must not contain the control character U+0085"),
        ("\u{7f}", "must not contain the control character U+007F"),
    ] {
        is_broken(&send_xml(&client, format!("<pet><name>{name}</name></pet>")).await, &broken(why));
    }
    is_broken(&send_xml(&client, "<pet><name/></pet>").await, &broken("must not be empty"));
    is_broken(&send_xml(&client, "<pet/>").await, &broken("is required"));
    is_broken(&send_xml(&client, "<pet><Name>a</Name></pet>").await, &broken("is required"));
}

#[tokio::test]
async fn times_need_an_offset() {
    let (_server, client) = serve_pets().await;
    const WANTED: &str =
        "must be a date and time with an offset, like 2026-05-17T10:30:00Z or 2026-05-17T12:30:00+02:00";
    for (text, meant) in [
        ("2026-05-17T10:30:00Z", "2026-05-17T10:30:00Z"),
        ("2026-05-17t10:30:00z", "2026-05-17T10:30:00Z"),
        ("2026-05-17T10:30:00.5Z", "2026-05-17T10:30:00.5Z"),
        ("2026-05-17T10:30:00.123456789-07:30", "2026-05-17T18:00:00.123456789Z"),
        ("2026-05-17T00:30:00+02:00", "2026-05-16T22:30:00Z"),
        ("2026-05-17T10:30:00-00:00", "2026-05-17T10:30:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ] {
        let answer = client.post("/pet").json(&json!({"name": "a", "born": text})).send().await;
        answer.is(200, &json!({"name": "a", "born": meant}));
    }
    for text in [
        "",
        "2026-05-17",
        "2026-05-17T10:30:00",
        "2026-05-17T10:30Z",
        "2026-05-17 10:30:00Z",
        "2026-05-17T10:30:00+02",
        "2026-05-17T10:30:00+0200",
        "2026-05-17T10:30:00.Z",
        "2026-05-17T10:30:00.1234567890Z",
        "2026-05-17T10:30:00,5Z",
        "2026-05-17T10:30:00Z[Europe/Berlin]",
        "2026-05-17T10:30:00 Z",
        "20260517T103000Z",
        "2026-5-17T10:30:00Z",
        "+002026-05-17T10:30:00Z",
        "2026-05-17T10:30:00é",
        "é026-05-17T10:30:00Z",
        "1779013800",
    ] {
        let answer = client.post("/pet").json(&json!({"name": "a", "born": text})).send().await;
        is_broken(&answer, &[("#/born", WANTED)]);
    }
    for text in
        ["2026-02-30T10:30:00Z", "2026-05-17T24:00:00Z", "2026-05-17T10:60:00Z", "2026-05-17T10:30:00+30:00"]
    {
        let answer = client.post("/pet").json(&json!({"name": "a", "born": text})).send().await;
        is_broken(&answer, &[("#/born", &format!("{WANTED}; there is no {text}"))]);
    }
    for (other, why) in
        [(json!(1_779_013_800), WANTED), (json!(null), "must not be null"), (json!([]), WANTED)]
    {
        let answer = client.post("/pet").json(&json!({"name": "a", "born": other})).send().await;
        is_broken(&answer, &[("#/born", why)]);
    }
}

#[tokio::test]
async fn nested_objects_and_lists_are_checked() {
    let (_server, client) = serve_pets().await;
    let object = "must hold elements, not text";
    let list = "must be a list, of elements rather than text";
    for (name, content, read) in [
        ("category", "<id>1</id><name>cats</name>", json!([1, "cats"])),
        ("category", "\n<name>cats</name>\n", json!([null, "cats"])),
        ("photoUrls", "<photoUrl>a</photoUrl><photoUrl> b </photoUrl>", json!(["a", " b "])),
        ("photoUrls", "\n<photoUrl>a</photoUrl><other>b</other><photo/>\n", json!(["a"])),
        ("tags", "", json!([])),
        ("tags", "<other/>", json!([])),
        (
            "tags",
            "<tag><name>a</name></tag><tag><id>2</id><name>b</name></tag>",
            json!([[null, "a"], [2, "b"]]),
        ),
    ] {
        element(&client, name, content, Ok(read)).await;
    }
    for (body, errors) in [
        ("<category/>", &[("#/category/name", "is required")][..]),
        ("<category>cats</category>", &[("#/category", object)]),
        ("<category>x<name>cats</name></category>", &[("#/category", object)]),
        (
            "<category><name>12345678901</name></category>",
            &[("#/category/name", "must be at most 10 characters long, not 11")],
        ),
        ("<category><name><first/></name></category>", &[("#/category/name", "must be text")]),
        ("<photoUrls/>", &[("#/photoUrls", "must have at least one item")]),
        ("<photoUrls><photo>a</photo></photoUrls>", &[("#/photoUrls", "must have at least one item")]),
        ("<photoUrls>a</photoUrls>", &[("#/photoUrls", list)]),
        ("<photoUrls><photoUrl>a</photoUrl>b</photoUrls>", &[("#/photoUrls", list)]),
        (
            "<photoUrls><photoUrl/><photoUrl>a</photoUrl><x/><photoUrl><b/></photoUrl></photoUrls>",
            &[("#/photoUrls/0", "must not be empty"), ("#/photoUrls/2", "must be text")],
        ),
        ("<tags><tag/><tag/><tag/><tag/></tags>", &[("#/tags", "must have at most 3 items, not 4")]),
        (
            "<tags><tag>a</tag><tag><name>b</name></tag><tag><name/></tag></tags>",
            &[("#/tags/0", object), ("#/tags/2/name", "must not be empty")],
        ),
        (
            "<legs>x</legs><category/><tame>2</tame>",
            &[
                ("#/category/name", "is required"),
                ("#/tame", "must be true or false"),
                ("#/legs", "must be a whole number from 0 to 1000"),
            ],
        ),
    ] {
        let answer = send_xml(&client, format!("<pet><name>a</name>{body}</pet>")).await;
        assert_eq!(answer.status, 422, "{body}: {}", answer.text());
        is_broken(&answer, errors);
    }
    is_broken(&send_xml(&client, "<pet>Tom</pet>").await, &[("#", object)]);
}

#[tokio::test]
async fn same_rules_apply_to_json() {
    let (_server, client) = serve_pets().await;
    let pet = json!({
        "id": -5, "name": "a", "category": {"id": 1, "name": "cats"}, "photoUrls": ["u"], "tame": true,
        "tags": [{"name": "b"}],
    });
    let mut read = pet.clone();
    read["category"] = json!([1, "cats"]);
    read["tags"] = json!([[null, "b"]]);
    client.post("/pet").json(&pet).send().await.is(200, &read);
    for (member, value, pointer, why) in [
        ("category", json!("cats"), "#/category", "must be a JSON object"),
        ("category", json!(null), "#/category", "must be a JSON object"),
        ("category", json!({}), "#/category/name", "is required"),
        ("tags", json!({"tag": []}), "#/tags", "must be a list"),
        ("tags", json!([{"name": "b"}, 1]), "#/tags/1", "must be a JSON object"),
        ("tags", json!([{"name": "b"}, {"name": 1}]), "#/tags/1/name", "must be text"),
        ("tame", json!("true"), "#/tame", "must be true or false"),
        ("tame", json!(1), "#/tame", "must be true or false"),
        ("name", json!("a\u{fffe}"), "#/name", "must not contain the character U+FFFE"),
        ("name", json!("\u{ffff}"), "#/name", "must not contain the character U+FFFF"),
    ] {
        let mut pet = pet.clone();
        pet[member] = value;
        is_broken(&client.post("/pet").json(&pet).send().await, &[(pointer, why)]);
    }
    is_broken(&client.post("/pet").json(&json!([])).send().await, &[("#", "must be a JSON object")]);
}

#[tokio::test]
async fn malformed_value_gets_400_instead_of_422() {
    let (_server, client) = serve_pets().await;
    let id = ("#/id", NOT_AN_ID);
    for bad in ["x", "", "1.0", "+1", "0x1", "9223372036854775808", "<a/>", "-"] {
        let body = format!("<pet><name>a</name><id>{bad}</id></pet>");
        send_xml(&client, body).await.is_invalid(&[id]);
    }
    for bad in
        [json!("1"), json!(1.5), json!(null), json!(true), json!([1]), json!(9_223_372_036_854_775_808_u64)]
    {
        client.post("/pet").json(&json!({"name": "a", "id": bad})).send().await.is_invalid(&[id]);
    }
    // One such error makes the whole body malformed, also with other validation errors.
    let both = [id, ("#/name", "must not be empty")];
    send_xml(&client, "<pet><name/><id>x</id></pet>").await.is_invalid(&both);
    client.post("/pet").json(&json!({"name": "", "id": "x"})).send().await.is_invalid(&both);
    send_xml(&client, "<pet><name>a</name><category><id>x</id><name>b</name></category></pet>")
        .await
        .is_invalid(&[("#/category/id", NOT_AN_ID)]);

    let twice = "is given more than once";
    send_xml(&client, "<pet><name>a</name><name>a</name></pet>").await.is_invalid(&[("#/name", twice)]);
    let twice_within = "<pet><name>a</name><tags><tag><name>a</name><name/></tag></tags></pet>";
    send_xml(&client, twice_within).await.is_invalid(&[("#/tags/0/name", twice)]);
    let prefixed = "<pet xmlns:p='u'><name>a</name><p:name>b</p:name></pet>";
    send_xml(&client, prefixed).await.is_invalid(&[("#/name", twice)]);
}

#[tokio::test]
async fn nil_element_is_null() {
    let (_server, client) = serve_pets().await;
    let null = "must not be null";
    for (name, attribute) in [
        ("name", "xsi:nil='true'"),
        ("name", "xsi:nil=' 1 '"),
        ("name", "xmlns:i='http://www.w3.org/2001/XMLSchema-instance' i:nil='true'"),
    ] {
        let answer = send_xml(&client, format!("<pet {XSI}><{name} {attribute}/></pet>")).await;
        is_broken(&answer, &[(&format!("#/{name}"), null)]);
    }
    for name in
        ["category", "photoUrls", "tags", "status", "tame", "born", "seen", "chip", "legs", "price", "mail"]
    {
        let body = format!("<pet {XSI}><name>a</name><{name} xsi:nil='true'/></pet>");
        is_broken(&send_xml(&client, body).await, &[(&format!("#/{name}"), null)]);
    }
    let id = format!("<pet {XSI}><name>a</name><id xsi:nil='true'/></pet>");
    send_xml(&client, id).await.is_invalid(&[("#/id", null)]);
    is_broken(&send_xml(&client, format!("<pet {XSI} xsi:nil='true'/>")).await, &[("#", null)]);
    for fine in
        ["xsi:nil='false'", "xsi:nil='0'", "nil='true'", "xsi:type='x'", "xmlns:i='urn:other' i:nil='true'"]
    {
        let answer = send_xml(&client, format!("<pet {XSI}><name {fine}>a</name></pet>")).await;
        answer.is(200, &json!({"name": "a"}));
    }
}

#[tokio::test]
async fn list_can_be_the_whole_body() {
    let (_server, client) = serve_pets().await;
    let read = json!([{"name": "a"}, {"id": 2, "name": "b"}]);
    let xml = |body: &'static str| client.post("/pets").body("application/xml", body).send();
    xml("<pets><pet><name>a</name></pet><pet><id>2</id><name>b</name></pet></pets>").await.is(200, &read);
    client.post("/pets").json(&read).send().await.is(200, &read);
    // This type keeps the usual kind for what breaks a rule.
    xml("<pets/>").await.is_invalid(&[("#", "must have at least one item")]);
    xml("<pets><pet/><pet><name>a</name><legs>x</legs></pet></pets>")
        .await
        .is_invalid(&[("#/0/name", "is required"), ("#/1/legs", "must be a whole number from 0 to 1000")]);
    xml("<pet><name>a</name></pet>")
        .await
        .is_invalid(&[("#", "must be an XML document with the root element pets, not pet")]);
    client.post("/pets").json(&json!({})).send().await.is_invalid(&[("#", "must be a list")]);
    client
        .post("/pets")
        .json(&json!([{"name": "a"}, []]))
        .send()
        .await
        .is_invalid(&[("#/1", "must be a JSON object")]);
}
