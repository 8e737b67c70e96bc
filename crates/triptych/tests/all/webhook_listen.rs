//! `triptych webhook listen`: its output, its answers, and how it ends.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdout, Stdio},
};

use crate::common::{bare, refused};
use serde_json::json;
use testkit::{Answer, Client};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A listener, and the reader of its output.
struct Listener {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
    ready: String,
    client: Client,
}

impl Listener {
    fn start(more: &[&str]) -> Self {
        let mut command = bare(&std::env::temp_dir(), &["webhook", "listen", "--port", "0"]);
        let mut child = command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        out.read_line(&mut ready).unwrap();
        let address = ready.split("http://").nth(1).unwrap().trim_end_matches(".\n");
        let client = Client::new(address.split(',').next().unwrap().parse().unwrap());
        Listener { child, out: Some(out), ready, client }
    }

    /// Sends an event whose signature is not valid.
    async fn send(&self, timestamp: &str) -> Answer {
        let call = self.client.post("/hooks/newBooking").header("webhook-id", "msg_1");
        let call = call.header("webhook-timestamp", timestamp).header("webhook-signature", "v1,AAAA");
        call.json(&json!({"id": 1})).send().await
    }

    /// The next two lines that it prints: an event.
    fn event(&mut self) -> String {
        let mut printed = String::new();
        for _ in 0..2 {
            self.out.as_mut().unwrap().read_line(&mut printed).unwrap();
        }
        printed
    }

    /// Closes its standard output.
    fn stop_reading(&mut self) {
        self.out = None;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn wrong_signature_is_rejected_and_reported() {
    let mut listener = Listener::start(&["--secret", SECRET]);
    assert_eq!(listener.ready, format!("Ready. Subscribe http://{}.\n", listener.client.address()));
    let now = web::Clock::system().now().as_second().to_string();
    for (timestamp, why) in [
        (now.as_str(), "no signature fits the secret"),
        ("1700000000", "the timestamp is more than five minutes off"),
        ("yesterday", "the timestamp is no number"),
    ] {
        listener.send(timestamp).await.has_status(400);
        assert_eq!(listener.event(), format!("/hooks/newBooking msg_1 ({why})\n  {{\"id\":1}}\n"));
    }
}

#[tokio::test]
async fn events_are_marked_unchecked_without_a_secret() {
    let mut listener = Listener::start(&[]);
    let address = listener.client.address();
    let ready =
        format!("Ready. Subscribe http://{address}, without checking signatures: no --secret was given.\n");
    assert_eq!(listener.ready, ready);
    listener.send("yesterday").await.has_status(204);
    assert_eq!(listener.event(), "/hooks/newBooking msg_1 (not checked)\n  {\"id\":1}\n");
}

#[tokio::test]
async fn control_characters_are_escaped_in_output() {
    let mut listener = Listener::start(&[]);
    // A path may hold the upper control characters as they are; U+009B begins a command to a terminal.
    let request = "POST /a\u{9b}31m\u{85}b HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                   webhook-id: m s\tg\r\ncontent-length: 12\r\n\r\n\u{1b}[2J\r\n\u{9b}é\u{7f}\0";
    let answer = listener.client.raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    assert_eq!(listener.event(), "/a 31m b msg (not checked)\n   [2J   é  \n");
}

#[tokio::test]
async fn closed_pipe_ends_the_listener_without_error() {
    let mut listener = Listener::start(&[]);
    listener.send("0").await.has_status(204);
    listener.stop_reading();
    // It notices when it prints the next event; an event that was not printed is not acknowledged.
    let mut sent = 0;
    while let Ok(answer) = listener.client.post("/unread").try_send().await {
        answer.has_status(503);
        sent += 1;
        assert!(sent < 1000, "it continues without a reader");
    }
    let mut said = String::new();
    listener.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
    assert_eq!(listener.child.wait().unwrap().code(), Some(0));
}

#[test]
fn malformed_secret_is_rejected() {
    for secret in ["", "whsec_", "whsec_not base64"] {
        let output =
            bare(&std::env::temp_dir(), &["webhook", "listen", "--port", "0", "--secret", secret]).output();
        assert_eq!(refused(&output.unwrap()), "triptych: a secret is whsec_ and then base64", "{secret}");
    }
}

#[test]
fn busy_port_is_reported() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = bare(&std::env::temp_dir(), &["webhook", "listen", "--port", &port]).output().unwrap();
    let expected = format!(
        "triptych: cannot listen on 127.0.0.1:{port}: Address already in use (os error 98) (choose another \
         with --port)"
    );
    assert_eq!(refused(&output), expected);
}
