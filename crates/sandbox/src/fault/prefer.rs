//! The fault that a call asks for, by the header `Prefer` (RFC 7240): `code=503`, `delay=2`, `drop=after`.
//!
//! A preference whose value is invalid is not applied, and so is one that cannot be honoured together with another: a connection
//! that is closed without an answer has no status. What was applied is in the header `Preference-Applied` of the answer. Of a
//! preference that is stated more than once, the first counts, as the RFC says.

use std::time::Duration;

use db::Word;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::{Decision, DropPoint, LONGEST_DELAY, StatusFault};

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// What a call asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preferred {
    pub decision: Decision,
    /// The value of the header `Preference-Applied`.
    pub applied: HeaderValue,
}

/// The fault that a call asks for, if it does.
pub fn preferred(headers: &HeaderMap) -> Option<Preferred> {
    let (mut code, mut delay, mut drop) = (None, None, None);
    for header in headers.get_all(PREFER) {
        for (name, value) in header.to_str().ok().into_iter().flat_map(preferences) {
            let slot = match name.to_ascii_lowercase().as_str() {
                "code" => &mut code,
                "delay" => &mut delay,
                "drop" => &mut drop,
                _ => continue,
            };
            slot.get_or_insert(value);
        }
    }
    let drop = drop.and_then(|drop| DropPoint::from_word(&drop.to_ascii_lowercase()));
    let has_answer = matches!(drop, None | Some(DropPoint::Middle));
    let code = code.filter(|_| has_answer).and_then(|code| status(&code));
    let delay = delay.and_then(|text| seconds(&text).map(|delay| (text, delay)));

    let mut applied = Vec::new();
    applied.extend(code.map(|code| format!("code={}", code.as_u16())));
    applied.extend(delay.as_ref().map(|(text, _)| format!("delay={text}")));
    applied.extend(drop.map(|drop| format!("drop={}", drop.word())));
    if applied.is_empty() {
        return None;
    }
    let status = code.map(|status| StatusFault {
        status,
        detail: "The header Prefer asks for this answer; the call was not done.".into(),
        retry_after: None,
    });
    let delay = delay.map(|(_, delay)| delay).unwrap_or_default();
    let applied = HeaderValue::try_from(applied.join(", ")).ok()?;
    Some(Preferred { decision: Decision { delay, status, drop, ..Decision::default() }, applied })
}

fn status(text: &str) -> Option<StatusCode> {
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let status = text.parse().ok().filter(|_| digits).and_then(|status| StatusCode::from_u16(status).ok())?;
    (status.is_client_error() || status.is_server_error()).then_some(status)
}

/// Seconds with at most three decimals.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits =
        |text: &str, most| (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole, 2) || !digits(decimals, 3) {
        return None;
    }
    let ms: u64 = format!("{decimals:0<3}").parse().ok()?;
    let delay = Duration::from_secs(whole.parse().ok()?) + Duration::from_millis(ms);
    (delay <= LONGEST_DELAY).then_some(delay)
}

/// The names and values of the preferences of a header. A preference that is not well formed is left out.
fn preferences(header: &str) -> impl Iterator<Item = (&str, String)> {
    unquoted(header, b',').filter_map(|preference| {
        // Parameters follow after a semicolon; the preferences that are known here have none.
        let stated = unquoted(preference, b';').next()?;
        let (name, value) = stated.split_once('=').unwrap_or((stated, ""));
        let name = name.trim();
        let is_token = !name.is_empty() && name.bytes().all(is_token_byte);
        is_token.then_some(())?;
        Some((name, word(value.trim())?))
    })
}

/// The parts of a text between separators that are not within quotes.
fn unquoted(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |found: char| {
        let is_separator = !quoted && found == char::from(separator);
        match found {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        is_separator
    })
}

/// The value of a token or of a quoted text.
fn word(text: &str) -> Option<String> {
    let Some(rest) = text.strip_prefix('"') else {
        return text.bytes().all(is_token_byte).then(|| text.to_owned());
    };
    let mut value = String::new();
    let mut letters = rest.chars();
    loop {
        match letters.next()? {
            '"' => break,
            '\\' => value.push(letters.next()?),
            letter => value.push(letter),
        }
    }
    letters.next().is_none().then_some(value)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Option<Preferred> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append("Prefer", HeaderValue::from_str(value).unwrap());
        }
        preferred(&headers)
    }

    /// The value of `Preference-Applied`; empty without one.
    fn applied(values: &[&str]) -> String {
        of(values).map(|preferred| preferred.applied.to_str().unwrap().to_owned()).unwrap_or_default()
    }

    #[test]
    fn preferences_become_a_decision() {
        let asked = of(&["code=503, delay=2"]).unwrap();
        let status = asked.decision.status.as_ref().unwrap();
        assert_eq!((status.status.as_u16(), status.retry_after), (503, None));
        assert_eq!(asked.decision.delay, Duration::from_secs(2));
        assert_eq!((asked.decision.drop, asked.decision.rule), (None, None));
        let asked = of(&["drop=after"]).unwrap();
        let expected = Decision { drop: Some(DropPoint::After), ..Decision::default() };
        assert_eq!(asked.decision, expected);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["respond-async, wait=10"]), None);
    }

    #[test]
    fn every_form_of_rfc_7240_is_read() {
        for (sent, expected) in [
            (&["code=503"][..], "code=503"),
            (&["Code = 503"], "code=503"),
            (&["code=\"503\""], "code=503"),
            (&["code=\"5\\03\""], "code=503"),
            (&["code=503; foo=bar; baz"], "code=503"),
            (&["foo; bar=\"a,b;c\", delay=1, drop=middle"], "delay=1, drop=middle"),
            (&["foo=\"code=500, \\\" code=501\", code=502"], "code=502"),
            (&["respond-async", "delay=0.25", "code=429"], "code=429, delay=0.25"),
            (&[",, ,code=404,"], "code=404"),
            (&["drop=BEFORE"], "drop=before"),
            (&["delay=60"], "delay=60"),
            (&["delay=60.000"], "delay=60.000"),
            (&["delay=0"], "delay=0"),
        ] {
            assert_eq!(applied(sent), expected, "{sent:?}");
        }
    }

    #[test]
    fn first_of_repeated_preferences_counts() {
        assert_eq!(applied(&["code=503, code=404"]), "code=503");
        assert_eq!(applied(&["code=503", "CODE=404"]), "code=503");
        assert_eq!(applied(&["code=200, code=404"]), "", "also if its value is invalid");
    }

    #[test]
    fn invalid_values_are_not_applied() {
        for invalid in [
            "code=200",
            "code=399",
            "code=600",
            "code=0503",
            "code=+503",
            "code",
            "code=",
            "code=\"503",
            "code=abc",
            "code=50 3",
            "delay=61",
            "delay=60.001",
            "delay=-1",
            "delay=1e1",
            "delay=.5",
            "delay=1.",
            "delay=0.0001",
            "delay=001",
            "delay",
            "drop=never",
            "drop",
            "drop=\"after",
            "=503",
            "co de=503",
            "code==503",
            "code=\"503\"x",
            "code=(503)",
        ] {
            assert_eq!(applied(&[invalid]), "", "{invalid}");
        }
        assert_eq!(applied(&["code=200, delay=1"]), "delay=1", "the others are applied");
    }

    #[test]
    fn status_is_not_applied_to_a_connection_without_an_answer() {
        assert_eq!(applied(&["code=503, drop=before"]), "drop=before");
        assert_eq!(applied(&["drop=after, code=503"]), "drop=after");
        assert_eq!(applied(&["drop=middle, code=503"]), "code=503, drop=middle");
        assert_eq!(
            applied(&["drop=never, code=503"]),
            "code=503",
            "an invalid preference contradicts nothing"
        );
    }

    #[test]
    fn header_of_other_bytes_is_ignored() {
        let mut headers = HeaderMap::new();
        headers.append("prefer", HeaderValue::from_bytes(b"code=503, x=\xff").unwrap());
        headers.append("prefer", HeaderValue::from_static("delay=1"));
        assert_eq!(preferred(&headers).unwrap().applied, "delay=1");
    }
}
