//! Everything in a sandbox lives by its clock.

use std::collections::BTreeSet;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use futures_util::future::join_all;
use sandbox::Limits;
use serde_json::{Value, json};
use testkit::{
    Engine, on_both_engines,
    receiver::{Receiver, reply},
};

use crate::{
    fixture::{Process, World, is_problem},
    user::{START, User},
};

/// Subscribes a receiver to the bookings of the user, and returns the path of the subscription.
async fn subscribe(user: &User, receiver: &Receiver) -> String {
    let url = receiver.url("a").to_string();
    let hook = user.post("/webhooks", &json!({"url": url})).await.has_status(201).json();
    format!("/webhooks/{}", hook["id"].as_str().unwrap())
}

/// Waits for the attempt with this number to arrive and to be recorded, which sets the time of the next one.
async fn attempt_fails(user: &User, hook: &str, receiver: &Receiver, number: usize) {
    receiver.wait_for("a", number).await;
    // The program tells no client when it has recorded an attempt.
    testkit::until(async || {
        user.get(hook).await.has_status(200).json()["deliveries"].as_array().unwrap().len() >= number
    })
    .await;
}

on_both_engines! {
    async fn hold_expires_after_an_hour(world: World) {
        let process = &world.process;
        let ada = process.create_frozen("ada").await;
        process.control("PUT", &ada, "/sign-in", Some(json!({"mode": "enforce", "access_token_seconds": 7200}))).await.has_status(200);
        let user = User::sign_in(process, &ada).await;
        let booking = user.book("2030-06-04", None).await;
        assert_eq!(booking["expires_at"], "2030-06-03T10:00:00Z");
        process.advance(&ada, "59m 59s").await;
        assert_eq!(user.status(&booking).await, "held");
        process.advance(&ada, "1s").await;
        assert_eq!(user.status(&booking).await, "expired");
    }

    async fn access_token_and_refresh_token_expire(world: World) {
        let process = &world.process;
        let ada = process.create_frozen("ada").await;
        let user = User::sign_in(process, &ada).await;
        process.advance(&ada, "9m 59s").await;
        user.get("/stations").await.has_status(200);
        process.advance(&ada, "1s").await;
        let expired = user.get("/stations").await;
        is_problem(&expired, 401, "/sandbox/ada", "unauthorized");
        assert!(expired.header("www-authenticate").contains("the access token has expired"));
        let renewed = user.refresh().await.has_status(200).json();
        let text = |name: &str| renewed[name].as_str().unwrap().to_owned();
        let user = User { access_token: text("access_token"), refresh_token: text("refresh_token"), ..user };
        user.get("/stations").await.has_status(200);
        let late = User::sign_in(process, &ada).await;
        process.advance(&ada, "29 days 23h 59m 59s").await;
        user.refresh().await.has_status(200);
        process.advance(&ada, "1s").await;
        assert_eq!(late.refresh().await.has_status(400).json()["error"], "invalid_grant");
    }

    async fn session_cookie_expires_after_an_hour(world: World) {
        let process = &world.process;
        let ada = process.create_frozen("ada").await;
        let login = process.petstore.get("/sandbox/ada/v3/user/login?username=demo&password=demo").send().await;
        assert_eq!(login.has_status(200).header("x-expires-after"), "2030-06-03T10:00:00Z");
        let cookie = login.header("set-cookie").split(';').next().unwrap().to_owned();
        let change = async || {
            let call = process.petstore.put("/sandbox/ada/v3/user/demo").header("cookie", &cookie);
            call.header("sec-fetch-site", "same-origin").json(&json!({"firstName": "Ada"})).send().await
        };
        process.advance(&ada, "59m 59s").await;
        change().await.has_status(200);
        process.advance(&ada, "1s").await;
        is_problem(&change().await, 401, "/sandbox/ada", "unauthorized");
    }

    async fn idempotency_key_expires_after_a_day(world: World) {
        let process = &world.process;
        let ada = process.create_frozen("ada").await;
        let user = User::sign_in(process, &ada).await;
        let first = user.book("2030-06-05", Some("key")).await;
        assert_eq!(user.book("2030-06-05", Some("key")).await["id"], first["id"]);
        process.advance(&ada, "23h 59m 59s").await;
        let user = User::sign_in(process, &ada).await;
        assert_eq!(user.book("2030-06-05", Some("key")).await["id"], first["id"]);
        process.advance(&ada, "1s").await;
        assert_ne!(user.book("2030-06-05", Some("key")).await["id"], first["id"]);
    }

    async fn webhook_is_sent_again_when_its_retry_is_due(world: World) {
        let (process, receiver) = (&world.process, Receiver::start().await);
        let ada = process.create_frozen("ada").await;
        let user = User::sign_in(process, &ada).await;
        receiver.script("a", &[reply(500), reply(500)], reply(204));
        let hook = subscribe(&user, &receiver).await;
        user.book("2030-06-04", None).await;
        attempt_fails(&user, &hook, &receiver, 1).await;
        process.advance(&ada, "6s").await;
        attempt_fails(&user, &hook, &receiver, 2).await;
        process.advance(&ada, "6m").await;
        let got = receiver.wait_for("a", 3).await;
        assert!(got.iter().all(|one| one.id() == got[0].id()));
    }

    async fn token_of_a_delivery_is_valid_at_its_timestamp(world: World) {
        let process = &world.process;
        let receiver = Receiver::start().await;
        let ada = process.create_frozen("ada").await;
        let user = User::sign_in(process, &ada).await;
        subscribe(&user, &receiver).await;
        user.book("2030-06-04", None).await;
        let got = receiver.wait_for("a", 1).await;
        let sent_at: i64 = got[0].header("webhook-timestamp").parse().unwrap();
        let claims = got[0].header("authorization").split('.').nth(1).unwrap();
        let claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        let (issued_at, expires_at) = (claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
        assert!((issued_at..expires_at).contains(&sent_at), "{sent_at} {claims}");
        assert_eq!(expires_at - issued_at, 300);
    }

    /// No call has opened the train service when the clock is moved.
    async fn retry_is_sent_after_a_restart_when_the_clock_is_advanced(world: World) {
        let World { store, process } = world;
        let receiver = Receiver::start().await;
        let ada = process.create_frozen("ada").await;
        let user = User::sign_in(&process, &ada).await;
        receiver.script("a", &[reply(500)], reply(204));
        let hook = subscribe(&user, &receiver).await;
        user.book("2030-06-04", None).await;
        attempt_fails(&user, &hook, &receiver, 1).await;
        process.stop().await;
        let again = Process::start(&store, true, Limits::default()).await;
        again.advance(&ada, "6s").await;
        receiver.wait_for("a", 2).await;
    }

    async fn trips_and_hours_follow_the_date(world: World) {
        let process = &world.process;
        let ada = process.create_frozen("ada").await;
        let user = User::sign_in(process, &ada).await;
        let first_day = async || {
            let hours = process.museum.get("/sandbox/ada/v1.1/museum-hours?limit=1").send().await;
            hours.has_status(200).json()[0]["date"].as_str().unwrap().to_owned()
        };
        assert_eq!(first_day().await, "2030-06-03");
        let departures = async |user: &User| {
            let trips = user.trips("2030-06-03").await.has_status(200).json();
            trips["data"].as_array().unwrap().len()
        };
        let before = departures(&user).await;
        assert_ne!(before, 0);
        process.advance(&ada, "8h").await;
        let user = User::sign_in(process, &ada).await;
        assert!(departures(&user).await < before);
        process.advance(&ada, "40h").await;
        assert_eq!(first_day().await, "2030-06-05");
        let user = User::sign_in(process, &ada).await;
        is_problem(&user.trips("2030-06-03").await, 400, "/sandbox/ada", "invalid-request");
    }

    async fn clock_that_is_set_back_keeps_sign_in_ids_and_pages_working(world: World) {
        let process = &world.process;
        let ada = process.create_frozen("ada").await;
        let user = User::sign_in(process, &ada).await;
        let mut made = BTreeSet::new();
        for _ in 0..3 {
            made.insert(user.book("2030-06-10", None).await["id"].as_str().unwrap().to_owned());
        }
        process.advance(&ada, "-24h").await;
        let future = user.get("/stations").await;
        is_problem(&future, 401, "/sandbox/ada", "unauthorized");
        assert!(future.header("www-authenticate").contains("the access token is not valid yet"));
        let user = User::sign_in(process, &ada).await;
        for _ in 0..3 {
            made.insert(user.book("2030-06-10", None).await["id"].as_str().unwrap().to_owned());
        }
        assert_eq!(made.len(), 6);
        let (mut path, mut listed) = (Some("/bookings?limit=2".to_owned()), Vec::new());
        while let Some(next) = path {
            let page = user.get(&next).await.has_status(200).json();
            let ids = page["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
            listed.extend(ids);
            let link = page["links"]["next"].as_str();
            path = link.map(|link| link.split_once(&user.prefix).unwrap().1.to_owned());
        }
        assert_eq!(listed.len(), 6);
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), made);
    }

    async fn expired_tokens_stay_expired_and_new_ones_work_on_any_clock(world: World) {
        let process = &world.process;
        let ada = process.create_frozen("ada").await;
        let old = User::sign_in(process, &ada).await;
        process.control("POST", &ada, "/sign-in/expire", None).await.has_status(204);
        // Issued in the same microsecond of the frozen clock.
        old.get("/stations").await.has_status(401);
        User::sign_in(process, &ada).await.get("/stations").await.has_status(200);
        process.advance(&ada, "-24h").await;
        let user = User::sign_in(process, &ada).await;
        user.get("/stations").await.has_status(200);
        user.refresh().await.has_status(200);
    }

    async fn concurrent_changes_of_the_clock_add_up(world: World) {
        let process = &world.process;
        let ada = process.create_frozen("ada").await;
        join_all((0..8).map(|_| process.advance(&ada, "1h"))).await;
        let clock = process.control("GET", &ada, "/clock", None).await;
        clock.is(200, &json!({"time": "2030-06-03T17:00:00Z", "frozen": true}));
        // A rejected change changes nothing.
        let wrong = json!({"frozen": false, "advance": "9000y"});
        process.control("PATCH", &ada, "/clock", Some(wrong)).await.has_status(400);
        let clock = process.control("GET", &ada, "/clock", None).await;
        clock.is(200, &json!({"time": "2030-06-03T17:00:00Z", "frozen": true}));
    }
}

/// A hold and a retry of one process follow the clock that another one has moved.
#[test]
fn clock_that_one_process_moves_holds_in_another() {
    testkit::run(Engine::Postgres, async |world: World| {
        let (one, receiver) = (&world.process, Receiver::start().await);
        let ada = one.create_frozen("ada").await;
        let other = Process::start(&world.store, true, Limits::default()).await;
        let lifetimes = json!({"mode": "enforce", "access_token_seconds": 7200});
        one.control("PUT", &ada, "/sign-in", Some(lifetimes)).await.has_status(200);
        let user = User::sign_in(&other, &ada).await;
        receiver.script("a", &[reply(500)], reply(204));
        let hook = subscribe(&user, &receiver).await;
        let booking = user.book("2030-06-04", None).await;
        attempt_fails(&user, &hook, &receiver, 1).await;
        assert_eq!(user.status(&booking).await, "held");
        one.advance(&ada, "1h").await;
        assert_eq!(user.status(&booking).await, "expired");
        receiver.wait_for("a", 2).await;
        let clock: Value = other.control("GET", &ada, "/clock", None).await.json();
        assert_eq!(clock["time"], "2030-06-03T10:00:00Z");
        one.clock(&ada, json!({"time": START})).await;
        let user = User::sign_in(&other, &ada).await;
        assert_eq!(user.book("2030-06-04", None).await["expires_at"], "2030-06-03T10:00:00Z");
    });
}
