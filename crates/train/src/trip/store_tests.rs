//! The last seat of a trip, with two transactions at once. SQLite has one writer at a time.

use db::Error;
use jiff::Timestamp;
use testkit::{Engine, Store};
use uuid::Uuid;

use super::store::{SeatRequest, take_seat, taken};

/// The interleaving in which a check before the update would sell a seat twice: a transaction has taken the last seat, another
/// waits for it, and the first commits.
#[tokio::test]
async fn last_seat_taken_by_a_running_transaction_is_not_sold_again() {
    let store = Store::new(Engine::Postgres);
    let db = store.open("train", crate::MIGRATIONS);
    let now: Timestamp = "2026-05-13T10:00:00Z".parse().unwrap();
    let place = Uuid::from_u128(1);
    let date = "2026-05-20".parse().unwrap();
    let last = SeatRequest { trip: place, origin: place, destination: place, date, seats: 2 };
    let first_seat = db.write(move |tx| take_seat(tx, last, now)).await;
    assert!(first_seat.unwrap_or_else(|error: Error| panic!("{error}")));
    let (taken_once, mut is_taken) = tokio::sync::mpsc::unbounded_channel();
    let sale = db.write(move |tx| {
        let sold = take_seat(tx, last, now)?;
        taken_once.send(()).unwrap();
        let waiting =
            "SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid";
        while tx.row(waiting, &[], |_| Ok(()))?.is_none() {}
        Ok::<_, Error>(sold)
    });
    let other_sale = async {
        is_taken.recv().await.unwrap();
        db.write(move |tx| take_seat(tx, last, now)).await
    };
    let (sold, sold_again) = tokio::join!(sale, other_sale);
    assert!(sold.unwrap());
    assert!(!sold_again.unwrap_or_else(|error: Error| panic!("{error}")));
    let count = db.read(move |tx| taken(tx, last.trip, now)).await;
    assert_eq!(count.unwrap_or_else(|error: Error| panic!("{error}")).found, 2);
}
