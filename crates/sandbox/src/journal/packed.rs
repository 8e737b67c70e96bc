//! A call as bytes. A journal keeps its calls in few large pieces of memory: with an allocation for each part of a call, every
//! call would wait for memory that no cache has any more.

use std::{
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

use http::{Method, StatusCode, Version};
use jiff::Timestamp;
use uuid::Uuid;
use web::observe::CapturedHeaders;

use super::{
    Entry, NewCall,
    body::{KeptBody, first},
    entry::{MOST_EVENTS, MOST_TEXT_BYTES},
    headers::Headers,
};

/// How many parts a call has.
const PARTS: usize = 14;

/// The bytes of the numbers of a call; the last one says which parts are absent.
const NUMBERS: usize = 8 + 4 + 8 + 16 + 8 + 8 + 2 + 5 + size_of::<u16>();

/// The bytes in front of the parts: the numbers, and the length of each part.
const HEAD: usize = NUMBERS + PARTS * size_of::<u32>();

/// A call that can be written as bytes. Long texts and bodies are cut.
pub(super) struct PackedCall<'c> {
    pub(super) ended: Instant,
    pub(super) is_error: bool,
    head: [u8; HEAD],
    parts: [&'c [u8]; PARTS],
    events: &'c [Uuid],
}

impl<'c> PackedCall<'c> {
    pub(super) fn new(call: &'c NewCall<'c>) -> Self {
        let mut absent = 0_u16;
        let mut optional = |at: u32, text: Option<&'c str>| {
            absent |= u16::from(text.is_none()) << at;
            text.map_or(&[][..], cut)
        };
        let parts = [
            call.service.as_bytes(),
            optional(1, call.operation),
            call.request_id.as_bytes(),
            optional(3, call.user),
            optional(4, call.client),
            cut(call.method.as_str()),
            cut(call.path),
            optional(7, call.query),
            optional(8, call.problem),
            optional(9, call.fault),
            call.request.headers.as_bytes(),
            first(call.request.body),
            call.answer.headers.as_bytes(),
            first(call.answer.body),
        ];
        let is_target_cut = call.path.len().max(call.query.map_or(0, str::len)) > MOST_TEXT_BYTES;
        let (address, is_v4) = match call.address {
            IpAddr::V4(address) => (address.to_ipv6_mapped(), true),
            IpAddr::V6(address) => (address, false),
        };
        let mut head = [0; HEAD];
        let mut rest = &mut head[..];
        put(&mut rest, call.time.as_second().to_le_bytes());
        put(&mut rest, call.time.subsec_nanosecond().to_le_bytes());
        put(&mut rest, u64::try_from(call.duration.as_nanos()).unwrap_or(u64::MAX).to_le_bytes());
        put(&mut rest, address.octets());
        put(&mut rest, call.request.length.to_le_bytes());
        put(&mut rest, call.answer.length.to_le_bytes());
        put(&mut rest, call.status.map_or(0, |status| status.as_u16()).to_le_bytes());
        put(&mut rest, [is_v4, is_target_cut, call.read_to_end, call.aborted].map(u8::from));
        put(&mut rest, [version_number(call.version)]);
        put(&mut rest, absent.to_le_bytes());
        for part in parts {
            put(&mut rest, (part.len() as u32).to_le_bytes());
        }
        let events = &call.events[..call.events.len().min(MOST_EVENTS)];
        let is_error = call.aborted || call.status.is_none_or(|status| status.as_u16() >= 400);
        PackedCall { ended: call.ended, is_error, head, parts, events }
    }

    /// The number of its bytes.
    pub(super) fn length(&self) -> usize {
        HEAD + self.parts.iter().map(|part| part.len()).sum::<usize>() + size_of_val(self.events)
    }

    /// Appends its bytes.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.head);
        for part in self.parts.iter().filter(|part| !part.is_empty()) {
            bytes.extend_from_slice(part);
        }
        for event in self.events {
            bytes.extend_from_slice(event.as_bytes());
        }
    }
}

fn put<const N: usize>(rest: &mut &mut [u8], number: [u8; N]) {
    if let Some((place, after)) = std::mem::take(rest).split_first_chunk_mut() {
        *place = number;
        *rest = after;
    }
}

/// The entry of a call that was packed.
pub(super) fn unpack(number: u64, packed: &[u8]) -> Option<Entry> {
    let (head, parts) = packed.split_at_checked(HEAD)?;
    let mut rest = Rest { head, parts, absent: 0 };
    let (seconds, nanoseconds) = (i64::from_le_bytes(rest.number()?), i32::from_le_bytes(rest.number()?));
    let duration = Duration::from_nanos(u64::from_le_bytes(rest.number()?));
    let address = Ipv6Addr::from(rest.number::<16>()?);
    let (length, answer_length) = (u64::from_le_bytes(rest.number()?), u64::from_le_bytes(rest.number()?));
    let status = StatusCode::from_u16(u16::from_le_bytes(rest.number()?)).ok();
    let [is_v4, is_target_cut, read_to_end, aborted] = rest.number::<4>()?.map(|flag| flag != 0);
    let [version] = rest.number()?;
    rest.absent = u16::from_le_bytes(rest.number()?);
    Some(Entry {
        number,
        #[cfg(test)]
        size: packed.len(),
        time: Timestamp::new(seconds, nanoseconds).ok()?,
        duration,
        address: if is_v4 { address.to_canonical() } else { address.into() },
        version: VERSIONS.get(usize::from(version)).copied().unwrap_or_default(),
        is_target_cut,
        read_to_end,
        status,
        aborted,
        service: rest.text()?,
        operation: rest.optional_text()?,
        request_id: rest.text()?,
        user: rest.optional_text()?,
        client: rest.optional_text()?,
        method: Method::from_bytes(rest.part()?).ok()?,
        path: rest.text()?,
        query: rest.optional_text()?,
        problem: rest.optional_text()?,
        fault: rest.optional_text()?,
        headers: rest.headers()?,
        body: KeptBody::new(rest.part()?, length),
        answer_headers: rest.headers()?,
        answer_body: KeptBody::new(rest.part()?, answer_length),
        events: rest.parts.chunks_exact(16).filter_map(|event| Uuid::from_slice(event).ok()).collect(),
    })
}

/// What is left to be read.
struct Rest<'b> {
    head: &'b [u8],
    parts: &'b [u8],
    /// Which of the parts are absent, the next one in the lowest bit.
    absent: u16,
}

impl<'b> Rest<'b> {
    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (number, rest) = self.head.split_first_chunk()?;
        self.head = rest;
        Some(*number)
    }

    fn part(&mut self) -> Option<&'b [u8]> {
        let length = u32::from_le_bytes(self.number()?);
        let (part, rest) = self.parts.split_at_checked(usize::try_from(length).ok()?)?;
        self.parts = rest;
        self.absent >>= 1;
        Some(part)
    }

    fn text(&mut self) -> Option<Box<str>> {
        Some(String::from_utf8_lossy(self.part()?).into())
    }

    /// The next part; the inner `None` if the call does not have it.
    fn optional_text(&mut self) -> Option<Option<Box<str>>> {
        let is_absent = self.absent & 1 != 0;
        Some(Some(self.text()?).filter(|_| !is_absent))
    }

    fn headers(&mut self) -> Option<Headers> {
        Some(Headers(CapturedHeaders::from_bytes(self.part()?).into_owned()))
    }
}

const VERSIONS: [Version; 5] =
    [Version::HTTP_11, Version::HTTP_2, Version::HTTP_10, Version::HTTP_09, Version::HTTP_3];

fn version_number(version: Version) -> u8 {
    VERSIONS.iter().position(|known| *known == version).unwrap_or_default() as u8
}

/// The beginning of a text, up to a limit.
fn cut(text: &str) -> &[u8] {
    let mut end = text.len().min(MOST_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text.as_bytes()[..end]
}
