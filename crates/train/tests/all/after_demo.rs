//! Webhooks of a demo account are sent only in the demo.

use db::Db;
use jiff::SignedDuration;
use serde_json::json;
use service::Instance;
use testkit::{Client, Server, Store, receiver::Receiver};
use tokio::sync::oneshot;
use train::{MIGRATIONS, SERVICE, Settings, Train};
use web::{Clock, ConnectionLimits};

use crate::fixture::{START, Setup, TRIP, booking, instance};

async fn open(db: &Db, clock: &Clock, demo: bool) -> Train {
    let settings = Settings { webhook_networks: vec!["127.0.0.0/8".parse().unwrap()], ..Settings::default() };
    Train::open(settings, of_kind(db, clock, demo)).await.unwrap()
}

fn of_kind(db: &Db, clock: &Clock, demo: bool) -> Instance {
    Instance { is_local: false, ..instance(&Setup { demo, ..Setup::default() }, db, clock) }
}

/// The errors of all attempts so far.
async fn errors(db: &Db) -> Vec<Option<String>> {
    let errors =
        db.read(|tx| tx.rows("SELECT error FROM webhook_attempt ORDER BY id", &[], |row| row.get(0)));
    errors.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
}

testkit::on_both_engines! {
    async fn events_of_a_demo_account_are_not_sent_without_the_demo(store: Store) {
        let clock = Clock::manual(START.parse().unwrap());
        let db = store.open("train", MIGRATIONS);
        let demo = open(&db, &clock, true).await;
        let instance = of_kind(&db, &clock, true);
        let accounts = SERVICE.accounts(&instance).unwrap();
        let account = accounts.find("demo").await.unwrap().unwrap();
        let other = accounts.add("ada", "correct horse".into()).await.unwrap();
        let issuer = SERVICE.authorization_server(&instance).await.unwrap();
        let router = demo.app();
        let server = Server::start(ConnectionLimits::default(), |_| router).await;
        let client = Client::new(server.address());
        let subscriber = Receiver::start().await;
        for (name, account) in [("demo", account), ("ada", other)] {
            let token = issuer.token_for(account, Some("read write")).await.unwrap();
            let call = |path: &str| client.post(path).header("authorization", &format!("Bearer {token}"));
            call("/webhooks").json(&json!({"url": subscriber.url(name).as_str()})).send().await.has_status(201);
            call("/bookings").json(&booking(TRIP)).send().await.has_status(201);
        }

        let strict = open(&db, &clock, false).await;
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(strict.run(async {
            let _ = stopped.await;
        }));
        // Both are due now, and attempts in flight are recorded before it stops.
        subscriber.wait_for("ada", 1).await;
        stop.send(()).unwrap();
        running.await.unwrap();
        let mut told = errors(&db).await;
        told.sort();
        assert_eq!(told, [None, Some("nothing is sent for this owner now".to_owned())]);
        assert_eq!(subscriber.count("demo"), 0);

        // In the demo it is tried again, as after any attempt that failed.
        clock.advance(SignedDuration::from_secs(6));
        let running = tokio::spawn(demo.run(std::future::pending()));
        subscriber.wait_for("demo", 1).await;
        running.abort();
    }
}
