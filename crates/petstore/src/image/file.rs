//! The file of an upload: the body itself, or a part of a form (`multipart/form-data`), where the store accepts those.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use web::{Problem, Result, Upload};

use super::{LARGEST, LONGEST_METADATA};
use crate::Petstore;

/// What a form may have beside the file.
const FORM: usize = 64 * 1024;

/// How many parts of a form are read.
const MOST_PARTS: usize = 20;

/// The bytes of an image, and the note that came with it in a form.
pub(crate) struct ImageFile {
    pub(crate) bytes: Bytes,
    pub(crate) metadata: Option<String>,
}

impl FromRequest<Petstore> for ImageFile {
    type Rejection = Problem;

    async fn from_request(mut request: Request, store: &Petstore) -> Result<Self> {
        let boundary = boundary(request.headers()).filter(|_| store.habits().multipart_upload);
        let Some(boundary) = boundary else {
            let Upload(bytes) = Upload::<LARGEST>::from_request(request, store).await?;
            return Ok(ImageFile { bytes, metadata: None });
        };
        let bytes = HeaderValue::from_static("application/octet-stream");
        request.headers_mut().insert(header::CONTENT_TYPE, bytes);
        let Upload(form) = Upload::<{ LARGEST + FORM }>::from_request(request, store).await?;
        read(&form, &boundary)
    }
}

/// The boundary of a form with parts (RFC 2046, 5.1.1).
fn boundary(headers: &HeaderMap) -> Option<String> {
    let sent = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let (essence, parameters) = sent.split_once(';')?;
    let is_form = essence.trim().eq_ignore_ascii_case("multipart/form-data");
    let boundary = parameter(parameters, "boundary").filter(|text| (1..=70).contains(&text.len()))?;
    is_form.then(|| boundary.to_owned())
}

/// A parameter of a header, without its quotes.
fn parameter<'h>(parameters: &'h str, name: &str) -> Option<&'h str> {
    let mut pairs = parameters.split(';').filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(found, _)| found.trim().eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().trim_matches('"'))
}

fn read(form: &Bytes, boundary: &str) -> Result<ImageFile> {
    let malformed = || Problem::invalid_at("#", "is not a form with parts as its boundary separates them");
    let (mut file, mut metadata) = (None, None);
    let mut rest = form.strip_prefix(format!("--{boundary}").as_bytes()).ok_or_else(malformed)?;
    let delimiter = format!("\r\n--{boundary}");
    for _ in 0..=MOST_PARTS {
        if rest.starts_with(b"--") {
            let bytes =
                file.ok_or_else(|| Problem::invalid_at("#/file", "is required: the bytes of an image"))?;
            return Ok(ImageFile { bytes, metadata });
        }
        rest = rest.strip_prefix(b"\r\n").ok_or_else(malformed)?;
        let end = find(rest, delimiter.as_bytes()).ok_or_else(malformed)?;
        let part = &rest[..end];
        let head = find(part, b"\r\n\r\n").ok_or_else(malformed)?;
        let (head, content) = (String::from_utf8_lossy(&part[..head]), &part[head + 4..]);
        match name(&head) {
            Some("additionalMetadata") => metadata = Some(note(content)?),
            Some("file") if file.is_none() => file = Some(form.slice_ref(content)),
            _ => {}
        }
        rest = &rest[end + delimiter.len()..];
    }
    Err(Problem::invalid_at("#", format!("must have at most {MOST_PARTS} parts")))
}

/// The name of a part, by its headers.
fn name(head: &str) -> Option<&str> {
    let mut headers = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let (_, value) = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-disposition"))?;
    let (_, parameters) = value.split_once(';')?;
    parameter(parameters, "name")
}

fn note(content: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(content).ok().filter(|text| {
        text.chars().count() <= LONGEST_METADATA && !text.chars().any(|c| c.is_control() && c != '\n')
    });
    let wanted = || {
        let detail =
            format!("must be text of at most {LONGEST_METADATA} characters, without control characters");
        Problem::invalid_at("#/additionalMetadata", detail)
    };
    text.map(str::to_owned).ok_or_else(wanted)
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn boundary_is_read_from_the_media_type() {
        let of = |value: &'static str| {
            boundary(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(value))]))
        };
        assert_eq!(of("multipart/form-data; boundary=x").as_deref(), Some("x"));
        assert_eq!(of("Multipart/Form-Data;charset=utf-8; BOUNDARY=\"a b\"").as_deref(), Some("a b"));
        for other in [
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "multipart/mixed; boundary=x",
            "image/png",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn malformed_forms_are_rejected() {
        for form in [
            "",
            "--x",
            "--x\r\n",
            "x",
            "--x\r\n\r\n--x--",
            "--x\r\nA: b\r\n\r\nc",
            "--xy\r\n\r\n\r\n--x--",
            "--x--",
            "--x\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nc\r\n--x--",
        ] {
            let problem = read(&Bytes::from_static(form.as_bytes()), "x").err().unwrap();
            assert_eq!(problem.status(), 400, "{form}");
        }
        let part = "\r\nContent-Disposition: form-data; name=other\r\n\r\n\r\n--x";
        let many = format!("--x{}--", part.repeat(MOST_PARTS + 1));
        assert_eq!(read(&Bytes::from(many), "x").err().unwrap().detail(), "# must have at most 20 parts.");
    }
}
