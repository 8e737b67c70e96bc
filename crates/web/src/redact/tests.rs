use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn headers_with_credentials_are_secret() {
    for name in [
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "api_key",
        "api-key",
        "x-api-key",
        "x-auth-token",
        "x-csrf-token",
        "x-client-secret",
        "x-secret-key",
        "secretkey",
    ] {
        assert!(is_secret_header(&name.parse().unwrap()), "{name}");
    }
    for name in [
        "accept",
        "content-type",
        "host",
        "location",
        "www-authenticate",
        "idempotency-key",
        "etag",
        "ratelimit",
    ] {
        assert!(!is_secret_header(&name.parse().unwrap()), "{name}");
    }
}

#[test]
fn values_of_headers_lose_their_secrets() {
    for (name, value, shown) in [
        ("authorization", "Bearer abc", "REDACTED"),
        ("set-cookie", "session=abc; HttpOnly", "REDACTED"),
        ("accept", "a?token=b", "a?token=b"),
        (
            "location",
            "https://app.example/cb?code=abc&state=x",
            "https://app.example/cb?code=REDACTED&state=x",
        ),
        ("location", "/v3/pet/7", "/v3/pet/7"),
        (
            "referer",
            "http://h/?q=1#access_token=abc&token_type=b",
            "http://h/?q=1#access_token=REDACTED&token_type=b",
        ),
    ] {
        assert_eq!(header_value(&name.parse().unwrap(), &value.parse().unwrap()), shown);
    }
    let bytes = HeaderValue::from_bytes(b"caf\xe9").unwrap();
    assert_eq!(header_value(&header::USER_AGENT, &bytes), "caf\u{fffd}");
}

#[test]
fn query_of_a_target_loses_its_secrets() {
    for (text, shown) in [
        ("/v3/user/login?username=ada&password=pw", "/v3/user/login?username=ada&password=REDACTED"),
        ("/v3/user/login?password=", "/v3/user/login?password=REDACTED"),
        ("/a?p%61ssword=x&PassWord=y&a+b=c", "/a?p%61ssword=REDACTED&PassWord=REDACTED&a+b=c"),
        ("/a?key=1&Key=2&monkey=3", "/a?key=REDACTED&Key=REDACTED&monkey=3"),
        ("/a?api_key=1&api_key=2", "/a?api_key=REDACTED&api_key=REDACTED"),
        ("/a?next=/b?code=1", "/a?next=/b?code=REDACTED"),
        ("/password=1/token", "/password=1/token"),
        ("http://h.example:1/a?token=1", "http://h.example:1/a?token=REDACTED"),
        ("/a?password", "/a?password"),
        ("*", "*"),
    ] {
        assert_eq!(target(&text.parse().unwrap()), shown, "{text}");
    }
}

#[test]
fn form_loses_its_secrets() {
    let sent = "grant_type=authorization_code&code=abc&code_verifier=def&client_id=demo&client_secret=g%26h&redirect_uri=x";
    let shown = "grant_type=authorization_code&code=REDACTED&code_verifier=REDACTED&client_id=demo&client_secret=REDACTED&redirect_uri=x";
    assert_eq!(form(sent), shown);
    assert_eq!(
        form("user[password]=a&refresh_token=b&=c&&d"),
        "user[password]=REDACTED&refresh_token=REDACTED&=c&&d"
    );
    assert!(matches!(form("a=b&c=d"), Cow::Borrowed("a=b&c=d")));
}

#[test]
fn json_loses_its_secrets() {
    for (sent, shown) in [
        (r#"{"username":"ada","password":"pw"}"#, r#"{"username":"ada","password":"REDACTED"}"#),
        (r#"{ "password" : "a\"b\\" , "x": 1 }"#, r#"{ "password" : "REDACTED" , "x": 1 }"#),
        (r#"{"pass\u0077ord":"pw"}"#, r#"{"pass\u0077ord":"REDACTED"}"#),
        (r#"{"password":12345,"a":[1]}"#, r#"{"password":"REDACTED","a":[1]}"#),
        (r#"{"password":{"a":["}"]},"b":1}"#, r#"{"password":"REDACTED","b":1}"#),
        (
            r#"{"tokens":[{"token":["a","b"]},{"token":true}]}"#,
            r#"{"tokens":[{"token":"REDACTED"},{"token":"REDACTED"}]}"#,
        ),
        (r#"{"password":null,"a":"password"}"#, r#"{"password":null,"a":"password"}"#),
        (r#"["password","pw"]"#, r#"["password","pw"]"#),
        (r#"{"text":"the \"password\": \"x\""}"#, r#"{"text":"the \"password\": \"x\""}"#),
        (r#"{"code":200,"type":"t"}"#, r#"{"code":200,"type":"t"}"#),
        (r#"{"code":"abc"}"#, r#"{"code":"REDACTED"}"#),
        (
            r#"{"source":{"object":"card","number":"4242","cvc":123}}"#,
            r#"{"source":{"object":"card","number":"REDACTED","cvc":"REDACTED"}}"#,
        ),
    ] {
        assert_eq!(json(sent), shown);
        assert!(serde_json::from_str::<Value>(&json(sent)).is_ok(), "{sent}");
    }
    assert!(matches!(json(r#"{"a":"b"}"#), Cow::Borrowed(_)));
}

#[test]
fn malformed_and_cut_json_loses_its_secrets() {
    for (sent, shown) in [
        (r#"{"a":1,"password":"half of a sec"#, r#"{"a":1,"password":"REDACTED""#),
        (r#"{"password":{"a":"half"#, r#"{"password":"REDACTED""#),
        (r#"{"password":"#, r#"{"password":"#),
        (r#"{"password"#, r#"{"password"#),
        ("{'password': 'pw', 'a': 'b'}", "{'password': \"REDACTED\", 'a': 'b'}"),
        ("{password: pw, a: b}", "{password: \"REDACTED\", a: b}"),
        ("{name: O'Brien, \"password\": \"pw\"}", "{name: O'Brien, \"password\": \"REDACTED\"}"),
        ("{\"name: 5\" inch, 'token': 'pw'}", "{\"name: 5\" inch, 'token': \"REDACTED\"}"),
        ("{\"password\":\"pw\" \"a\":1}", "{\"password\":\"REDACTED\" \"a\":1}"),
        ("{\"password\":pw\n\"a\":1}", "{\"password\":\"REDACTED\"\n\"a\":1}"),
    ] {
        assert_eq!(json(sent), shown);
    }
}

#[test]
fn xml_loses_its_secrets() {
    for (sent, shown) in [
        (
            "<User><name>ada</name><password>pw</password></User>",
            "<User><name>ada</name><password>REDACTED</password></User>",
        ),
        ("<a:password x=\"1\">pw</a:password>", "<a:password x=\"1\">REDACTED</a:password>"),
        ("<password><![CDATA[a</b>]]></password>", "<password>REDACTED</password>"),
        ("<password/><a>b</a>", "<password/><a>b</a>"),
        ("<password></password>", "<password></password>"),
        ("<a token=\"x\" b='c' secret = 'y'>t</a>", "<a token=\"REDACTED\" b='c' secret = 'REDACTED'>t</a>"),
        ("<!-- <password>pw</password> --><a/>", "<!-- <password>pw</password> --><a/>"),
        (
            "<input type=\"hidden\" name=\"token\" value=\"abc\">",
            "<input type=\"hidden\" name=\"token\" value=\"REDACTED\">",
        ),
        ("<input name=\"name\" value=\"abc\">", "<input name=\"name\" value=\"abc\">"),
        ("<a><password>half of a sec", "<a><password>REDACTED"),
        ("<a token=\"half", "<a token=\"REDACTED"),
        ("<a><password", "<a><password"),
        ("<a><passw", "<a><passw"),
        ("<", "<"),
    ] {
        assert_eq!(xml(sent), shown);
    }
    assert!(matches!(xml("<a>b</a>"), Cow::Borrowed(_)));
}

#[test]
fn body_is_treated_by_its_content() {
    for (content_type, sent, shown) in [
        (Some("application/json"), r#"{"token":"a"}"#, r#"{"token":"REDACTED"}"#),
        (Some("text/plain"), r#" {"token":"a"}"#, r#" {"token":"REDACTED"}"#),
        (Some("application/json"), r#"token: a"#, r#"token: "REDACTED""#),
        (Some("application/xml"), "<token>a</token>", "<token>REDACTED</token>"),
        (None, "<token>a</token>", "<token>REDACTED</token>"),
        (Some("application/x-www-form-urlencoded"), "token=a&b=c", "token=REDACTED&b=c"),
        (None, "token=a&b=c", "token=REDACTED&b=c"),
        (Some("image/png"), "", ""),
    ] {
        assert_eq!(body(content_type, sent), shown, "{content_type:?} {sent}");
    }
}

/// Any JSON, in which the text `hidden` is only below members with the name of a secret.
fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[^h]{0,9}".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let secret = inner.clone().prop_map(|value| json!(["hidden", value]));
        let member = prop_oneof![
            ("[a-g]{1,4}", inner.clone()),
            (prop_oneof![Just("password".to_owned()), Just("refresh_token".to_owned())], secret),
        ];
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(member, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same with the values of secrets replaced.
fn expected(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(expected).collect(),
        Value::Object(members) => {
            let member = |(name, value): (String, Value)| {
                let value = if is_secret_name(&name) { REDACTED.into() } else { expected(value) };
                (name, value)
            };
            Value::Object(members.into_iter().map(member).collect())
        }
        other => other,
    }
}

proptest! {
    #[test]
    fn all_members_with_secrets_are_replaced(document in documents(), pretty: bool) {
        let text = if pretty { format!("{document:#}") } else { document.to_string() };
        let redacted = json(&text);
        prop_assert_eq!(serde_json::from_str::<Value>(&redacted).unwrap(), expected(document));
        // Of a document that is cut anywhere, no secret is shown.
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            prop_assert!(!json(&text[..end]).contains("hidden"), "{}", json(&text[..end]));
        }
    }

    #[test]
    fn any_text_can_be_redacted(text in "[\"'{}\\[\\]:,<>/=&?#!\\\\a-c é\n-]{0,60}|\\PC{0,60}|(<?/?(password|token)[ ='\":>]{0,3}){0,6}") {
        let _ = (json(&text), xml(&text), form(&text), address(&text), body(None, &text));
    }
}
