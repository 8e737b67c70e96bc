//! Commands, run by a shell against a real socket.

use std::{
    process::Command,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{Request, request::Parts},
    response::{IntoResponse, Response},
};
use testkit::Server;
use web::ConnectionLimits;

use super::{super::curl, bodies::compressed, *};

/// What a server got: the method, the target, the headers that curl does not make itself, and the body.
#[derive(Debug, Clone, PartialEq)]
struct Got {
    method: Method,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

type All = Arc<Mutex<Vec<Got>>>;

async fn note(State(all): State<All>, parts: Parts, body: Bytes) -> Response {
    let own = ["host", "content-length", "accept-encoding", "user-agent", "accept", "expect"];
    let headers = parts.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let got = Got {
        method: parts.method,
        target: parts.uri.to_string(),
        headers: headers.collect(),
        body: body.to_vec(),
    };
    all.lock().unwrap().push(got);
    "done".into_response()
}

async fn server() -> (Server, All) {
    let all = All::default();
    let app = Router::new().fallback(note).with_state(all.clone());
    (Server::start(ConnectionLimits::default(), |_| app).await, all)
}

/// Runs a command, and asserts that it printed the answer.
async fn run(command: String) {
    let run = move || Command::new("bash").args(["-euo", "pipefail", "-c", &command]).output().unwrap();
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The command for a request.
fn command(request: &Request<Vec<u8>>, base_url: &str) -> String {
    let journal = journal();
    let number = with_call(|call| {
        let (body, length) = (request.body().as_slice(), request.body().len() as u64);
        recorded(
            &journal,
            &NewCall {
                method: request.method(),
                path: request.uri().path(),
                query: request.uri().query(),
                request: Message { headers: CapturedHeaders::new(request.headers()), body, length },
                ..call
            },
        )
    });
    curl(&journal.get(number).unwrap(), base_url)
}

#[tokio::test]
async fn command_repeats_the_call_exactly() {
    let (server, all) = server().await;
    let base_url = format!("http://{}", server.address());
    let request = |method: &str, target: &str| Request::builder().method(method).uri(target);
    let nasty = "it's \"x\" $HOME `id` $(id) \\ !! ; & | > < * ? ~ # %\n\ttab\r\nend\\";
    let requests = [
        request("GET", "/v3/pet/1").body(vec![]),
        request("GET", "/v3/pet/1").header("accept", "application/xml").body(b"with a body".to_vec()),
        request("HEAD", "/v3/pet/1").body(vec![]),
        request("DELETE", "/v3/pet/1")
            .header("x-empty", "")
            .header("x-nasty", "it's $HOME `id` \"x\"")
            .body(vec![]),
        request("POST", "/v3/pet").body(vec![]),
        request("POST", "/v3/pet").header("content-type", "application/json").body(nasty.as_bytes().to_vec()),
        request("POST", "/v3/pet").body(b"@/etc/hostname".to_vec()),
        request("PUT", "/v3/pet").header("content-type", "text/plain").body(b"-x".to_vec()),
        request("POST", "/image").header("content-type", "image/png").body(b"\x89PNG\0\xff\r\n".to_vec()),
        request("POST", "/nul").header("content-type", "text/plain").body(b"a\0b".to_vec()),
        request("GET", "/it's/$(id)/{a,b}/[1-3]/../x/./y?q='%20'&a[]=1&b={c}").body(vec![]),
        request("O'DD", "/odd").body(vec![]),
    ];
    for request in requests.map(Result::unwrap) {
        let command = command(&request, &base_url);
        run(command.clone()).await;
        let got = all.lock().unwrap().pop().expect(&command);
        let sent = request.headers().iter().filter(|(name, _)| *name != "accept");
        let sent = sent.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        let expected = Got {
            method: request.method().clone(),
            target: request.uri().to_string(),
            headers: sent.collect(),
            body: request.body().clone(),
        };
        assert_eq!(got, expected, "{command}");
    }
    server.stop().await;
}

#[test]
fn command_is_short_for_a_plain_call() {
    let base_url = "http://localhost:8080/sandbox/ada";
    let of = |request: http::request::Builder, body: &str| {
        command(&request.body(body.as_bytes().to_vec()).unwrap(), base_url)
    };
    assert_eq!(of(Request::get("/v3/pet/1"), ""), "curl http://localhost:8080/sandbox/ada/v3/pet/1");
    let delete = Request::delete("/v3/pet/1?force=true").header("host", "x").header("x-note", "it's");
    assert_eq!(
        of(delete, ""),
        r"curl -X DELETE 'http://localhost:8080/sandbox/ada/v3/pet/1?force=true' -H 'x-note: it'\''s'"
    );
    let post =
        Request::post("/v3/pet").header("content-type", "application/json").header("content-length", "2");
    assert_eq!(
        of(post, "{}"),
        "curl http://localhost:8080/sandbox/ada/v3/pet -H 'content-type: application/json' --data-raw '{}'"
    );
}

#[tokio::test]
async fn command_says_that_a_body_is_cut_and_sends_what_there_is() {
    let (server, all) = server().await;
    let request =
        Request::post("/long").header("content-type", "text/plain").body(vec![b'x'; 20_000]).unwrap();
    let command = command(&request, &format!("http://{}", server.address()));
    let (comment, _) = command.split_once('\n').unwrap();
    assert_eq!(comment, "# The body had 20000 bytes; this command sends the first 16384.");
    run(command.clone()).await;
    assert_eq!(all.lock().unwrap().pop().unwrap().body, vec![b'x'; 16_384]);
    server.stop().await;
}

/// The comments in front of a command.
fn comments(change: impl for<'a> FnOnce(NewCall<'a>) -> NewCall<'a>) -> Vec<String> {
    let journal = journal();
    let number = with_call(|call| recorded(&journal, &change(call)));
    let command = curl(&journal.get(number).unwrap(), "http://localhost");
    command.lines().take_while(|line| line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn command_says_that_a_body_was_not_read_to_its_end() {
    fn sent<'a>(
        call: NewCall<'a>,
        body: &'a [u8],
        length: u64,
        headers: &CapturedHeaders<'a>,
    ) -> NewCall<'a> {
        let request = Message { headers: headers.clone(), body, length };
        NewCall { request, read_to_end: false, ..call }
    }
    let [declared, chunked, brotli] = [
        headers(&[("content-length", "5")]),
        headers(&[("transfer-encoding", "chunked")]),
        headers(&[("content-length", "5"), ("content-encoding", "br")]),
    ];
    assert_eq!(comments(|call| call), [""; 0]);
    let none = ["# The journal does not have the body of 5 bytes; this command sends none."];
    assert_eq!(comments(|call| sent(call, b"", 5, &declared)), none);
    assert_eq!(comments(|call| sent(call, b"plain", 5, &brotli)), none);
    let first = ["# The body had 5 bytes; this command sends the first 2."];
    assert_eq!(comments(|call| sent(call, b"pl", 5, &declared)), first);
    // With all its bytes it is complete, though its end was not awaited.
    assert_eq!(comments(|call| sent(call, b"plain", 5, &declared)), [""; 0]);
    let unread = ["# The body was not read to its end; this command sends the first 0 bytes."];
    assert_eq!(comments(|call| sent(call, b"", 0, &chunked)), unread);
    let unread = ["# The body was not read to its end; this command sends the first 2 bytes."];
    assert_eq!(comments(|call| sent(call, b"pl", 2, &chunked)), unread);
}

#[test]
fn command_says_that_a_compressed_body_is_cut() {
    let body = compressed(&[b'1'; 50_000]);
    let headers = headers(&[("content-encoding", "gzip")]);
    let message = Message { headers, body: &body, length: body.len() as u64 };
    let journal = journal();
    let number = with_call(|call| recorded(&journal, &NewCall { request: message.clone(), ..call }));
    let command = curl(&journal.get(number).unwrap(), "http://localhost");
    let (comment, _) = command.split_once('\n').unwrap();
    assert_eq!(comment, "# Of the compressed body, this command sends the first 16384 bytes.");
}

#[test]
fn command_says_that_a_path_or_a_query_is_cut() {
    let long = format!("/{}", "a".repeat(4096));
    let comment = ["# The path or the query had more than 4096 bytes; this command sends the first 4096."];
    let of = |path: &str, query: &str| {
        let journal = journal();
        let number = with_call(|call| recorded(&journal, &NewCall { path, query: Some(query), ..call }));
        let command = curl(&journal.get(number).unwrap(), "http://localhost");
        command.lines().take_while(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of(&long, "a=b"), comment);
    assert_eq!(of("/", &long), comment);
    assert_eq!(of(&long[..4096], &long[..4096]), [""; 0]);
}
