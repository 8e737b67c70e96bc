//! The sweeper with a clock that can be moved.

use std::future::pending;

use jiff::SignedDuration;
use service::Instance;
use testkit::{Log, Store};
use uuid::Uuid;
use web::{Clock, ClockState, Random};
use webhooks::NewEvent;

use crate::{Settings, Train, booking::NewBooking, idempotency::Answer};

const BOOKING: Uuid = Uuid::from_u128(1);

/// Sets the number of taken seats. With a wrong one, a hold cannot be released.
async fn alter(train: &Train, statement: &'static str) {
    let altered: Result<(), db::Error> = train.db.write(move |tx| tx.execute(statement, &[]).map(drop)).await;
    altered.unwrap();
}

testkit::on_both_engines! {
    async fn failed_sweep_is_repeated_on_a_frozen_clock(store: Store) {
        let log = Log::start();
        let clock = Clock::adjustable(ClockState::default().freeze("2026-05-13T10:00:00Z".parse().unwrap()));
        let db = store.open("train", crate::MIGRATIONS);
        let instance = Instance::new(db, clock.clone(), Random::system()).at("https://trains.example");
        let train = Train::open(Settings::default(), instance).await.unwrap();
        let (state, now) = (train.clone(), clock.now());
        let booked = train.db.write(move |tx| {
            let new = NewBooking {
                trip_id: "2f87bac9-12fc-8000-80a8-ac0100005071".parse().unwrap(),
                passenger_name: "Ada".into(),
                has_bicycle: false,
                has_dog: false,
            };
            Ok::<_, db::Error>(matches!(state.book(tx, "ada", (BOOKING, &NewEvent { id: Uuid::nil(), trace: None }), &new, now)?, Answer::Done(_)))
        });
        assert!(booked.await.unwrap());
        alter(&train, "UPDATE trip_seats SET taken = 0").await;
        let errors = || log.text().matches("could not be settled").count();
        let before = errors();
        let running = tokio::spawn(train.clone().run(pending()));
        clock.set_state(clock.state().advance(Clock::machine_time(), SignedDuration::from_hours(2)).unwrap()).unwrap();
        testkit::until(async || errors() > before).await;
        alter(&train, "UPDATE trip_seats SET taken = 1").await;
        // Nothing moves the clock again.
        testkit::until(async || {
            let status = train.db.read(|tx| {
                tx.row("SELECT status FROM booking WHERE id = $1", &[BOOKING.into()], |row| row.get::<String>(0))
            });
            status.await.unwrap().unwrap() == "expired"
        })
        .await;
        running.abort();
    }
}
