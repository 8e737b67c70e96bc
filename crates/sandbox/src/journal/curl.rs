//! An entry as a command for a shell.

use http::{Method, header};

use super::{
    Entry,
    body::{PlainBody, is_compressed, is_gzip},
    entry::MOST_TEXT_BYTES,
};

/// Headers that curl makes itself, or that would make it print compressed bytes.
const LEFT_OUT: &[header::HeaderName] = &[
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::ACCEPT_ENCODING,
    header::EXPECT,
];

/// A command that repeats the call. `base_url` is where clients reach the service, with the prefix of the sandbox. Secrets are
/// redacted in it, as they are in the journal. Comments in front of it say what of the call it does not have.
pub fn curl(entry: &Entry, base_url: &str) -> String {
    let body = entry.plain_body();
    let command = command(entry, &body, base_url);
    let lines = [target_comment(entry), body_comment(entry, &body), Some(command)];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn target_comment(entry: &Entry) -> Option<String> {
    let most = MOST_TEXT_BYTES;
    let comment = || {
        format!("# The path or the query had more than {most} bytes; this command sends the first {most}.")
    };
    entry.is_target_cut.then(comment)
}

fn body_comment(entry: &Entry, body: &PlainBody) -> Option<String> {
    let (kept, length) = (body.bytes.len(), body.length);
    // A body of a declared length is complete with all its bytes, even if its end was not awaited.
    let is_unread = !entry.read_to_end && entry.headers.get(&header::CONTENT_LENGTH).is_none();
    match () {
        () if is_unread => {
            Some(format!("# The body was not read to its end; this command sends the first {kept} bytes."))
        }
        () if !body.truncated => None,
        () if kept == 0 => {
            Some(format!("# The journal does not have the body of {length} bytes; this command sends none."))
        }
        () if is_compressed(&entry.headers) => {
            Some(format!("# Of the compressed body, this command sends the first {kept} bytes."))
        }
        () => Some(format!("# The body had {length} bytes; this command sends the first {kept}.")),
    }
}

fn command(entry: &Entry, body: &PlainBody, base_url: &str) -> String {
    let url = format!("{base_url}{}", entry.target());
    let has_body = !body.bytes.is_empty();
    let mut parts = vec!["curl".to_owned()];
    // curl waits for a body after `-X HEAD`.
    match &entry.method {
        &Method::HEAD => parts.push("--head".into()),
        &Method::GET if !has_body => {}
        &Method::POST if has_body => {}
        method => parts.push(format!("-X {}", quoted(method.as_str()))),
    }
    if url.contains(['[', ']', '{', '}']) {
        parts.push("--globoff".into());
    }
    if url.contains("/.") {
        parts.push("--path-as-is".into());
    }
    parts.push(quoted(&url));
    let sent = entry.headers.iter().filter(|(name, _)| !LEFT_OUT.iter().any(|left_out| left_out == *name));
    // The command has the body without its compression.
    let sent = sent.filter(|(name, value)| *name != "content-encoding" || !is_gzip(value.trim().as_bytes()));
    for (name, value) in sent {
        // curl sends a header without a value only if it ends with a semicolon.
        let header = if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") };
        parts.push(format!("-H {}", quoted(&header)));
    }
    if !has_body {
        return parts.join(" ");
    }
    if entry.headers.get(&header::CONTENT_TYPE).is_none() {
        // curl would say that the body is a form.
        parts.push("-H 'content-type:'".into());
    }
    match body.text().filter(|text| !text.contains('\0')) {
        // Unlike `--data`, it sends a body that begins with @ as it is.
        Some(text) => {
            parts.push(format!("--data-raw {}", quoted(text)));
            parts.join(" ")
        }
        None => {
            parts.push("--data-binary @-".into());
            format!("printf '%s' {} | base64 -d | {}", quoted(&body.base64()), parts.join(" "))
        }
    }
}

/// The text as one word for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
