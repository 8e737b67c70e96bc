//! The headers of a message, copied.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};

/// How much of the headers of a message is copied, in bytes; further headers are left out.
const MOST: usize = 16 << 10;

/// Room for a usual header with its name and the two lengths, in bytes. Headers that need more are copied once more.
const USUAL: usize = 64;

/// A copy of headers, with room for so many more bytes: for each header the length of its name and of its value, in two bytes each, then
/// both. The header with the name `last` comes last; gives how many bytes the others have.
pub(super) fn copy(headers: &HeaderMap, last: Option<&HeaderName>, more: usize) -> (Vec<u8>, usize) {
    let mut bytes = Vec::with_capacity((headers.len() * USUAL).min(MOST) + more);
    let mut own = None;
    for (name, value) in headers {
        let is_last = |last: &HeaderName| name.as_str().len() == last.as_str().len() && name == last;
        if last.is_some_and(is_last) {
            own = Some((name, value));
        } else if !add(&mut bytes, name, value) {
            break;
        }
    }
    let others = bytes.len();
    if let Some((name, value)) = own {
        add(&mut bytes, name, value);
    }
    (bytes, others)
}

/// Adds a header, unless there would be too many bytes.
#[inline]
fn add(bytes: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) -> bool {
    let (name, value) = (name.as_str().as_bytes(), value.as_bytes());
    let length = 4 + name.len() + value.len();
    if bytes.len() + length > MOST {
        return false;
    }
    bytes.reserve(length);
    let lengths = name.len() as u32 | (value.len() as u32) << 16;
    bytes.extend_from_slice(&lengths.to_le_bytes());
    bytes.extend_from_slice(name);
    bytes.extend_from_slice(value);
    true
}

/// Headers in one piece of memory. A copy of the map would take several allocations, and keep the buffer of the connection in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedHeaders<'b> {
    bytes: Cow<'b, [u8]>,
    /// How many of the bytes are headers that other messages may have as well.
    common: usize,
}

impl<'b> CapturedHeaders<'b> {
    pub fn new(headers: &HeaderMap) -> CapturedHeaders<'static> {
        let (bytes, common) = copy(headers, None, 0);
        CapturedHeaders { bytes: bytes.into(), common }
    }

    /// The names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.parts().filter_map(|(name, value)| Some((std::str::from_utf8(name).ok()?, value)))
    }

    fn parts(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut rest = &*self.bytes;
        std::iter::from_fn(move || {
            let (name_length, value_length) = (length(&mut rest)?, length(&mut rest)?);
            let (name, after) = rest.split_at_checked(name_length)?;
            let (value, after) = after.split_at_checked(value_length)?;
            rest = after;
            Some((name, value))
        })
    }

    /// The value of the first header with this name.
    pub fn get(&self, wanted: &HeaderName) -> Option<&[u8]> {
        let wanted = wanted.as_str().as_bytes();
        self.parts().find(|(name, _)| *name == wanted).map(|(_, value)| value)
    }

    /// The headers that other messages may have as well, as bytes, and those that no other message has.
    pub fn as_bytes(&self) -> (&[u8], &[u8]) {
        self.bytes.split_at(self.common)
    }

    /// The headers whose bytes these are.
    pub fn from_bytes(common: &[u8], own: &[u8]) -> CapturedHeaders<'static> {
        CapturedHeaders { bytes: [common, own].concat().into(), common: common.len() }
    }

    pub(super) fn in_message(bytes: &'b [u8], common: usize) -> Self {
        CapturedHeaders { bytes: bytes.into(), common }
    }
}

fn length(rest: &mut &[u8]) -> Option<usize> {
    let (length, after) = rest.split_first_chunk::<2>()?;
    *rest = after;
    Some(u16::from_le_bytes(*length).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_copied_in_order_with_repeats() {
        let mut headers = HeaderMap::new();
        headers.append("accept", "a".parse().unwrap());
        headers.append("x-empty", "".parse().unwrap());
        headers.append("accept", http::HeaderValue::from_bytes(b"\xff").unwrap());
        let copied = CapturedHeaders::new(&headers);
        let all: Vec<_> = copied.iter().collect();
        assert_eq!(all, [("accept", &b"a"[..]), ("accept", b"\xff"), ("x-empty", b"")]);
        assert_eq!(copied.get(&http::header::ACCEPT), Some(&b"a"[..]));
        assert_eq!(copied.get(&http::header::HOST), None);
    }

    #[test]
    fn header_of_one_message_comes_last() {
        let of = |pairs: &[(&'static str, &str)]| -> HeaderMap {
            pairs
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
                .collect()
        };
        let headers = of(&[("x-request-id", "1"), ("content-type", "a"), ("x-other", "b")]);
        let (bytes, common) = copy(&headers, Some(&HeaderName::from_static("x-request-id")), 0);
        let copied = CapturedHeaders::in_message(&bytes, common);
        let all: Vec<_> = copied.iter().collect();
        assert_eq!(all, [("content-type", &b"a"[..]), ("x-other", b"b"), ("x-request-id", b"1")]);
        let others = CapturedHeaders::new(&of(&[("content-type", "a"), ("x-other", "b")]));
        assert_eq!(copied.as_bytes().0, others.as_bytes().0);
    }

    #[test]
    fn headers_beyond_16_kib_are_left_out() {
        let mut headers = HeaderMap::new();
        for _ in 0..10 {
            headers.append("x-long", http::HeaderValue::from_bytes(&[b'x'; 4000]).unwrap());
        }
        headers.append("x-longer", http::HeaderValue::from_bytes(&[b'x'; 70_000]).unwrap());
        let copied = CapturedHeaders::new(&headers);
        assert_eq!(copied.iter().count(), 4);
        let (common, own) = copied.as_bytes();
        assert!(common.len() <= MOST && own.is_empty());
        assert_eq!(CapturedHeaders::from_bytes(common, own), copied);
    }
}
