//! Requests that a proxy and a server could read in different ways, and bodies that are expensive to read.

use std::{
    io::{self, Write},
    net::SocketAddr,
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

use crate::wire::Connection;

/// What would be answered if the rest of a request were taken for another one.
const SMUGGLED: &str = "GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n";

/// Requests with more than one reading, with the smuggled one behind them.
pub(crate) fn smuggling(host: &str) -> Vec<(&'static str, Vec<u8>)> {
    let head = "POST /v3/store/order HTTP/1.1\r\nHost: HOST\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    let forms = [
        ("a length and chunks", format!("{head}Content-Length: 4\r\n{chunked}\r\n0\r\n\r\n{SMUGGLED}")),
        ("chunks and a length", format!("{head}{chunked}Content-Length: 4\r\n\r\n0\r\n\r\n{SMUGGLED}")),
        ("two lengths", format!("{head}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{{}}{SMUGGLED}")),
        ("a list of lengths", format!("{head}Content-Length: 2, 40\r\n\r\n{{}}{SMUGGLED}")),
        ("a length with a sign", format!("{head}Content-Length: +2\r\n\r\n{{}}{SMUGGLED}")),
        ("a negative length", format!("{head}Content-Length: -2\r\n\r\n{{}}{SMUGGLED}")),
        ("a length in hexadecimal", format!("{head}Content-Length: 0x2\r\n\r\n{{}}{SMUGGLED}")),
        ("an unknown coding", format!("{head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{SMUGGLED}")),
        (
            "chunks inside of identity",
            format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{SMUGGLED}"),
        ),
        ("a chunk size that is no number", format!("{head}{chunked}\r\nzz\r\n\r\n{SMUGGLED}")),
        ("a chunk size of 2^64", format!("{head}{chunked}\r\n10000000000000000\r\n\r\n{SMUGGLED}")),
        ("a negative chunk size", format!("{head}{chunked}\r\n-1\r\n\r\n{SMUGGLED}")),
        ("a chunk longer than its size", format!("{head}{chunked}\r\n1\r\nabc\r\n0\r\n\r\n{SMUGGLED}")),
        ("a folded header", format!("{head}X-A: 1\r\n Content-Length: 40\r\n\r\n{SMUGGLED}")),
        ("a blank before a colon", format!("{head}Content-Length : 40\r\n\r\n{SMUGGLED}")),
        ("a blank before a header", format!("POST / HTTP/1.1\r\n Host: HOST\r\n\r\n{SMUGGLED}")),
        ("a header without a colon", format!("{head}Content-Length\r\n\r\n{SMUGGLED}")),
        ("a zero byte in a header", format!("{head}X-A: a\0b\r\n\r\n{SMUGGLED}")),
        ("a carriage return in a header", format!("{head}X-A: a\rContent-Length: 40\r\n\r\n{SMUGGLED}")),
        // Their end is clear, so the next request would rightly be answered.
        ("no host", "GET /healthz HTTP/1.1\r\n\r\n".to_owned()),
        ("two hosts", format!("{head}Host: other\r\n\r\n")),
    ];
    forms.map(|(name, request)| (name, request.replace("HOST", host).into_bytes())).into()
}

/// A body with its media type, and what it is.
#[derive(Clone)]
pub(crate) struct Expensive {
    pub(crate) name: &'static str,
    media_type: &'static str,
    encoding: Option<&'static str>,
    body: Bytes,
}

/// So many bytes are sent at once. A thread that hands the kernel much more keeps its processor for milliseconds.
const PIECE: usize = 16 * 1024;

impl Expensive {
    /// Sends it as a new pet. Returns the status of the answer.
    pub(crate) async fn send(&self, address: SocketAddr, authorization: &str) -> io::Result<u16> {
        let Expensive { media_type, encoding, body, .. } = self;
        let encoding =
            encoding.map(|encoding| format!("Content-Encoding: {encoding}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /v3/pet HTTP/1.1\r\nHost: {address}\r\nAuthorization: {authorization}\r\nContent-Type: {media_type}\r\n\
             {encoding}Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut connection = Connection::open(address).await?;
        connection.send(head.as_bytes()).await?;
        for piece in body.chunks(PIECE) {
            // The service may answer before it has the whole body, and close the connection.
            if connection.send(piece).await.is_err() {
                break;
            }
        }
        Ok(connection.answer().await?.status)
    }
}

/// Bodies that are expensive to read if nothing limits it.
pub(crate) fn expensive() -> Vec<Expensive> {
    let json = |name, body: String| Expensive {
        name,
        media_type: "application/json",
        encoding: None,
        body: body.into(),
    };
    let xml = |name, body: String| Expensive {
        name,
        media_type: "application/xml",
        encoding: None,
        body: body.into(),
    };
    let entities: String = (1..10)
        .map(|level| format!("<!ENTITY e{level} \"{}\">", format!("&e{};", level - 1).repeat(10)))
        .collect();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    for _ in 0..100 {
        gzip.write_all(&[b' '; 1_000_000]).expect("memory");
    }
    vec![
        json("deep JSON", "[".repeat(500_000)),
        json("deep JSON in a member", format!("{{\"name\":{}", "{\"a\":".repeat(100_000))),
        json("many members in JSON", format!("{{{}\"b\":1}}", "\"a\":0,".repeat(150_000))),
        json("a million members in JSON", format!("{{{}\"b\":1}}", "\"a\":0,".repeat(1_000_000))),
        json("a number with many digits", format!("{{\"id\":{}}}", "9".repeat(1_000_000))),
        json("a number with a large exponent", "{\"id\":1e999999999}".to_owned()),
        json(
            "many items in JSON",
            format!("{{\"name\":\"a\",\"photoUrls\":[{}\"\"]}}", "\"\",".repeat(300_000)),
        ),
        json("more JSON than allowed", format!("{{\"name\":\"{}\"}}", "a".repeat(8_000_000))),
        xml("deep XML", "<a>".repeat(300_000)),
        xml("many elements in XML", format!("<pet>{}</pet>", "<a/>".repeat(200_000))),
        xml(
            "many attributes in XML",
            format!("<pet {}/>", (0..60_000).map(|number| format!("a{number}='' ")).collect::<String>()),
        ),
        xml(
            "entities in XML",
            format!("<!DOCTYPE pet [<!ENTITY e0 \"aaaaaaaaaa\">{entities}]><pet><name>&e9;</name></pet>"),
        ),
        xml(
            "an external entity in XML",
            "<!DOCTYPE pet [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><pet><name>&e;</name></pet>"
                .to_owned(),
        ),
        Expensive {
            name: "a form with many fields",
            media_type: "application/x-www-form-urlencoded",
            encoding: None,
            body: "a=&".repeat(300_000).into(),
        },
        Expensive {
            name: "100 MB in 100 KB of gzip",
            media_type: "application/json",
            encoding: Some("gzip"),
            body: gzip.finish().expect("memory").into(),
        },
    ]
}
