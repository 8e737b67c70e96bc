//! Where the webhooks of a program that runs go, and which way.

use std::{io::ErrorKind, time::Duration};

use crate::common::Workspace;
use axum::{Router, extract::State, routing::post};
use serde_json::json;
use testkit::{Answer, Client, Program, Server};
use tokio::{net::TcpListener, sync::mpsc};
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

testkit::on_both_engines! {
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
        let subscribed = subscribe(&workspace, &program, &format!("http://{}", receiver.address())).await;
        let id = subscribed.has_status(201).json()["id"].as_str().unwrap().to_owned();
        let train = Client::new(program.address("train"));
        let call = train.post(&format!("/webhooks/{id}/test")).header("authorization", &workspace.train_token());
        call.send().await.has_status(202);
        tokio::select! {
            event = tokio::time::timeout(PATIENCE, events.recv()) => assert_eq!(event, Ok(Some(()))),
            _ = proxy.accept() => panic!("the event went to the proxy"),
        }
        let connected = proxy.into_std().unwrap().accept();
        assert_eq!(connected.unwrap_err().kind(), ErrorKind::WouldBlock, "a connection to the proxy");
    }
}
