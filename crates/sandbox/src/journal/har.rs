//! Entries as HAR 1.2, the format in which browsers and HTTP tools exchange calls.

use http::{Version, header};
use jiff::Timestamp;
use model::Resource;
use web::input::form_pairs;

use super::{
    Entry, Header,
    body::{KeptBody, PlainBody},
    headers::Headers,
};

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
    /// Says whether the text is base64, cut, or left out.
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
    /// Says whether the text is cut or left out.
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

/// How much of the bodies an archive has, in bytes of JSON. A small compressed body can be a long text.
const MOST_BODIES: usize = 16 << 20;

/// An archive of entries in any order. `base_url` is where clients reach a service, with the prefix of the sandbox. Bodies after
/// the first 16 MiB are left out.
pub fn har<'e>(entries: impl IntoIterator<Item = &'e Entry>, base_url: impl Fn(&str) -> String) -> Har {
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort_by_key(|entry| entry.number);
    let mut bodies = Bodies { left: MOST_BODIES };
    let entries =
        entries.into_iter().map(|entry| archived(entry, &base_url(&entry.service), &mut bodies)).collect();
    let creator = HarCreator { name: "Triptych".into(), version: env!("CARGO_PKG_VERSION").into() };
    Har { log: HarLog { version: "1.2".into(), creator, entries } }
}

fn archived(entry: &Entry, base_url: &str, bodies: &mut Bodies) -> HarEntry {
    let time = entry.duration_ms();
    HarEntry {
        started_date_time: entry.time,
        time,
        request: request(entry, base_url, bodies),
        response: response(entry, bodies),
        cache: HarCache {},
        timings: HarTimings { send: 0.0, wait: time, receive: 0.0 },
        comment: format!("call {}", entry.number),
    }
}

fn request(entry: &Entry, base_url: &str, bodies: &mut Bodies) -> HarRequest {
    let query = entry.query();
    let query = query.as_deref().and_then(|query| form_pairs(query).ok()).unwrap_or_default();
    let pair = |(name, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| Header {
        name: name.into_owned(),
        value: value.into_owned(),
    };
    let body = bodies.next(&entry.body, &entry.headers);
    let post_data = body.map(|body| HarPostData {
        mime_type: media_type(&entry.headers),
        comment: match (body.base64, body.comment) {
            (true, Some(comment)) => Some(format!("base64; {comment}")),
            (true, None) => Some("base64".into()),
            (false, comment) => comment,
        },
        text: body.text.unwrap_or_default(),
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

fn response(entry: &Entry, bodies: &mut Bodies) -> HarResponse {
    let body = bodies.next(&entry.answer_body, &entry.answer_headers).unwrap_or_default();
    HarResponse {
        status: entry.status.map_or(0, |status| i64::from(status.as_u16())),
        status_text: entry.status.and_then(|status| status.canonical_reason()).unwrap_or_default().into(),
        http_version: version(entry.version).into(),
        cookies: Vec::new(),
        headers: entry.answer_headers.shown(),
        content: HarContent {
            size: size(body.length),
            mime_type: media_type(&entry.answer_headers),
            text: body.text,
            encoding: body.base64.then(|| "base64".into()),
            comment: body.comment,
        },
        redirect_url: entry.answer_headers.get(&header::LOCATION).unwrap_or_default(),
        headers_size: -1,
        body_size: size(entry.answer_body.length()),
    }
}

/// The bodies of an archive, of which there is a limit.
struct Bodies {
    /// How many bytes are left.
    left: usize,
}

/// A body in an archive.
#[derive(Default)]
struct ArchivedBody {
    text: Option<String>,
    base64: bool,
    length: u64,
    comment: Option<String>,
}

impl Bodies {
    /// The next body; none if it is empty. After the limit, no body is decompressed.
    fn next(&mut self, kept: &KeptBody, headers: &Headers) -> Option<ArchivedBody> {
        if self.left > 0 {
            let plain = kept.plain(headers);
            let body = plain.shown()?;
            if let Some(left) = self.left.checked_sub(json_length(&body.text)) {
                self.left = left;
                let (text, comment) = (Some(body.text), cut(&plain));
                return Some(ArchivedBody { text, base64: body.base64, length: plain.length, comment });
            }
            self.left = 0;
        }
        let comment =
            format!("left out, as the bodies of the archive have more than {} MiB", MOST_BODIES >> 20);
        let left_out = ArchivedBody { length: kept.length(), comment: Some(comment), ..Default::default() };
        Some(left_out).filter(|body| body.length > 0)
    }
}

/// The length of a text in JSON.
fn json_length(text: &str) -> usize {
    let length = |byte| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(length).sum()
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
