//! `triptych check`.

use std::{process::Stdio, sync::mpsc};

use db::{Db, Limits, WriteTx};
use serde_json::{Value, json};
use testkit::{Client, Engine};
use uuid::Uuid;

use crate::common::{Workspace, failed_with_output, output_of};

/// The service, the result and the sentence of each line.
fn lines(printed: &str) -> Vec<(String, String, String)> {
    let columns = printed.lines().map(|line| line.split("  ").filter(|part| !part.is_empty()));
    columns
        .map(|mut line| std::array::from_fn(|_| line.next().unwrap_or_default().trim().to_owned()).into())
        .collect()
}

testkit::on_both_engines! {
    async fn data_of_a_running_server_is_in_order_until_it_is_damaged(workspace: Workspace) {
        let program = workspace.serve();
        let train = Client::new(program.address("train"));
        let token = workspace.train_token();
        let example = train.get("/openapi.json").send().await.json()["paths"]["/bookings"]["post"]["requestBody"]["content"]
            ["application/json"]["example"].clone();
        let booking = train.post("/bookings").header("authorization", &token).json(&example).send().await;
        let id = booking.has_status(201).json()["id"].as_str().unwrap().to_owned();
        let payment = train.post(&format!("/bookings/{id}/payment")).header("authorization", &token);
        let card = json!({"object": "card", "name": "A. Lovelace", "number": "4242424242424242", "cvc": "123",
            "exp_month": 12, "exp_year": 2099, "address_country": "gb"});
        payment.json(&json!({"source": card})).send().await.has_status(200);

        let found = lines(&output_of(&mut workspace.command(&["check"])));
        let of_files = if workspace.store.engine() == Engine::Sqlite { 3 } else { 0 };
        assert_eq!(found.len(), 9 + of_files);
        assert!(found.iter().all(|(_, result, _)| result == "ok"), "{found:?}");

        let change = async |service: &'static str, migrations, sql: &'static str| {
            let db = workspace.store.open(service, migrations);
            db.write(move |tx: &mut WriteTx<'_>| tx.execute(sql, &[]).map(drop)).await.unwrap();
        };
        let sold = "UPDATE pet_count SET pets = pets + 1 WHERE status = 'sold' AND shard = 0";
        change("petstore", petstore::MIGRATIONS, sold).await;
        change("train", train::MIGRATIONS, "UPDATE trip_seats SET taken = taken + 1").await;
        change("train", train::MIGRATIONS, "UPDATE payment SET status = 'refunded'").await;
        change("train", train::MIGRATIONS, "INSERT INTO webhook_owner (owner, subscriptions) VALUES ('x', 1)").await;
        let museum = workspace.store.open("museum", museum::MIGRATIONS);
        let rename = "UPDATE special_event_date SET name = 'Another' WHERE date = (SELECT max(date) FROM special_event_date)";
        change("museum", museum::MIGRATIONS, rename).await;
        let petstore = workspace.store.open("petstore", petstore::MIGRATIONS);
        let cut = |tx: &mut WriteTx<'_>| {
            let sql = "INSERT INTO pet_image (id, pet_id, media_type, size) VALUES ($1, 1, 'image/png', 1)";
            tx.execute(sql, &[Uuid::from_u128(1).into()]).map(drop)
        };
        petstore.write(cut).await.unwrap();
        let admit = |tx: &mut WriteTx<'_>| {
            let (id, now) = (Uuid::from_u128(1), jiff::Timestamp::UNIX_EPOCH);
            let sql = "INSERT INTO admission (ticket_id, id, admitted_at) VALUES ($1, $1, $2)";
            tx.execute(sql, &[id.into(), now.into()]).map(drop)
        };
        museum.write(admit).await.unwrap();

        let (printed, said) = failed_with_output(&workspace.command(&["check"]).output().unwrap());
        let total = 9 + of_files;
        assert_eq!(said, format!("triptych: 8 of {total} checks failed: restore a backup, or report this as a bug"));
        let faults: Vec<_> = lines(&printed).into_iter().filter(|(_, result, _)| result != "ok").collect();
        let fault = |service: &str, sentence: &str| (service.into(), "violations: 1".into(), sentence.into());
        // All but the one that a reference between tables ensures as well: each delivery in the outbox has its event.
        assert_eq!(faults, [
            fault("petstore", "The inventory counts the pets of each status."),
            fault("petstore", "The parts of each image have its size."),
            fault("train", "The taken seats of each trip are its held and confirmed bookings."),
            fault("train", "Each confirmed booking is paid for, and no other booking is."),
            fault("train", "No payment that failed or was refunded is charged."),
            fault("train", "The subscriptions of each owner are counted."),
            fault("museum", "Each admission is of a ticket that was sold."),
            fault("museum", "The calendar has the names of its events."),
        ]);
        let json = failed_with_output(&workspace.command(&["check", "museum", "--json"]).output().unwrap()).0;
        let json: Value = serde_json::from_str(&json).unwrap();
        let first = &json["checks"][of_files / 3];
        assert_eq!(first, &json!({
            "service": "museum", "check": "Each admission is of a ticket that was sold.", "ok": false,
            "fault": "violations: 1",
        }));
    }
}

#[test]
fn check_may_take_longer_than_a_request() {
    testkit::run(Engine::Postgres, async |workspace: Workspace| {
        assert!(workspace.serve().terminate().success());
        let train = workspace.store.open("train", train::MIGRATIONS);
        let (enter, entered) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let locked = tokio::spawn(async move {
            let lock = move |tx: &mut WriteTx<'_>| {
                tx.execute("LOCK TABLE train.booking IN ACCESS EXCLUSIVE MODE", &[])?;
                let _ = enter.send(());
                let _ = released.recv();
                Ok::<_, db::Error>(())
            };
            train.write(lock).await
        });
        entered.recv().unwrap();
        let mut check = workspace.command(&["check", "train"]);
        let check =
            check.env("TRIPTYCH_LIMITS_DATABASE_SECONDS", "1").stdout(Stdio::piped()).spawn().unwrap();
        let looker = Db::open(workspace.store.location(), "looker", &[], Limits::default()).unwrap();
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
            AND wait_event_type = 'Lock' AND query_start < clock_timestamp() - INTERVAL '2 seconds'";
        testkit::until(async || {
            looker
                .read(|tx| tx.row(waits, &[], |row| row.get::<i64>(0)))
                .await
                .unwrap_or_else(|error: db::Error| panic!("{error}"))
                == Some(1)
        })
        .await;
        drop(release);
        locked.await.unwrap().unwrap();
        assert!(check.wait_with_output().unwrap().status.success());
    });
}
