//! TLS to PostgreSQL: what each sslmode asks for, and that no password goes unencrypted beyond this machine.

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
fn refusal(url: &str) -> String {
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
fn it_is_used_where_the_server_has_it() {
    let server = TlsPostgres::get();
    for query in ["", "sslmode=prefer", "sslmode=require"] {
        is_encrypted(&server.url("127.0.0.1", query));
    }
    is_encrypted(&server.url(&own_address().to_string(), ""));
}

#[test]
fn the_right_authority_and_name_are_accepted() {
    let server = TlsPostgres::get();
    let authority = server.authority.display();
    for mode in ["require", "verify-ca", "verify-full"] {
        is_encrypted(&server.url("localhost", &format!("sslmode={mode}&sslrootcert={authority}")));
    }
    is_encrypted(&server.url("localhost", &format!("sslrootcert={authority}")));
}

#[test]
fn the_password_is_bound_to_the_connection() {
    let server = TlsPostgres::get();
    is_encrypted(&server.url("localhost", "sslmode=require&channel_binding=require"));
}

#[test]
fn another_authority_is_refused() {
    let server = TlsPostgres::get();
    let other = server.other_authority.display();
    for mode in ["require", "verify-ca", "verify-full"] {
        let text = refusal(&server.url("localhost", &format!("sslmode={mode}&sslrootcert={other}")));
        assert!(text.starts_with("cannot connect to the database at localhost:"), "{text}");
        assert!(text.ends_with("invalid peer certificate: UnknownIssuer"), "{text}");
    }
    // What the machine trusts does not include an authority that was made for a test.
    let text = refusal(&server.url("localhost", "sslmode=verify-full"));
    assert!(text.contains("UnknownIssuer") || text.contains("no certificates to trust"), "{text}");
}

#[test]
fn another_name_is_refused() {
    let server = TlsPostgres::get();
    let authority = server.authority.display();
    let text = refusal(&server.url("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={authority}")));
    assert!(text.contains("certificate not valid for name \"127.0.0.1\""), "{text}");
    is_encrypted(&server.url("127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={authority}")));
}

#[test]
fn an_authority_that_cannot_be_read_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.pem");
    let text = refusal(&format!("postgres://me:s3cret@localhost/x?sslrootcert={}", missing.display()));
    assert!(text.starts_with(&format!("cannot use the sslrootcert {}: ", missing.display())), "{text}");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let text = refusal(&format!("postgres://me:s3cret@localhost/x?sslrootcert={}", empty.display()));
    assert_eq!(text, format!("cannot use the sslrootcert {}: it has no certificate in it", empty.display()));
}

#[test]
fn a_server_that_wants_it_refuses_to_go_without() {
    let text = refusal(&TlsPostgres::get().url("127.0.0.1", "sslmode=disable"));
    assert!(text.contains("no pg_hba.conf entry") && text.contains("no encryption"), "{text}");
}

/// A server without TLS that asks for the password in the clear. Gives all that one client sends.
fn listen_in(address: IpAddr) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, thread::spawn(move || overhear(listener.accept().unwrap().0)))
}

fn overhear(mut client: TcpStream) -> Vec<u8> {
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
    // The start, then the password.
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
    let (port, listener) = listen_in(address);
    let url = format!("postgres://ada:s3cret@{address}:{port}/base?{query}");
    (refusal(&url).replace(&format!("{address}:{port}"), "HOST"), listener.join().unwrap())
}

fn contains_password(heard: &[u8]) -> bool {
    heard.windows(6).any(|part| part == b"s3cret")
}

#[test]
fn beyond_this_machine_no_password_goes_to_a_server_without_it() {
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
fn where_the_url_asks_for_it_a_password_goes_unencrypted() {
    assert!(contains_password(&heard(own_address(), "sslmode=disable").1));
    for query in ["", "sslmode=prefer", "sslmode=disable"] {
        assert!(contains_password(&heard(Ipv4Addr::LOCALHOST.into(), query).1), "{query}");
    }
    for query in ["sslmode=require", "sslmode=verify-full"] {
        assert!(!contains_password(&heard(Ipv4Addr::LOCALHOST.into(), query).1), "{query}");
    }
}
