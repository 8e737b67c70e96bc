//! Where the webhooks of a program that runs go.

#![allow(clippy::unwrap_used)]

mod common;

use common::House;
use serde_json::json;
use testkit::{Answer, Client, Program};

/// Subscribes an address of this machine at the train service of a program.
async fn subscribe(house: &House, program: &Program, url: &str) -> Answer {
    // Where it listens on every address, it does so on this one.
    let train = Client::new(([127, 0, 0, 1], program.address("train").port()).into());
    let call = train.post("/webhooks").header("authorization", &house.train_token());
    call.json(&json!({"url": url})).send().await
}

testkit::on_both_engines! {
    async fn only_a_demo_that_nobody_else_can_reach_sends_to_this_machine(house: House) {
        const ADDRESS: &str = "TRIPTYCH_TRAIN_ADDRESS";
        for (flags, address) in [
            (&[][..], ""),
            (&["--demo"], "http://127.0.0.1:8081"),
            (&[], "http://localhost:8081"),
        ] {
            let program = Program::start(house.serving_train().args(flags).env(ADDRESS, address));
            subscribe(&house, &program, "http://127.0.0.1:9/x").await.has_status(201);
        }
        for (flags, address) in [
            (&["--demo", "--train-listen=0.0.0.0:0"][..], ""),
            (&["--demo", "--museum-listen=0.0.0.0:0"], ""),
            (&["--demo"], "https://trains.example.com"),
        ] {
            let program = Program::start(house.serving_train().args(flags).env(ADDRESS, address));
            let public = "must lead to a public address, not to a private, local or reserved one";
            for (url, why) in [
                ("http://127.0.0.1:9/x", "must begin with https://"),
                ("https://127.0.0.1:9/x", public),
                ("https://[::1]:9/x", public),
                ("https://localhost:9/x", public),
            ] {
                subscribe(&house, &program, url).await.is_invalid(&[("#/url", why)]);
            }
        }
    }
}
