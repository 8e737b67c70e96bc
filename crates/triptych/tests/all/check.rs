//! `triptych check`.

use db::WriteTx;
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
        let booking = train.get("/openapi.json").send().await.json()["paths"]["/bookings"]["post"]["requestBody"]["content"]
            ["application/json"]["example"].clone();
        train.post("/bookings").header("authorization", &token).json(&booking).send().await.has_status(201);

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
        change("train", train::MIGRATIONS, "UPDATE booking SET status = 'confirmed'").await;
        let museum = workspace.store.open("museum", museum::MIGRATIONS);
        let admit = |tx: &mut WriteTx<'_>| {
            let (id, now) = (Uuid::from_u128(1), jiff::Timestamp::UNIX_EPOCH);
            let sql = "INSERT INTO admission (ticket_id, id, admitted_at) VALUES ($1, $1, $2)";
            tx.execute(sql, &[id.into(), now.into()]).map(drop)
        };
        museum.write(admit).await.unwrap();

        let (printed, said) = failed_with_output(&workspace.command(&["check"]).output().unwrap());
        let total = 9 + of_files;
        assert_eq!(said, format!("triptych: 4 of {total} checks failed: restore a backup, or report this as a bug"));
        let faults: Vec<_> = lines(&printed).into_iter().filter(|(_, result, _)| result != "ok").collect();
        let fault = |service: &str, sentence: &str| (service.into(), "violations: 1".into(), sentence.into());
        assert_eq!(faults, [
            fault("petstore", "The inventory counts the pets of each status."),
            fault("train", "The taken seats of each trip are its held and confirmed bookings."),
            fault("train", "Each confirmed booking is paid for, and no other booking is."),
            fault("museum", "Each admission is of a ticket that was sold."),
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
