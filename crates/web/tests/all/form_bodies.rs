//! Bodies that are forms, and which forms of a body an operation takes.

use crate::support::{
    RawConnection,
    pets::{is_broken, serve_pets},
};
use serde_json::json;

const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn form_is_read_by_the_rules_of_its_members() {
    let (_server, client) = serve_pets().await;
    let send = async |body: &'static str| client.post("/pet").body(FORM, body).send().await;
    for (body, read) in [
        ("name=a", json!({"name": "a"})),
        ("name=Tom+%26+Jerry&id=7&tame=true", json!({"id": 7, "name": "Tom & Jerry", "tame": true})),
        ("&legs=4&&name=a&other=1&other=2&", json!({"name": "a", "legs": 4})),
        ("name=a&photoUrls=b&photoUrls=&photoUrls=c", json!({"name": "a", "photoUrls": ["b", "c"]})),
        ("name=a%0D%0Ab&price=1.50", json!({"name": "a\r\nb", "price": "1.50"})),
    ] {
        send(body).await.is(200, &read);
    }
    for (body, errors) in [
        ("", &[("#/name", "is required")][..]),
        ("name=", &[("#/name", "must not be empty")]),
        ("name=a&legs=+4", &[("#/legs", "must be a whole number from 0 to 1000")]),
        ("name=a&tame=1", &[("#/tame", "must be true or false")]),
        ("name=a&category=cats", &[("#/category", "must be an object")]),
        ("name=a&photoUrls=", &[("#/photoUrls", "must have at least one item")]),
        ("name=a&photoUrls=b&tags=x", &[("#/tags/0", "must be an object")]),
        ("name=%EF%BF%BE", &[("#/name", "must not contain the character U+FFFE")]),
    ] {
        is_broken(&send(body).await, errors);
    }
    let id = "must be a whole number from -9223372036854775808 to 9223372036854775807";
    for (body, pointer, why) in [
        ("name=a&name=a", "#/name", "is given more than once"),
        ("name=a&id=x", "#/id", id),
        ("name=%", "#", "has a % that is not followed by two hexadecimal digits"),
        ("name=%ff", "#", "has percent codes that are not UTF-8"),
    ] {
        send(body).await.is_invalid(&[(pointer, why)]);
    }
    let answer = client.post("/pet").body(FORM, b"name=\xff".as_slice()).send().await;
    answer.is_invalid(&[("#", "is not UTF-8")]);
}

#[tokio::test]
async fn unsupported_media_type_gets_415_with_the_supported_ones() {
    let (server, client) = serve_pets().await;
    let all = format!("application/json, application/xml or {FORM}");
    let two = "application/json or application/xml".to_owned();
    for (path, taken) in [("/pet", &all), ("/pets", &two)] {
        for other in ["text/plain", "application/xhtml+xml", "multipart/form-data"] {
            let answer = client.post(path).body(other, "<pet/>").send().await;
            assert_eq!(
                answer.is_problem(415, "unsupported-media-type"),
                format!("The body must be sent as {taken}, not as {other}.")
            );
        }
        let mut wire = RawConnection::connect(server.address()).await;
        wire.send(format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{{}}")).await;
        assert_eq!(
            wire.answer().await.is_problem(415, "unsupported-media-type"),
            format!("The body must be sent as {taken}; the request has no Content-Type.")
        );
    }
    let answer = client.post("/pets").body(FORM, "name=a").send().await;
    assert_eq!(
        answer.is_problem(415, "unsupported-media-type"),
        format!("The body must be sent as {two}, not as {FORM}.")
    );
}

#[tokio::test]
async fn body_in_another_charset_gets_415() {
    let (_server, client) = serve_pets().await;
    let bodies = [
        ("application/json", r#"{"name":"a"}"#),
        ("application/xml", "<pet><name>a</name></pet>"),
        ("text/xml", "<pet><name>a</name></pet>"),
        (FORM, "name=a"),
    ];
    for (media_type, body) in bodies {
        for fine in
            ["charset=utf-8", "charset=UTF-8", "Charset = \"Utf-8\"", "charset=us-ascii", "v=1;charset=utf-8"]
        {
            let answer = client.post("/pet").body(&format!("{media_type}; {fine}"), body).send().await;
            answer.is(200, &json!({"name": "a"}));
        }
        for (other, told) in
            [("charset=iso-8859-1", "iso-8859-1"), ("charset=\"UTF-16\"", "UTF-16"), ("x=y; charset=", "")]
        {
            let answer = client.post("/pet").body(&format!("{media_type}; {other}"), body).send().await;
            assert_eq!(
                answer.is_problem(415, "unsupported-media-type"),
                format!("The body must be sent in UTF-8, not in {told}.")
            );
        }
    }
}
