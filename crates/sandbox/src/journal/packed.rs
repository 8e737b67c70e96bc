//! A call as bytes. A journal keeps its calls in few large pieces of memory: with an allocation for each part of a call, every
//! call would wait for memory that no cache has any more. For the same reason, headers that a call shares with the one before are in
//! its batch once: most headers of a client are the same in each of its calls, and most of an operation in each of its answers.

use std::{
    net::{IpAddr, Ipv6Addr},
    ops::Range,
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

/// Where the headers of the request and of the answer are that other calls have as well: a start and a length each.
const PLACES: usize = 2 * 2 * size_of::<u32>();

/// A call that can be written as bytes. Long texts and bodies are cut.
pub(super) struct PackedCall<'c> {
    pub(super) ended: Instant,
    pub(super) is_error: bool,
    head: [u8; HEAD],
    parts: [&'c [u8]; PARTS],
    events: &'c [Uuid],
    /// The headers of the request and of the answer that other calls have as well.
    common: [&'c [u8]; 2],
}

/// Where headers are that the last call had, in the bytes of its batch.
pub(super) type CommonHeaders = [Range<usize>; 2];

impl<'c> PackedCall<'c> {
    pub(super) fn new(call: &'c NewCall<'c>) -> Self {
        let (common_request, own_request) = call.request.headers.as_bytes();
        let (common_answer, own_answer) = call.answer.headers.as_bytes();
        let (mut absent, mut at) = (0_u16, 0);
        let mut part = |part: Option<&'c [u8]>| {
            absent |= u16::from(part.is_none()) << at;
            at += 1;
            part.unwrap_or_default()
        };
        let parts = [
            part(Some(call.service.as_bytes())),
            part(call.operation.map(cut)),
            part(Some(call.request_id.as_bytes())),
            part(call.user.map(cut)),
            part(call.client.map(cut)),
            part(Some(cut(call.method.as_str()))),
            part(Some(cut(call.path))),
            part(call.query.map(cut)),
            part(call.problem.map(cut)),
            part(call.fault.map(cut)),
            part(Some(own_request)),
            part(Some(first(call.request.body))),
            part(Some(own_answer)),
            part(Some(first(call.answer.body))),
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
        let common = [common_request, common_answer];
        PackedCall { ended: call.ended, is_error, head, parts, events, common }
    }

    /// The number of its bytes.
    pub(super) fn length(&self) -> usize {
        let parts = self.parts.iter().chain(&self.common).map(|part| part.len());
        HEAD + PLACES + parts.sum::<usize>() + size_of_val(self.events)
    }

    /// Appends its bytes, and gives where they begin. Headers that the last call had as well are not appended again.
    pub(super) fn write(&self, last: &mut CommonHeaders, bytes: &mut Vec<u8>) -> usize {
        let mut places = [0; PLACES];
        let mut rest = &mut places[..];
        for (last, headers) in last.iter_mut().zip(self.common) {
            if &bytes[last.clone()] != headers {
                *last = bytes.len()..bytes.len() + headers.len();
                bytes.extend_from_slice(headers);
            }
            put(&mut rest, (last.start as u32).to_le_bytes());
            put(&mut rest, (last.len() as u32).to_le_bytes());
        }
        let start = bytes.len();
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(&places);
        for part in self.parts.iter().filter(|part| !part.is_empty()) {
            bytes.extend_from_slice(part);
        }
        for event in self.events {
            bytes.extend_from_slice(event.as_bytes());
        }
        start
    }
}

/// A copy of a call in a batch, with all its headers.
pub(super) fn copy(batch: &[u8], call: Range<usize>) -> Option<Vec<u8>> {
    let call = batch.get(call)?;
    let mut rest = Rest::new(call)?;
    let mut headers = || batch.get(rest.place()?);
    Some([call, headers()?, headers()?].concat())
}

fn put<const N: usize>(rest: &mut &mut [u8], number: [u8; N]) {
    if let Some((place, after)) = std::mem::take(rest).split_first_chunk_mut() {
        *place = number;
        *rest = after;
    }
}

/// The entry of a call that was packed.
pub(super) fn unpack(number: u64, packed: &[u8]) -> Option<Entry> {
    let mut rest = Rest::new(packed)?;
    let (request, answer) = (rest.place()?.len(), rest.place()?.len());
    let common = packed.get(packed.len().checked_sub(request + answer)?..)?;
    let (common_request, common_answer) = common.split_at_checked(request)?;
    rest.parts = rest.parts.get(..rest.parts.len() - common.len())?;
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
        headers: rest.headers(common_request)?,
        body: KeptBody::new(rest.part()?, length),
        answer_headers: rest.headers(common_answer)?,
        answer_body: KeptBody::new(rest.part()?, answer_length),
        events: rest.parts.chunks_exact(16).filter_map(|event| Uuid::from_slice(event).ok()).collect(),
    })
}

/// What is left to be read.
struct Rest<'b> {
    head: &'b [u8],
    places: &'b [u8],
    parts: &'b [u8],
    /// Which of the parts are absent, the next one in the lowest bit.
    absent: u16,
}

impl<'b> Rest<'b> {
    fn new(packed: &'b [u8]) -> Option<Self> {
        let (head, rest) = packed.split_at_checked(HEAD)?;
        let (places, parts) = rest.split_at_checked(PLACES)?;
        Some(Rest { head, places, parts, absent: 0 })
    }

    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (number, rest) = self.head.split_first_chunk()?;
        self.head = rest;
        Some(*number)
    }

    /// Where the next headers are, in the bytes of the batch.
    fn place(&mut self) -> Option<Range<usize>> {
        let (place, rest) = self.places.split_first_chunk::<8>()?;
        self.places = rest;
        let [a, b, c, d, length @ ..] = *place;
        let start = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?;
        Some(start..start + usize::try_from(u32::from_le_bytes(length)).ok()?)
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

    fn headers(&mut self, common: &[u8]) -> Option<Headers> {
        Some(Headers(CapturedHeaders::from_bytes(common, self.part()?)))
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
