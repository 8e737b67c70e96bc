//! The limits per address on accounts and clients that are created without signing in.

use std::net::SocketAddr;

use jiff::SignedDuration;
use serde_json::json;
use testkit::Answer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
};

use super::fixture::{APP, Browser, Harness, PASSWORD, Service, refused};

const REGISTER: &str = "/oauth/register";

async fn register(service: &Service) -> Answer {
    service.client.post(REGISTER).json(&json!({"redirect_uris": [APP]})).send().await
}

/// Registers a client from an address of our choice, and gives the status line.
async fn register_from(source: [u8; 4], service: &Service) -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((source, 0))).unwrap();
    let mut stream = socket.connect(service.client.address()).await.unwrap();
    let body = json!({"redirect_uris": [APP]}).to_string();
    let request = format!(
        "POST {REGISTER} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap().to_owned()
}

testkit::on_both_engines! {
    async fn address_creates_at_most_twenty_accounts_an_hour(harness: Harness) {
        let service = &harness.service;
        let sign_up = async |name: &str| {
            let mut browser = Browser::new(service);
            browser.post("/oauth/sign-up", &[("name", name), ("password", PASSWORD)]).await
        };
        // What cannot be an account is not counted.
        for name in ["", "a:b"] {
            sign_up(name).await;
        }
        for number in 0..20 {
            sign_up(&format!("name {number}")).await.has_status(303);
        }
        for seconds in ["180", "179"] {
            let late = sign_up("late").await;
            assert_eq!(late.has_status(429).header("retry-after"), seconds);
            let text = late.text();
            let says = format!("Too many accounts were made from your address. Try again in {seconds} seconds.");
            assert!(text.contains(&format!("role=\"alert\" id=\"fault\">{says}</p>")), "{text}");
            assert!(text.contains("value=\"late\"") && !text.contains("aria-invalid"), "{text}");
            harness.clock.advance(SignedDuration::from_secs(1));
        }
        // Another process counts with us, and no account came of it.
        let other = Service::start(&harness.db, &harness.clock, Some(&service.issuer)).await;
        let mut browser = Browser::new(&other);
        browser.post("/oauth/sign-up", &[("name", "late"), ("password", PASSWORD)]).await.has_status(429);
        harness.clock.advance(SignedDuration::from_secs(178));
        sign_up("late").await.has_status(303);
        sign_up("later").await.has_status(429);
        // Making accounts is one thing, signing in another.
        browser.sign_in(&format!("/oauth/authorize?{}", service.request(&[]))).await.has_status(303);
        // The operator is not counted.
        service.accounts.add("operated", PASSWORD.into()).await.unwrap();
    }

    async fn address_registers_at_most_sixty_clients_an_hour_in_the_demo(harness: Harness) {
        let service = &harness.service;
        for _ in 0..60 {
            register(service).await.has_status(201);
        }
        let late = register(service).await;
        let why = "too many clients were registered from this address; try again in 60 seconds";
        refused("the 61st", &late, 429, "temporarily_unavailable");
        assert_eq!(late.json()["error_description"], why);
        assert_eq!(late.header("retry-after"), "60");
        assert_eq!(register_from([127, 0, 0, 2], service).await, "HTTP/1.1 201 Created");
        harness.clock.advance(SignedDuration::from_secs(60));
        register(service).await.has_status(201);
        register(service).await.has_status(429);
        // Registrations with the initial access token are not counted.
        let strict = Service::start_with(&harness.db, &harness.clock, None, |settings| {
            settings.demo = false;
            settings.registration_token = Some("let me".into());
        })
        .await;
        let call = strict.client.post(REGISTER).header("authorization", "Bearer let me");
        call.json(&json!({"redirect_uris": [APP]})).send().await.has_status(201);
    }
}
