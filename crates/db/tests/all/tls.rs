//! TLS to PostgreSQL: each sslmode, and that no password is sent to another machine without encryption.

use std::{
    io::{Read, Write},
    net::{IpAddr, Ipv4Addr, TcpListener, TcpStream},
    thread::{self, JoinHandle},
    time::Duration,
};

use db::{Db, Error, Limits, Location, OpenError};
use testkit::{TlsPostgres, own_address};

fn open(url: &str) -> Result<Db, OpenError> {
    let limits = Limits { connections: 1, start: Duration::ZERO, ..Limits::default() };
    Db::open(&Location::Postgres(url.to_owned()), "tls", &[], limits)
}

#[track_caller]
fn open_error(url: &str) -> String {
    let text = open(url).err().expect("it is refused").to_string();
    assert!(!text.contains('\n') && !text.contains(TlsPostgres::PASSWORD), "{text}");
    text
}

/// Asserts that a URL leads to an encrypted connection.
fn is_encrypted(url: &str) {
    let db = open(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    let encrypted = db.read(|tx| {
        let own = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        tx.row(own, &[], |row| row.get::<bool>(0))
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let encrypted: Result<_, Error> = runtime.block_on(encrypted);
    assert_eq!(encrypted.unwrap(), Some(true), "{url}");
}

#[test]
fn tls_is_used_if_the_server_offers_it() {
    let server = TlsPostgres::get();
    for query in ["", "sslmode=prefer", "sslmode=require"] {
        is_encrypted(&server.url("127.0.0.1", query));
    }
    is_encrypted(&server.url(&own_address().to_string(), ""));
}

#[test]
fn right_authority_and_name_are_accepted() {
    let server = TlsPostgres::get();
    let authority = server.authority.display();
    for mode in ["require", "verify-ca", "verify-full"] {
        is_encrypted(&server.url("localhost", &format!("sslmode={mode}&sslrootcert={authority}")));
    }
    is_encrypted(&server.url("localhost", &format!("sslrootcert={authority}")));
}

#[test]
fn password_is_bound_to_the_connection() {
    let server = TlsPostgres::get();
    is_encrypted(&server.url("localhost", "sslmode=require&channel_binding=require"));
}

#[test]
fn unknown_authority_is_rejected() {
    let server = TlsPostgres::get();
    let other = server.other_authority.display();
    for mode in ["require", "verify-ca", "verify-full"] {
        let text = open_error(&server.url("localhost", &format!("sslmode={mode}&sslrootcert={other}")));
        assert!(text.starts_with("cannot connect to the database at localhost:"), "{text}");
        assert!(text.ends_with("invalid peer certificate: UnknownIssuer"), "{text}");
    }
    // The machine does not trust an authority that was made for a test.
    let text = open_error(&server.url("localhost", "sslmode=verify-full"));
    assert!(text.contains("UnknownIssuer") || text.contains("no certificates to trust"), "{text}");
}

#[test]
fn wrong_name_is_rejected() {
    let server = TlsPostgres::get();
    let authority = server.authority.display();
    let text = open_error(&server.url("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={authority}")));
    assert!(text.contains("certificate not valid for name \"127.0.0.1\""), "{text}");
    is_encrypted(&server.url("127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={authority}")));
}

#[test]
fn unreadable_authority_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.pem");
    let text = open_error(&format!("postgres://me:s3cret@localhost/x?sslrootcert={}", missing.display()));
    assert!(text.starts_with(&format!("cannot use the sslrootcert {}: ", missing.display())), "{text}");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let text = open_error(&format!("postgres://me:s3cret@localhost/x?sslrootcert={}", empty.display()));
    assert_eq!(text, format!("cannot use the sslrootcert {}: it has no certificate in it", empty.display()));
}

#[test]
fn server_that_requires_tls_rejects_a_connection_without() {
    let text = open_error(&TlsPostgres::get().url("127.0.0.1", "sslmode=disable"));
    assert!(text.contains("no pg_hba.conf entry") && text.contains("no encryption"), "{text}");
}

/// A server without TLS that asks for the password in the clear. Gives all that one client sends.
fn listen(address: IpAddr) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, thread::spawn(move || record_traffic(listener.accept().unwrap().0)))
}

fn record_traffic(mut client: TcpStream) -> Vec<u8> {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
    let mut heard = vec![0; 8];
    client.read_exact(&mut heard).unwrap();
    if heard == SSL_REQUEST {
        client.write_all(b"N").unwrap();
        let mut more = vec![0; 8];
        match client.read(&mut more).unwrap() {
            0 => return heard,
            read => heard = more[..read].to_vec(),
        }
    }
    // The startup message, then the password.
    let length = u32::from_be_bytes([heard[0], heard[1], heard[2], heard[3]]) as usize;
    let mut rest = vec![0; length - heard.len()];
    client.read_exact(&mut rest).unwrap();
    heard.append(&mut rest);
    client.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 3]).unwrap();
    let mut password = [0; 64];
    let read = client.read(&mut password).unwrap();
    heard.extend(&password[..read]);
    heard
}

fn heard(address: IpAddr, query: &str) -> (String, Vec<u8>) {
    let (port, listener) = listen(address);
    let url = format!("postgres://ada:s3cret@{address}:{port}/base?{query}");
    (open_error(&url).replace(&format!("{address}:{port}"), "HOST"), listener.join().unwrap())
}

fn contains_password(heard: &[u8]) -> bool {
    heard.windows(6).any(|part| part == b"s3cret")
}

#[test]
fn password_is_not_sent_to_another_machine_without_tls() {
    let verify_ca = format!("sslmode=verify-ca&sslrootcert={}", TlsPostgres::get().authority.display());
    for query in ["", "sslmode=prefer", "sslmode=require", &verify_ca, "sslmode=verify-full"] {
        let (text, heard) = heard(own_address(), query);
        assert_eq!(
            text,
            "cannot connect to the database at HOST: it offers no TLS, and nothing is sent unencrypted beyond this \
             machine (unless the URL says sslmode=disable)",
            "{query}"
        );
        assert_eq!(heard.len(), 8, "{query}: nothing but the question for TLS was sent: {heard:?}");
    }
}

#[test]
fn sslmode_disable_sends_the_password_without_tls() {
    assert!(contains_password(&heard(own_address(), "sslmode=disable").1));
    for query in ["", "sslmode=prefer", "sslmode=disable"] {
        assert!(contains_password(&heard(Ipv4Addr::LOCALHOST.into(), query).1), "{query}");
    }
    for query in ["sslmode=require", "sslmode=verify-full"] {
        assert!(!contains_password(&heard(Ipv4Addr::LOCALHOST.into(), query).1), "{query}");
    }
}
