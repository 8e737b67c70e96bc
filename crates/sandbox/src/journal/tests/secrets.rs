//! Secrets are not recorded.

use super::{
    super::{curl, har},
    bodies::compressed,
    *,
};

const SECRET: &str = "tr0ub4dor";

/// Everything that the journal shows of a call.
fn shown(call: &NewCall<'_>) -> String {
    let journal = journal();
    let entry = journal.get(recorded(&journal, call)).unwrap();
    let call = serde_json::to_string(&entry.call(vec![])).unwrap();
    let archive = serde_json::to_string(&har([&entry], |_| "http://localhost".into())).unwrap();
    let bodies = [entry.plain_body().bytes, entry.plain_answer_body().bytes];
    let bodies = bodies.map(|body| String::from_utf8_lossy(&body).into_owned()).join(" ");
    format!("{call} {entry:?} {:?} {archive} {} {bodies}", entry.summary(), curl(&entry, "http://localhost"))
}

/// Asserts that a call is shown without the secret, with the rest.
#[track_caller]
fn is_redacted(call: &NewCall<'_>) {
    let shown = shown(call);
    assert!(!shown.contains(SECRET) && shown.contains("REDACTED") && shown.contains("ada"), "{shown}");
}

#[test]
fn credentials_in_headers_and_queries_are_redacted() {
    for name in ["authorization", "cookie", "api_key", "x-api-key", "x-secret-key"] {
        let sent = headers(&[(name, SECRET), ("x-name", "ada")]);
        with_call(|call| {
            is_redacted(&NewCall { request: Message { headers: sent.clone(), ..call.request }, ..call });
        });
    }
    let sent = headers(&[("set-cookie", SECRET), ("x-name", "ada")]);
    with_call(|call| {
        is_redacted(&NewCall { answer: Message { headers: sent.clone(), ..call.answer }, ..call });
    });
    for name in ["password", "key", "secret_key"] {
        let query = format!("user=ada&{name}={SECRET}");
        with_call(|call| is_redacted(&NewCall { query: Some(&query), ..call }));
    }
}

#[test]
fn secrets_in_bodies_of_every_format_are_redacted() {
    let json = format!(r#"{{"name": "ada", "password": "{SECRET}"}}"#);
    let cut = format!(r#"{{"name": "ada", "password": "{SECRET}"#);
    let form = format!("name=ada&client_secret={SECRET}");
    let xml = format!("<user><name>ada</name><password>{SECRET}</password></user>");
    let invalid = [json.as_bytes(), b"\xff"].concat();
    for (media_type, body) in [
        ("application/json", json.as_bytes()),
        ("application/json", cut.as_bytes()),
        ("application/x-www-form-urlencoded", form.as_bytes()),
        ("application/xml", xml.as_bytes()),
        ("text/plain", json.as_bytes()),
        ("application/json", &invalid),
    ] {
        let headers = headers(&[("content-type", media_type)]);
        let message = Message { headers: headers.clone(), body, length: body.len() as u64 };
        with_call(|call| is_redacted(&NewCall { request: message.clone(), ..call }));
        with_call(|call| is_redacted(&NewCall { answer: message.clone(), ..call }));
    }
}

#[test]
fn secrets_in_compressed_bodies_are_redacted() {
    let body = compressed(format!(r#"{{"name": "ada", "access_token": "{SECRET}"}}"#).as_bytes());
    for encoding in ["gzip", "GZIP", "x-gzip", "X-Gzip"] {
        let headers = headers(&[("content-type", "application/json"), ("content-encoding", encoding)]);
        let message = Message { headers: headers.clone(), body: &body, length: body.len() as u64 };
        with_call(|call| is_redacted(&NewCall { answer: message.clone(), ..call }));
        with_call(|call| is_redacted(&NewCall { request: message.clone(), ..call }));
    }
}
