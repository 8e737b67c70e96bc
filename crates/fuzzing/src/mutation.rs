//! Random changes of an input, for tests without libFuzzer.

use rand::{RngExt, rngs::StdRng};

/// Bytes and words at which parsers decide.
const WORDS: [&[u8]; 24] = [
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b"<",
    b">",
    b"&",
    b"%",
    b"\\u0000",
    b"\r\n",
    b"\n",
    b"\0",
    b"--",
    b"=",
    b";",
    b",",
    b"-9223372036854775808",
    b"1e999",
    b"null",
    b"+",
    b"%00",
    b"\xc3\xa9",
    b"\xff",
];

/// The most bytes that a mutation has.
const LONGEST: usize = 4096;

/// An input that differs from `input` in a few ways. Parts of it may be of `other`.
pub fn mutate(input: &[u8], other: &[u8], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..random.random_range(1..=4) {
        let (start, end) = range(bytes.len(), random);
        match random.random_range(0..7) {
            0 if start < bytes.len() => bytes[start] ^= 1 << random.random_range(0..8),
            1 => bytes.insert(start, random.random()),
            2 => drop(bytes.drain(start..end)),
            3 => {
                let copy = bytes[start..end].to_vec();
                let at = random.random_range(0..=bytes.len());
                drop(bytes.splice(at..at, copy));
            }
            4 => {
                let (from, to) = range(other.len(), random);
                drop(bytes.splice(start..end, other[from..to].iter().copied()));
            }
            5 => drop(bytes.splice(start..end, word(random).iter().copied())),
            _ => drop(bytes.splice(start..start, word(random).iter().copied())),
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

fn word(random: &mut StdRng) -> &'static [u8] {
    WORDS[random.random_range(0..WORDS.len())]
}

/// A part of so many bytes: short ones are as likely as long ones.
fn range(length: usize, random: &mut StdRng) -> (usize, usize) {
    let start = random.random_range(0..=length);
    let most = (length - start).min(1 << random.random_range(0..10));
    (start, start + random.random_range(0..=most))
}
