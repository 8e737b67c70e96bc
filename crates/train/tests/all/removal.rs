//! Removal of a user: the user's holds and deliveries end, and no remaining row names the user.

use db::Migrations;
use jiff::SignedDuration;
use serde_json::{Value, json};
use service::Service;
use testkit::{Store, receiver::Receiver};
use train::MIGRATIONS;
use uuid::Uuid;

use crate::{
    fixture::{GOOD, Open, SMALL, Setup, TRIP, booking, card, instance, payment, text},
    person::Person,
};

impl Open {
    async fn remove(&self, name: &str) -> Result<(), identity::ChangeError> {
        let instance = instance(&Setup::default(), &self.db, &self.clock);
        train::Settings::default().remove_user(&instance, name).await
    }
}

impl Open {
    /// The number of free seats of a trip, read by the other user.
    async fn seats_as_ben(&self, trip: &str) -> i64 {
        let answer = self.ben.get(&format!("/trips/{trip}")).send().await;
        answer.has_status(200).json()["seats_available"].as_i64().unwrap()
    }

    /// Moves the clock, and gives the other user a new token.
    async fn advance_ben(&self, by: SignedDuration) {
        self.clock.advance(by);
        let token = self.token(&self.ben, "read write").await;
        *self.ben.token.lock().unwrap() = token;
    }
}

async fn subscribe(person: &Person, receiver: &Receiver, name: &str) -> Value {
    let body = json!({"url": receiver.url(name).as_str()});
    person.post("/webhooks").json(&body).send().await.has_status(201).json()
}

/// How many bookings a user sees.
async fn bookings(person: &Person) -> usize {
    let listed = person.get("/bookings").send().await.has_status(200).json();
    listed["data"].as_array().unwrap().len()
}

/// Makes a booking with a key, for a passenger.
async fn hold(person: &Person, trip: &str, key: &str, passenger: &str) -> Value {
    let mut body = booking(trip);
    body["passenger_name"] = json!(passenger);
    let call = person.post("/bookings").header("idempotency-key", key).json(&body);
    call.send().await.has_status(201).json()
}

/// Pays by a card of this holder.
async fn pay(person: &Person, booking: &Value, number: &str, holder: &str) -> Value {
    let mut body = card(number);
    body["source"]["name"] = json!(holder);
    body["source"]["address_city"] = json!(format!("{holder} City"));
    let call = person.post(&payment(booking)).header("idempotency-key", number).json(&body);
    call.send().await.has_status(200).json()
}

testkit::on_both_engines! {
    async fn no_row_names_a_removed_user(store: Store) {
        let open = Open::on(store, Setup { demo: true, ..Setup::default() }).await;
        let receiver = Receiver::start().await;
        for person in [&open.ada, &open.ben] {
            let (name, holder) =
                if person.account == open.ada.account { ("Zelda", "Z. Holder") } else { ("Bertha", "B. Holder") };
            let made = subscribe(person, &receiver, name).await;
            person.post(&format!("/webhooks/{}/test", text(&made, "id"))).send().await.has_status(202);
            hold(person, SMALL, "held", name).await;
            let paid = hold(person, TRIP, "paid", name).await;
            pay(person, &paid, "4000000000000002", holder).await;
            pay(person, &paid, GOOD, holder).await;
            let pending = hold(person, TRIP, "pending", name).await;
            pay(person, &pending, "4000000000000077", holder).await;
            let cancelled = hold(person, TRIP, "cancelled", name).await;
            person.cancel(&cancelled).await.has_status(204);
        }
        let bens = |rows: &[String]| rows.iter().filter(|row| row.contains("Bert") || row.contains("B. Holder")).count();
        let before = open.everything().await;
        assert!(before.iter().filter(|row| row.contains("Zelda")).count() >= 9, "{before:?}");
        open.remove("ada").await.unwrap();

        let account = open.ada.account.to_string();
        let hex = open.ada.account.simple().to_string();
        let after = open.everything().await;
        for row in &after {
            assert!(!row.contains("Zelda") && !row.contains("Z. Holder"), "{row}");
            let is_mark = row.starts_with("traveller: ") || row.starts_with("webhook_owner: ") || row.starts_with("call_quota: ");
            let lower = row.to_lowercase();
            assert!(is_mark || !(lower.contains(&account) || lower.contains(&hex)), "{row}");
        }
        assert_eq!(bens(&after), bens(&before), "another user's data stays");
        assert_eq!((bookings(&open.ben).await, open.seats_as_ben(SMALL).await), (3, 11));
        // Each has paid for one seat, and the other user's second hold is still held.
        assert_eq!(open.seats_as_ben(TRIP).await, 337);

        // The payment that was not decided is given back.
        open.advance_ben(SignedDuration::from_secs(6)).await;
        open.do_due_work().await;
        let payments = open.rows("payment").await;
        assert_eq!(payments.iter().filter(|row| row.contains("refunded")).count(), 1, "{payments:?}");
        assert!(open.everything().await.iter().all(|row| !row.contains("Z. Holder")));

        // Only events of the other user are sent.
        let running = tokio::spawn(open.train.clone().run(std::future::pending()));
        receiver.wait_for("Bertha", 5).await;
        hold(&open.ben, TRIP, "later", "Bertha").await;
        receiver.wait_for("Bertha", 6).await;
        assert_eq!(receiver.count("Zelda"), 0);
        running.abort();
    }

    async fn token_of_a_removed_user_creates_no_rows(open: Open) {
        let made = open.ada.hold(TRIP).await;
        // Cached as valid for some seconds.
        open.ada.get("/bookings").send().await.has_status(200);
        open.remove("ada").await.unwrap();
        let before = open.everything().await;
        let hook = json!({"url": "https://app.example.com/hooks"});
        let calls = [
            open.ada.post("/bookings").header("idempotency-key", "a").json(&booking(TRIP)),
            open.ada.post(&payment(&made)).header("idempotency-key", "b").json(&card(GOOD)),
            open.ada.post("/webhooks").json(&hook),
        ];
        for call in calls {
            let detail = call.send().await.is_problem(403, "forbidden");
            assert_eq!(detail, "The user of this access token was removed.");
        }
        let counted = |rows: Vec<String>| -> Vec<String> {
            rows.into_iter().filter(|row| !row.starts_with("call_quota: ")).collect()
        };
        assert_eq!(counted(open.everything().await), counted(before));
        assert!(matches!(open.remove("ada").await, Err(identity::ChangeError::Unknown)));
    }

    async fn concurrent_removal_and_bookings_leave_no_rows(open: Open) {
        let body = {
            let mut body = booking(TRIP);
            body["passenger_name"] = json!("Zelda");
            body
        };
        let booking_away = futures_util::future::join_all((0..12).map(|_| open.ada.book(&body)));
        let (answers, removed) = tokio::join!(booking_away, open.remove("ada"));
        removed.unwrap();
        assert!(answers.iter().all(|answer| [201, 401, 403].contains(&answer.status)));
        let left = open.everything().await;
        assert!(left.iter().all(|row| !row.contains("Zelda")), "{left:?}");
        assert_eq!(open.seats_as_ben(TRIP).await, 340);
    }

    async fn migration_adds_the_owner_to_events_answers_and_payments(store: Store) {
        let mut older: Vec<Migrations> = MIGRATIONS.to_vec();
        for part in &mut older {
            *part = match part.component() {
                "train" => part.up_to(2),
                "webhooks" => part.up_to(3),
                _ => *part,
            };
        }
        let db = store.open("train", &older);
        let now = "2026-05-13T10:00:00Z".parse::<jiff::Timestamp>().unwrap();
        let (trip, first, second) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        let write = move |tx: &mut db::WriteTx<'_>| {
            tx.execute(
                "INSERT INTO trip_seats (trip_id, origin, destination, date, taken) VALUES ($1, $1, $1, $2, 2)",
                &[trip.into(), jiff::civil::date(2026, 5, 20).into()],
            )?;
            for (id, owner) in [(first, "first owner"), (second, "second owner")] {
                tx.execute(
                    "INSERT INTO booking (id, owner, trip_id, passenger_name, has_bicycle, has_dog, status, expires_at)
                     VALUES ($1, $2, $3, 'Zelda', FALSE, FALSE, 'held', $4)",
                    &[id.into(), owner.into(), trip.into(), now.into()],
                )?;
                tx.execute(
                    "INSERT INTO webhook_event (id, kind, payload, created_at) VALUES ($1, 'newBooking', '{}', $2)",
                    &[id.into(), now.into()],
                )?;
                tx.execute(
                    "INSERT INTO payment (id, booking_id, amount, currency, source, status, failed_at)
                     VALUES ($1, $1, $2, 'eur', $3, 'failed', $4)",
                    &[id.into(), rust_decimal::Decimal::ONE.into(), db::Value::json("{}"), now.into()],
                )?;
                let answer = json!({"done": {"id": id}}).to_string();
                tx.execute(
                    "INSERT INTO idempotency (hash, fingerprint, answer, expires_at) VALUES ($1, $1, $2, $3)",
                    &[id.as_bytes().as_slice().into(), db::Value::json(answer), now.into()],
                )?;
            }
            Ok::<_, db::Error>(())
        };
        db.write(write).await.unwrap();
        drop(db);
        let open = Open::on(store, Setup::default()).await;
        for table in ["webhook_event", "idempotency", "payment"] {
            let rows = open.rows(table).await;
            for owner in ["first owner", "second owner"] {
                assert_eq!(rows.iter().filter(|row| row.contains(owner)).count(), 1, "{rows:?}");
            }
        }
    }
}
