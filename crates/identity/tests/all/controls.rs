//! Controls over HTTP Basic and over the hourly limit.

use identity::quota::{self, Quota, QuotaError};
use testkit::{Client, Server, Store};
use web::{Clock, ConnectionLimits, ControlState, Controls, SignInMode};

use crate::support::{PASSWORD, World, router};

/// A service with the accounts of the test, the demo user and these controls.
async fn controlled(world: &World, controls: &Controls) -> (Client, Server) {
    world.accounts.add_demo("demo", "demo").await.unwrap();
    let accounts = world.accounts.clone().controlled_by(controls.clone());
    let server = Server::start(ConnectionLimits::default(), |_| router(accounts)).await;
    (Client::new(server.address()), server)
}

fn mode(sign_in: SignInMode) -> ControlState {
    ControlState { sign_in, ..ControlState::default() }
}

fn limited(calls_per_hour: u32) -> ControlState {
    ControlState { calls_per_hour: Some(calls_per_hour), ..ControlState::default() }
}

testkit::on_both_engines! {
    async fn any_basic_credentials_act_as_the_demo_user(world: World) {
        world.add("ada", PASSWORD).await;
        let controls = Controls::new(mode(SignInMode::Any));
        let (client, _server) = controlled(&world, &controls).await;
        let demo = world.accounts.find("demo").await.unwrap().unwrap().to_string();
        for (name, password) in [("demo", "demo"), ("ada", "wrong"), ("unknown", ""), ("", ""), ("a\u{0}b", "x")] {
            let answer = client.signed_in(name, password).get("/me").send().await;
            assert_eq!(answer.has_status(200).text(), demo, "{name}");
        }
        let none = client.get("/me").send().await;
        assert_eq!(none.is_problem(401, "unauthorized"), "This operation needs HTTP Basic credentials.");
        for malformed in ["Basic", "Basic %%%", "Bearer abc"] {
            client.get("/me").header("authorization", malformed).send().await.has_status(401);
        }
        assert_eq!(world.accounts.password_checks(), 0);
        controls.set(ControlState::default());
        client.signed_in("ada", "wrong").get("/me").send().await.has_status(401);
        client.signed_in("ada", PASSWORD).get("/me").send().await.has_status(200);
    }

    async fn calls_without_credentials_act_as_the_demo_user_when_sign_in_is_off(world: World) {
        let controls = Controls::new(mode(SignInMode::Off));
        let (client, _server) = controlled(&world, &controls).await;
        let demo = world.accounts.find("demo").await.unwrap().unwrap().to_string();
        assert_eq!(client.get("/me").send().await.has_status(200).text(), demo);
        for sent in ["Basic", "Basic %%%", "Bearer abc", "Basic eDp5"] {
            let answer = client.get("/me").header("authorization", sent).send().await;
            assert_eq!(answer.has_status(200).text(), demo, "{sent}");
        }
        world.accounts.remove("demo").await.unwrap();
        let nil = "00000000-0000-0000-0000-000000000000";
        assert_eq!(client.get("/me").send().await.has_status(200).text(), nil);
        // An account of this name that is not of the demo has an owner.
        world.accounts.add("demo", PASSWORD.into()).await.unwrap();
        assert_eq!(client.get("/me").send().await.has_status(200).text(), nil);
    }

    async fn low_limit_counts_from_its_change_on(store: Store) {
        let db = store.open("test", &[quota::MIGRATIONS]);
        let controls = Controls::default();
        let clock = Clock::manual("2026-03-01T10:15:00Z".parse().unwrap());
        let quota = Quota::new(1000, db.clone(), clock.clone()).controlled_by(controls.clone());
        assert_eq!(quota.spend("ada").await.unwrap().remaining, 999);
        controls.set(limited(2));
        assert_eq!(quota.limit(), 2);
        assert_eq!(quota.spend("ada").await.unwrap().remaining, 1);
        assert_eq!(quota.spend("ada").await.unwrap().remaining, 0);
        let QuotaError::UsedUp(status) = quota.spend("ada").await.unwrap_err() else { panic!("not used up") };
        assert_eq!((status.limit, status.remaining, status.reset), (2, 0, 2700));
        assert_eq!(quota.spend("ben").await.unwrap().remaining, 1);
        // The usual limit goes on where it was; the low one does not start again.
        controls.set(ControlState::default());
        assert_eq!((quota.limit(), quota.spend("ada").await.unwrap().remaining), (1000, 998));
        controls.set(limited(2));
        assert!(quota.spend("ada").await.is_err());
        clock.advance(jiff::SignedDuration::from_hours(1));
        assert_eq!(quota.spend("ada").await.unwrap().remaining, 1);
    }

    async fn limit_above_the_settings_changes_nothing(store: Store) {
        let db = store.open("test", &[quota::MIGRATIONS]);
        let clock = Clock::manual("2026-03-01T10:15:00Z".parse().unwrap());
        let quota = Quota::new(2, db, clock).controlled_by(Controls::new(limited(3)));
        assert_eq!(quota.limit(), 2);
        assert_eq!(quota.spend("ada").await.unwrap().remaining, 1);
        assert_eq!(quota.spend("ada").await.unwrap().remaining, 0);
        assert!(quota.spend("ada").await.is_err());
    }
}
