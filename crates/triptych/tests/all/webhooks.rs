//! Where the webhooks of a program that runs go, and which way.

use std::{fs, io::ErrorKind, sync::Arc, time::Duration};

use crate::common::Workspace;
use axum::{Router, extract::State, routing::post};
use rustls::{
    AlertDescription, Error, ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::json;
use testkit::{Answer, Authority, Client, Engine, Program, Server, Store};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
    sync::mpsc,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use web::ConnectionLimits;

/// How long a test waits for an event before it fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Subscribes an address of this machine at the train service of a program.
async fn subscribe(workspace: &Workspace, program: &Program, url: &str) -> Answer {
    // Where it listens on every address, it does so on this one.
    let train = Client::new(([127, 0, 0, 1], program.address("train").port()).into());
    let call = train.post("/webhooks").header("authorization", &workspace.train_token());
    call.json(&json!({"url": url})).send().await
}

/// Sends the test event of a new subscription.
async fn send_to(workspace: &Workspace, program: &Program, url: &str) {
    let subscribed = subscribe(workspace, program, url).await.has_status(201).json();
    let train = Client::new(program.address("train"));
    let path = format!("/webhooks/{}/test", subscribed["id"].as_str().unwrap());
    train.post(&path).header("authorization", &workspace.train_token()).send().await.has_status(202);
}

/// Accepts TLS with a certificate of an authority.
fn acceptor(authority: &Authority) -> TlsAcceptor {
    let certificate = authority.issue(&["127.0.0.1"]);
    let chain = vec![CertificateDer::from_pem_slice(certificate.pem.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(certificate.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()))
}

#[tokio::test]
async fn event_is_sent_only_to_a_server_whose_certificate_the_machine_trusts() {
    let workspace = Workspace { store: Store::new(Engine::Sqlite), folder: tempfile::tempdir().unwrap() };
    let (trusted, unknown) = (Authority::new("trusted"), Authority::new("unknown"));
    let file = workspace.folder.path().join("authorities.pem");
    fs::write(&file, trusted.pem()).unwrap();
    let mut command = workspace.serving_train();
    let program = Program::start(command.env("SSL_CERT_FILE", &file).env_remove("SSL_CERT_DIR"));

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/hooks", listener.local_addr().unwrap());
    send_to(&workspace, &program, &url).await;
    let (stream, _) = timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    let error = acceptor(&unknown).accept(stream).await.unwrap_err();
    let error = error.get_ref().and_then(|error| error.downcast_ref::<Error>()).unwrap();
    assert_eq!(*error, Error::AlertReceived(AlertDescription::UnknownCA));

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/hooks", listener.local_addr().unwrap());
    send_to(&workspace, &program, &url).await;
    let (stream, _) = timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    let mut request = BufReader::new(acceptor(&trusted).accept(stream).await.unwrap()).lines();
    assert_eq!(request.next_line().await.unwrap().unwrap(), "POST /hooks/newBooking HTTP/1.1");
}

testkit::on_one_engine! {
    async fn only_a_loopback_demo_sends_to_loopback(workspace: Workspace) {
        const ADDRESS: &str = "TRIPTYCH_TRAIN_ADDRESS";
        for (flags, address) in [
            (&[][..], ""),
            (&["--demo"], "http://127.0.0.1:8081"),
            (&[], "http://localhost:8081"),
        ] {
            let program = Program::start(workspace.serving_train().args(flags).env(ADDRESS, address));
            subscribe(&workspace, &program, "http://127.0.0.1:9/x").await.has_status(201);
        }
        for (flags, address) in [
            (&["--demo", "--train-listen=0.0.0.0:0"][..], "http://127.0.0.1:8081"),
            (&["--demo", "--museum-listen=0.0.0.0:0"], "http://127.0.0.1:8081"),
            (&["--demo"], "https://trains.example.com"),
        ] {
            let mut command = workspace.serving_train();
            command.args(flags).env(ADDRESS, address);
            let program = Program::start(command.env("TRIPTYCH_SECRET", "x".repeat(32)));
            let public = "must lead to a public address, not to a private, local or reserved one";
            for (url, why) in [
                ("http://127.0.0.1:9/x", "must begin with https://"),
                ("https://127.0.0.1:9/x", public),
                ("https://[::1]:9/x", public),
                ("https://localhost:9/x", public),
            ] {
                subscribe(&workspace, &program, url).await.is_invalid(&[("#/url", why)]);
            }
        }
    }

    async fn proxy_variables_are_ignored(workspace: Workspace) {
        let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", proxy.local_addr().unwrap());
        let mut command = workspace.serving_train();
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
            command.env(name, &address);
        }
        let program = Program::start(command.env_remove("NO_PROXY").env_remove("no_proxy"));
        let (sender, mut events) = mpsc::unbounded_channel();
        let receive = async |State(events): State<mpsc::UnboundedSender<()>>| events.send(()).unwrap();
        let router = Router::new().route("/newBooking", post(receive)).with_state(sender);
        let receiver = Server::start(ConnectionLimits::default(), |_| router).await;
        send_to(&workspace, &program, &format!("http://{}", receiver.address())).await;
        tokio::select! {
            event = timeout(PATIENCE, events.recv()) => assert_eq!(event, Ok(Some(()))),
            _ = proxy.accept() => panic!("the event went to the proxy"),
        }
        let connected = proxy.into_std().unwrap().accept();
        assert_eq!(connected.unwrap_err().kind(), ErrorKind::WouldBlock, "a connection to the proxy");
    }
}
