//! Entries as HAR 1.2, the format in which browsers and HTTP tools exchange calls.

use http::{Version, header};
use jiff::Timestamp;
use model::Resource;
use web::input::form_pairs;

use super::{Entry, Header, body::PlainBody, headers::Headers};

/// An HTTP archive, version 1.2.
#[derive(Debug, Clone, PartialEq, Resource)]
pub struct Har {
    pub log: HarLog,
}

/// The log of an archive.
#[derive(Debug, Clone, PartialEq, Resource)]
pub struct HarLog {
    #[field(rule = text(..), example = "1.2")]
    pub version: String,
    pub creator: HarCreator,
    /// The calls, the oldest first.
    #[field(items = 0..=1000)]
    pub entries: Vec<HarEntry>,
}

/// The program that made an archive.
#[derive(Debug, Clone, PartialEq, Resource)]
pub struct HarCreator {
    #[field(rule = text(..), example = "Triptych")]
    pub name: String,
    #[field(rule = text(..))]
    pub version: String,
}

/// A call in an archive.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(case = "camelCase")]
pub struct HarEntry {
    pub started_date_time: Timestamp,
    /// Milliseconds.
    #[field(rule = number(0.0..=LONGEST_MS))]
    pub time: f64,
    pub request: HarRequest,
    pub response: HarResponse,
    pub cache: HarCache,
    pub timings: HarTimings,
    /// The number of the call in the journal.
    #[field(rule = text(..), example = "call 17")]
    pub comment: String,
}

/// The request of a call.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(case = "camelCase")]
pub struct HarRequest {
    #[field(rule = text(..), example = "GET")]
    pub method: String,
    #[field(rule = text(..))]
    pub url: String,
    #[field(rule = text(..), example = "HTTP/1.1")]
    pub http_version: String,
    /// Always empty: cookies are secrets.
    #[field(items = 0..=0)]
    pub cookies: Vec<Header>,
    #[field(items = 0..=usize::MAX)]
    pub headers: Vec<Header>,
    #[field(items = 0..=usize::MAX)]
    pub query_string: Vec<Header>,
    pub post_data: Option<HarPostData>,
    /// Always -1: not known.
    pub headers_size: i64,
    pub body_size: i64,
}

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(case = "camelCase")]
pub struct HarPostData {
    #[field(rule = text(..))]
    pub mime_type: String,
    #[field(rule = text(..))]
    pub text: String,
    /// Says whether the text is base64, or cut.
    #[field(rule = text(..))]
    pub comment: Option<String>,
}

/// The answer of a call.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(case = "camelCase")]
pub struct HarResponse {
    /// 0 if the connection was closed before the answer.
    pub status: i64,
    #[field(rule = text(..))]
    pub status_text: String,
    #[field(rule = text(..))]
    pub http_version: String,
    /// Always empty: cookies are secrets.
    #[field(items = 0..=0)]
    pub cookies: Vec<Header>,
    #[field(items = 0..=usize::MAX)]
    pub headers: Vec<Header>,
    pub content: HarContent,
    #[field(name = "redirectURL", rule = text(..))]
    pub redirect_url: String,
    /// Always -1: not known.
    pub headers_size: i64,
    pub body_size: i64,
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq, Resource)]
#[resource(case = "camelCase")]
pub struct HarContent {
    pub size: i64,
    #[field(rule = text(..))]
    pub mime_type: String,
    #[field(rule = text(..))]
    pub text: Option<String>,
    /// `base64` for a body that is not UTF-8.
    #[field(rule = text(..))]
    pub encoding: Option<String>,
    /// Says whether the text is cut.
    #[field(rule = text(..))]
    pub comment: Option<String>,
}

/// What a cache did: nothing is known.
#[derive(Debug, Clone, PartialEq, Resource)]
pub struct HarCache {}

/// The parts of the time of a call, in milliseconds.
#[derive(Debug, Clone, PartialEq, Resource)]
pub struct HarTimings {
    #[field(rule = number(0.0..=LONGEST_MS))]
    pub send: f64,
    #[field(rule = number(0.0..=LONGEST_MS))]
    pub wait: f64,
    #[field(rule = number(0.0..=LONGEST_MS))]
    pub receive: f64,
}

/// A day; no call takes longer.
const LONGEST_MS: f64 = 86_400_000.0;

/// An archive of entries in any order. `base_url` is where clients reach a service, with the prefix of the sandbox.
pub fn har<'e>(entries: impl IntoIterator<Item = &'e Entry>, base_url: impl Fn(&str) -> String) -> Har {
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort_by_key(|entry| entry.number);
    let entries = entries.into_iter().map(|entry| archived(entry, &base_url(entry.service))).collect();
    let creator = HarCreator { name: "Triptych".into(), version: env!("CARGO_PKG_VERSION").into() };
    Har { log: HarLog { version: "1.2".into(), creator, entries } }
}

fn archived(entry: &Entry, base_url: &str) -> HarEntry {
    let time = entry.duration_ms();
    HarEntry {
        started_date_time: entry.time,
        time,
        request: request(entry, base_url),
        response: response(entry),
        cache: HarCache {},
        timings: HarTimings { send: 0.0, wait: time, receive: 0.0 },
        comment: format!("call {}", entry.number),
    }
}

fn request(entry: &Entry, base_url: &str) -> HarRequest {
    let query = entry.query();
    let query = query.as_deref().and_then(|query| form_pairs(query).ok()).unwrap_or_default();
    let pair = |(name, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| Header {
        name: name.into_owned(),
        value: value.into_owned(),
    };
    let plain = entry.plain_body();
    let post_data = plain.shown().map(|body| HarPostData {
        mime_type: media_type(&entry.headers),
        text: body.text,
        comment: match (body.base64, cut(&plain)) {
            (true, Some(cut)) => Some(format!("base64; {cut}")),
            (true, None) => Some("base64".into()),
            (false, cut) => cut,
        },
    });
    HarRequest {
        method: entry.method.to_string(),
        url: format!("{base_url}{}", entry.target()),
        http_version: version(entry.version).into(),
        cookies: Vec::new(),
        headers: entry.headers.shown(),
        query_string: query.into_iter().map(pair).collect(),
        post_data,
        headers_size: -1,
        body_size: size(entry.body.length()),
    }
}

fn response(entry: &Entry) -> HarResponse {
    let plain = entry.plain_answer_body();
    let body = plain.shown();
    let encoding = body.as_ref().filter(|body| body.base64).map(|_| "base64".to_owned());
    HarResponse {
        status: entry.status.map_or(0, |status| i64::from(status.as_u16())),
        status_text: entry.status.and_then(|status| status.canonical_reason()).unwrap_or_default().into(),
        http_version: version(entry.version).into(),
        cookies: Vec::new(),
        headers: entry.answer_headers.shown(),
        content: HarContent {
            size: size(plain.length),
            mime_type: media_type(&entry.answer_headers),
            text: body.map(|body| body.text),
            encoding,
            comment: cut(&plain),
        },
        redirect_url: entry.answer_headers.get(&header::LOCATION).unwrap_or_default(),
        headers_size: -1,
        body_size: size(entry.answer_body.length()),
    }
}

fn media_type(headers: &Headers) -> String {
    headers.get(&header::CONTENT_TYPE).unwrap_or_default()
}

fn size(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// A comment about a body that the journal has only the beginning of.
fn cut(body: &PlainBody) -> Option<String> {
    body.truncated.then(|| format!("the first {} of {} bytes", body.bytes.len(), body.length))
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        Version::HTTP_3 => "HTTP/3",
        _ => "HTTP/1.1",
    }
}
