//! Sends the inputs of a target, one after the other.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    runtime::{Builder, Runtime},
    time::timeout,
};
use web::ControlState;

use crate::{
    answer::Answer,
    requests::Call,
    services::{Running, Service},
    signer::Signer,
};

/// How long an answer may take. libFuzzer has the same limit for an input that keeps the processor busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// A parser of outside bytes.
pub struct Target {
    pub name: &'static str,
    /// How the services behave that it calls.
    pub(crate) controls: ControlState,
    /// The request of an input; `None` if no request can have it.
    pub(crate) call: fn(&mut Harness, &[u8]) -> Option<Call>,
    /// What else must hold for the answer to an input.
    pub(crate) violation: fn(&[u8], &Answer) -> Option<String>,
}

/// The services that a target calls, and what it sends them.
pub struct Harness {
    target: &'static Target,
    /// One thread serves and sends, so that the same input always takes the same path.
    runtime: Runtime,
    /// Started when they are called first.
    running: [Option<Connected>; 3],
}

struct Connected {
    connection: Option<SendRequest<Full<Bytes>>>,
    service: Running,
    signer: Option<Signer>,
}

impl Harness {
    pub fn new(target: &'static Target) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Harness { target, runtime, running: [const { None }; 3] }
    }

    /// Sends an input, if a request can have it. Gives the answer.
    ///
    /// # Panics
    /// If something does not hold that must.
    pub fn send(&mut self, input: &[u8]) -> Option<Answer> {
        let target = self.target;
        let call = (target.call)(self, input)?;
        let Call { service, request } = call;
        let shown = format!("{} {}", request.method(), request.uri());
        self.start(service);
        let connected = self.running[service as usize].as_mut().unwrap();
        let answer = self.runtime.block_on(async { timeout(PATIENCE, connected.exchange(request)).await });
        let answer = answer.unwrap_or_else(|_| panic!("{shown}: no answer within {PATIENCE:?}"));
        let violation = answer.violation().or_else(|| (target.violation)(input, &answer));
        if let Some(violation) = violation {
            let Answer { status, content_type, .. } = &answer;
            let (text, input) = (answer.text(), input.escape_ascii());
            panic!("{shown}: {violation}: {status} {content_type} {text}; the input is {input}");
        }
        Some(answer)
    }

    fn start(&mut self, service: Service) {
        let running = &mut self.running[service as usize];
        if running.is_none() {
            let service = self.runtime.block_on(Running::start(service, self.target.controls));
            *running = Some(Connected { connection: None, service, signer: None });
        }
    }

    /// An access token of the pet store with this header and these claims, signed with its own key. `KEY` is replaced by the id of the
    /// key, and `GRANT` by that of a grant.
    pub(crate) fn signed_token(&mut self, token_header: &[u8], claims: &[u8]) -> String {
        self.start(Service::Petstore);
        let connected = self.running[Service::Petstore as usize].as_mut().unwrap();
        if connected.signer.is_none() {
            connected.signer = Some(self.runtime.block_on(connected.new_signer()));
        }
        connected.signer.as_ref().unwrap().token(token_header, claims)
    }
}

impl Connected {
    async fn new_signer(&mut self) -> Signer {
        let form = "grant_type=client_credentials&client_id=guest&client_secret=guest";
        let request =
            Request::post("/oauth/token").header("content-type", "application/x-www-form-urlencoded");
        let answer = self.exchange(request.body(form.into()).unwrap()).await;
        Signer::new(&self.service.db, &answer.body).await
    }

    async fn exchange(&mut self, mut request: Request<Bytes>) -> Answer {
        request.headers_mut().insert(header::HOST, HeaderValue::from_static("127.0.0.1"));
        let response = self.connection().await.send_request(request.map(Full::new)).await;
        let (parts, body) = response.expect("an answer").into_parts();
        let body = body.collect().await.expect("a whole answer").to_bytes();
        let content_type = parts.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        let content_type = String::from_utf8_lossy(content_type.unwrap_or_default()).into_owned();
        Answer { status: parts.status, content_type, body }
    }

    /// The connection to the service; a new one if the service has closed it.
    async fn connection(&mut self) -> &mut SendRequest<Full<Bytes>> {
        if let Some(connection) = &mut self.connection
            && connection.ready().await.is_err()
        {
            self.connection = None;
        }
        if self.connection.is_none() {
            let stream = TcpStream::connect(self.service.server.address()).await.expect("it accepts");
            stream.set_nodelay(true).expect("a socket");
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.expect("a connection");
            tokio::spawn(connection);
            self.connection = Some(sender);
        }
        self.connection.as_mut().unwrap()
    }
}
