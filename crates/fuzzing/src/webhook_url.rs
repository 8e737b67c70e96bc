//! No webhook goes into the network of the server: judged by other code than that which decides it.

use std::net::{Ipv4Addr, Ipv6Addr};

use http::StatusCode;
use url::{Host, Url};

use crate::answer::Answer;

/// The violation of an address that is accepted. After the last subscription that a caller can have, it is a conflict.
pub(crate) fn violation(input: &[u8], answer: &Answer) -> Option<String> {
    if !matches!(answer.status, StatusCode::CREATED | StatusCode::CONFLICT) {
        return None;
    }
    let text = String::from_utf8_lossy(input);
    match Url::parse(&text) {
        Ok(url) if leads_outside(&url) => None,
        _ => Some(format!("the address {text:?} is accepted")),
    }
}

fn leads_outside(url: &Url) -> bool {
    let is_outside = match url.host() {
        None => false,
        Some(Host::Ipv4(ip)) => is_public(ip),
        Some(Host::Ipv6(ip)) => embedded(ip).is_none_or(is_public) && ip.segments()[0] >> 13 == 1,
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.contains('.') && !name.ends_with(".localhost") && !name.ends_with(".local")
        }
    };
    is_outside && url.scheme() == "https" && url.username().is_empty() && url.password().is_none()
}

fn is_public(ip: Ipv4Addr) -> bool {
    !(ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified() || ip.is_multicast())
}

/// The IPv4 address that an address of IPv6 has inside of it.
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, ..] = ip.segments();
    let six_to_four = a == 0x2002;
    let bytes = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    ip.to_ipv4().or_else(|| six_to_four.then(|| bytes(b, c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_address_must_be_outside() {
        let with = |status| Answer { status, content_type: String::new(), body: "".into() };
        let (accepted, rejected) = (with(StatusCode::CREATED), with(StatusCode::BAD_REQUEST));
        for outside in
            ["https://app.example.com/hooks", "https://93.184.215.14", "https://[2606:4700::1111]/"]
        {
            assert_eq!(violation(outside.as_bytes(), &accepted), None, "{outside}");
        }
        for inside in [
            "https://127.0.0.1/",
            "https://10.0.0.1",
            "https://0x7f.1",
            "https://localhost",
            "https://a.localhost.",
            "https://[::1]",
            "https://[::ffff:10.0.0.1]",
            "https://[2002:0a00:0001::]",
            "https://printer",
            "http://app.example.com",
            "https://a@app.example.com",
            "no address",
        ] {
            assert!(violation(inside.as_bytes(), &accepted).is_some(), "{inside}");
            assert_eq!(violation(inside.as_bytes(), &rejected), None, "{inside}");
        }
    }
}
