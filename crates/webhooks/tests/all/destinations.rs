//! Destinations that are allowed or rejected by their URL.

use std::net::IpAddr;

use url::Url;
use webhooks::Destinations;

const NOT_PUBLIC: &str = "must lead to a public address, not to a private, local or reserved one";
const HTTPS: &str = "must begin with https://";
const USER: &str = "must not have a user name or a password";
const QUERY: &str = "must not have a query or a fragment";
const HOST: &str = "must have a host";

fn destinations(loopback: bool, networks: &[&str]) -> Destinations {
    Destinations { loopback, networks: networks.iter().map(|network| network.parse().unwrap()).collect() }
}

#[track_caller]
fn all(destinations: &Destinations, expected: Result<(), &'static str>, urls: &[&str]) {
    for url in urls {
        let parsed = Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(destinations.check(&parsed), expected, "{url} is {parsed}");
    }
}

#[test]
fn public_addresses_are_allowed() {
    let urls = [
        "https://example.com",
        "https://example.com/",
        "https://example.com/hooks/a/b",
        "https://EXAMPLE.com./hooks",
        "https://example.com:8443/hooks",
        "https://example.com:443/hooks",
        "https://bücher.example/hooks",
        "https://example。com/hooks",
        "https://localhost.example.com",
        "https://internal.example.com",
        "https://127.0.0.1.nip.io",
        "https://8.8.8.8",
        "https://8.8.8.8:8443/hooks",
        "https://134744072",
        "https://0x8.8.8.8",
        "https://1.1",
        "https://9.255.255.255",
        "https://11.0.0.0",
        "https://100.63.255.255",
        "https://100.128.0.0",
        "https://169.253.255.255",
        "https://172.15.255.255",
        "https://172.32.0.0",
        "https://192.167.255.255",
        "https://198.17.255.255",
        "https://198.20.0.0",
        "https://223.255.255.255",
        "https://[2606:4700:4700::1111]",
        "https://[2a00:1450:4001:81b::200e]:8443/hooks",
        "https://[2001:200::1]",
    ];
    all(&destinations(false, &[]), Ok(()), &urls);
    // A demo rejects none of them.
    all(&destinations(true, &[]), Ok(()), &urls);
}

#[test]
fn addresses_that_are_not_public_are_rejected_in_every_spelling() {
    let urls = [
        // This machine.
        "https://127.0.0.1",
        "https://127.0.0.1:8443/hooks",
        "https://127.255.255.254",
        "https://127.1",
        "https://127.0.1",
        "https://2130706433",
        "https://0x7f000001",
        "https://0x7f.0.0.1",
        "https://0x7F.0X0.0.1",
        "https://017700000001",
        "https://0177.0.0.1",
        "https://127.0.0.1.",
        "https://127。0。0。1",
        "https://127．0．0．1",
        "https://１２７.0.0.1",
        "https://%31%32%37.0.0.1",
        "https://127%2E0%2E0%2E1",
        "https://0.0.0.0",
        "https://0",
        "https://0.1.2.3",
        "https://[::1]",
        "https://[0:0:0:0:0:0:0:1]",
        "https://[::]",
        // Private, link-local (where clouds keep their secrets), between provider and customer.
        "https://10.0.0.1",
        "https://10.255.255.255",
        "https://167772161",
        "https://012.0.0.1",
        "https://172.16.0.1",
        "https://172.31.255.255",
        "https://192.168.0.1",
        "https://192.168.257",
        "https://0xc0a80001",
        "https://169.254.169.254/latest/meta-data",
        "https://2852039166",
        "https://0xa9fea9fe",
        "https://100.64.0.1",
        "https://100.127.255.255",
        // Protocols, documentation, relays, benchmarks, multicast, reserved, broadcast.
        "https://192.0.0.1",
        "https://192.0.2.1",
        "https://198.51.100.1",
        "https://203.0.113.1",
        "https://192.88.99.1",
        "https://198.18.0.1",
        "https://198.19.255.255",
        "https://224.0.0.1",
        "https://239.255.255.255",
        "https://240.0.0.1",
        "https://255.255.255.255",
        // IPv4 in IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
        "https://[::ffff:127.0.0.1]",
        "https://[::ffff:7f00:1]",
        "https://[::ffff:8.8.8.8]",
        "https://[::ffff:0:127.0.0.1]",
        "https://[::127.0.0.1]",
        "https://[64:ff9b::7f00:1]",
        "https://[64:ff9b::8.8.8.8]",
        "https://[64:ff9b:1::a00:1]",
        "https://[2002:7f00:1::]",
        "https://[2002:0a00:0001::1]",
        "https://[2001::1]",
        "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
        // Unique local, link-local, site-local; multicast; documentation; discard; benchmarks; ORCHID.
        "https://[fc00::1]",
        "https://[fdff:ffff::1]",
        "https://[fd00:ec2::254]",
        "https://[fe80::1]",
        "https://[febf::1]",
        "https://[fec0::1]",
        "https://[ff02::1]",
        "https://[ff0e::1]",
        "https://[2001:db8::1]",
        "https://[3fff::1]",
        "https://[100::1]",
        "https://[2001:2::1]",
        "https://[2001:20::1]",
        "https://[5f00::1]",
        // Names of this machine or of a network.
        "https://localhost",
        "https://localhost.",
        "https://LOCALHOST:8443",
        "https://ｌocalhost",
        "https://loc%61lhost",
        "https://foo.localhost",
        "https://foo.LOCALHOST.",
        "https://printer.local",
        "https://metadata.google.internal",
        "https://router.lan",
        "https://router.home",
        "https://1.0.0.127.in-addr.arpa",
        "https://router.home.arpa.",
        "https://intranet",
        "https://intranet./hooks",
    ];
    assert!(urls.len() >= 60);
    all(&destinations(false, &[]), Err(NOT_PUBLIC), &urls);
}

#[test]
fn other_schemes_and_url_parts_are_rejected() {
    let strict = destinations(false, &[]);
    let no_tls =
        ["http://example.com", "http://8.8.8.8", "http://127.0.0.1", "http://2130706433/", "http://[::1]"];
    all(&strict, Err(HTTPS), &no_tls);
    all(
        &strict,
        Err(HTTPS),
        &["ftp://example.com", "file://example.com/a", "gopher://example.com/1", "ws://a.b"],
    );
    all(
        &strict,
        Err(HOST),
        &["file:///etc/passwd", "data:text/plain,a", "mailto:a@example.com", "unix:/run/a"],
    );
    let users = ["https://a@example.com", "https://a:b@example.com", "https://:b@example.com"];
    all(&strict, Err(USER), &users);
    all(&strict, Err(USER), &["https://example.com@127.0.0.1", "https://127.0.0.1@example.com"]);
    let more =
        ["https://example.com?", "https://example.com/?a=b", "https://example.com/#", "https://a.b/#@c"];
    all(&strict, Err(QUERY), &more);
    // These are not URLs.
    for text in
        ["https://", "https://[::1", "https://256.0.0.1", "https://1.2.3.4.5", "https://a b.com", "//a.com"]
    {
        assert!(Url::parse(text).is_err(), "{text}");
    }
}

#[test]
fn demo_allows_loopback_and_no_other_local_address() {
    let demo = destinations(true, &[]);
    let here = [
        "http://127.0.0.1:8080/hooks",
        "http://127.1",
        "http://2130706433",
        "http://127.3.2.1",
        "http://localhost:8080",
        "http://LOCALHOST.",
        "http://foo.localhost",
        "http://[::1]:8080",
        "https://127.0.0.1",
        "https://localhost",
    ];
    all(&demo, Ok(()), &here);
    let others = [
        "http://example.com",
        "http://8.8.8.8",
        "http://10.0.0.1",
        "http://0.0.0.0",
        "http://[::ffff:127.0.0.1]",
        "http://printer.local",
        "http://metadata.google.internal",
        "http://intranet",
    ];
    all(&demo, Err(HTTPS), &others);
    let private = [
        "https://10.0.0.1",
        "https://169.254.169.254",
        "https://0.0.0.0",
        "https://[::ffff:127.0.0.1]",
        "https://[fc00::1]",
        "https://printer.local",
        "https://metadata.google.internal",
        "https://intranet",
    ];
    all(&demo, Err(NOT_PUBLIC), &private);
    all(&demo, Err(USER), &["http://a@localhost"]);
    all(&demo, Err(QUERY), &["http://localhost/?a"]);
    all(&demo, Err(HTTPS), &["ftp://localhost"]);
}

#[test]
fn configured_networks_are_allowed_and_adjacent_ones_are_not() {
    let own = destinations(false, &["10.1.0.0/16", "fd00:1::/32"]);
    all(
        &own,
        Ok(()),
        &["https://10.1.0.1", "http://10.1.255.255:8080/hooks", "http://[fd00:1::1]", "https://10.65537"],
    );
    all(
        &own,
        Err(NOT_PUBLIC),
        &["https://10.0.255.255", "https://10.2.0.0", "https://[fd00:2::1]", "https://127.0.0.1"],
    );
    all(&own, Err(NOT_PUBLIC), &["https://[::ffff:10.1.0.1]", "https://localhost"]);
    all(&own, Err(HTTPS), &["http://10.2.0.0", "http://example.com", "http://localhost"]);
    all(&own, Ok(()), &["https://example.com", "https://8.8.8.8"]);
    // Local names may lead to such a network; their addresses are checked when they are resolved.
    all(&own, Ok(()), &["https://hooks.internal", "https://intranet/hooks", "https://printer.local"]);
    all(&own, Err(HTTPS), &["http://hooks.internal"]);
}

#[test]
fn resolved_address_is_checked_by_the_same_rules() {
    let strict = destinations(false, &[]);
    let ips = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
    for ip in ips(&["8.8.8.8", "2606:4700:4700::1111"]) {
        assert!(strict.allows(ip), "{ip}");
    }
    for ip in
        ips(&["127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0", "::1", "::ffff:10.0.0.1", "fe80::1"])
    {
        assert!(!strict.allows(ip), "{ip}");
        assert_eq!(destinations(true, &[]).allows(ip), ip.is_loopback(), "{ip}");
    }
}
