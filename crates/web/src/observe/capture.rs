//! The first bytes of a body.

use bytes::Bytes;

/// How many bytes of a body are captured.
const MOST: usize = 16 * 1024;

/// The first 16 KiB of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapturedBody {
    pub first: Bytes,
    /// The length of the whole body: what was read or sent of it, or what its sender declared if that is more.
    pub length: u64,
    /// Whether it was read or sent to its end.
    pub complete: bool,
    passed: u64,
    /// Whether each part is copied.
    copied: bool,
    /// The bytes of several parts. A single part is not copied.
    joined: Vec<u8>,
}

impl CapturedBody {
    pub(super) fn of_length(declared: Option<u64>) -> Self {
        let length = declared.unwrap_or_default();
        CapturedBody { length, complete: declared == Some(0), ..CapturedBody::default() }
    }

    /// The body of an answer before it is sent. A body without any part is never polled.
    pub(super) fn of_answer(body: &impl http_body::Body) -> Self {
        let captured = CapturedBody::of_length(body.size_hint().exact());
        CapturedBody { complete: captured.complete || body.is_end_stream(), ..captured }
    }

    /// The same with a copy of each part, for a body that waits until its parts are dropped.
    pub(super) fn copied(self) -> Self {
        CapturedBody { copied: true, ..self }
    }

    pub(super) fn add(&mut self, part: &Bytes) {
        self.passed += part.len() as u64;
        self.length = self.length.max(self.passed);
        let captured = if self.joined.is_empty() { self.first.len() } else { self.joined.len() };
        let part_in = &part[..part.len().min(MOST - captured)];
        if part_in.is_empty() {
            return;
        }
        if captured > 0 {
            if self.joined.is_empty() {
                self.joined.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.joined.extend_from_slice(part_in);
        } else if part_in.len() == part.len() && !self.copied {
            self.first = part.clone();
        } else {
            // A slice would keep the whole of a large part in memory.
            self.first = Bytes::copy_from_slice(part_in);
        }
    }

    /// Joins the captured parts.
    pub(super) fn join(&mut self) {
        if !self.joined.is_empty() {
            self.first = std::mem::take(&mut self.joined).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(declared: Option<u64>, parts: &[&[u8]]) -> CapturedBody {
        let mut body = CapturedBody::of_length(declared);
        for part in parts {
            body.add(&Bytes::copy_from_slice(part));
        }
        body.join();
        body
    }

    #[test]
    fn single_part_is_not_copied() {
        let part = Bytes::from(vec![b'x'; MOST]);
        let mut body = CapturedBody::of_length(Some(MOST as u64));
        body.add(&part);
        body.join();
        assert_eq!((body.first.as_ptr(), body.first.len()), (part.as_ptr(), MOST));
    }

    #[test]
    fn several_parts_are_joined() {
        let body = captured(None, &[b"ab", b"", b"c", b"def"]);
        assert_eq!((&body.first[..], body.length), (&b"abcdef"[..], 6));
    }

    #[test]
    fn first_16_kib_are_captured_and_the_rest_is_counted() {
        let (large, piece) = (vec![b'x'; 3 * MOST], vec![b'y'; MOST - 10]);
        let body = captured(None, &[&large]);
        assert_eq!((body.first.len(), body.length), (MOST, 3 * MOST as u64));
        let body = captured(None, &[&piece, &piece, &piece]);
        assert_eq!((body.first.len(), body.length), (MOST, 3 * piece.len() as u64));
        assert_eq!(body.first, vec![b'y'; MOST]);
    }

    #[test]
    fn declared_length_counts_if_less_was_read() {
        let body = captured(Some(100), &[b"abc"]);
        assert_eq!((&body.first[..], body.length, body.complete), (&b"abc"[..], 100, false));
        assert_eq!(captured(Some(2), &[b"abc"]).length, 3);
        assert!(captured(Some(0), &[]).complete && !captured(None, &[]).complete);
    }
}
