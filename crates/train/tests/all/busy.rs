//! A service whose queue is full answers 503 and changes nothing.

use std::{future::ready, pin::Pin, sync::mpsc};

use testkit::{Client, Server, Store};

use crate::fixture::{GOOD, Open, Setup, TRIP, booking, card, instance, payment};

/// Starts a future without waiting for it.
async fn begin(future: Pin<&mut impl Future>) {
    tokio::select! {
        biased;
        _ = future => panic!("it is to wait"),
        () = ready(()) => {}
    }
}

testkit::on_both_engines! {
    /// With room for one unit of work to run and one to wait, the third is turned away at once.
    async fn full_queue_gets_503_and_changes_nothing(store: Store) {
        let limits = db::Limits { queue: 1, connections: 1, ..db::Limits::DEFAULT };
        let db = db::Db::open(store.location(), "train", train::MIGRATIONS, limits).unwrap();
        let open = Open::on(store, Setup::default()).await;
        let made = open.ada.hold(TRIP).await;
        let instance = instance(&Setup::default(), &db, &open.clock);
        let busy = train::Train::open(train::Settings::default(), instance).await.unwrap();
        let router = busy.app();
        let server = Server::start(web::ConnectionLimits::default(), |_| router).await;
        let ada = Client::new(server.address());
        let token = format!("Bearer {}", open.ada.token());
        // It knows the caller from here on, and has calls to hand out.
        ada.get("/bookings").header("authorization", &token).send().await.has_status(200);

        let (started, has_started) = mpsc::channel();
        let (finish, may_finish) = mpsc::channel::<()>();
        let may_finish = std::sync::Mutex::new(may_finish);
        let running = db.write(move |_| {
            started.send(()).unwrap();
            may_finish.lock().unwrap().recv().unwrap();
            Ok::<_, db::Error>(())
        });
        let mut running = std::pin::pin!(running);
        begin(running.as_mut()).await;
        tokio::task::spawn_blocking(move || has_started.recv().unwrap()).await.unwrap();
        let mut waiting = std::pin::pin!(db.write(|_| Ok::<_, db::Error>(())));
        begin(waiting.as_mut()).await;

        let cancel = format!("/bookings/{}", made["id"].as_str().unwrap());
        let calls = [
            ada.post("/bookings").json(&booking(TRIP)),
            ada.post("/bookings").header("idempotency-key", "busy").json(&booking(TRIP)),
            ada.post(&payment(&made)).json(&card(GOOD)),
            ada.delete(&cancel),
        ];
        for call in calls {
            let answer = call.header("authorization", &token).send().await;
            assert_eq!(answer.is_problem(503, "unavailable"), "The service is busy. Try again in a moment.");
            assert_eq!(answer.header("retry-after"), "1");
            assert!(answer.header("ratelimit").starts_with("limit=100000, "), "{:?}", answer.headers);
        }
        // Routes without the database still work.
        ada.get("/stations").header("authorization", &token).send().await.has_status(200);
        ada.get("/healthz").send().await.has_status(200);

        finish.send(()).unwrap();
        running.await.unwrap();
        waiting.await.unwrap();
        assert_eq!(open.kept().await.len(), 2, "the one booking and its trip");
        let call = ada.post("/bookings").header("idempotency-key", "busy").header("authorization", &token);
        call.json(&booking(TRIP)).send().await.has_status(201);
    }
}
