//! Named copies of tables: saved and restored as a whole.

use db::{Db, Error, Migrations};
use testkit::Store;

/// Rooms with their guests, who belong to an account, and how many guests each room has, which triggers count.
pub(crate) const SCHEMA: &[Migrations] = &[Migrations::new(
    "hotel",
    &[(
        "0001_hotel",
        "CREATE TABLE account (id INTEGER NOT NULL PRIMARY KEY) STRICT;
         CREATE TABLE room (id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, picture BLOB) STRICT;
         CREATE TABLE guest (
             id INTEGER NOT NULL PRIMARY KEY,
             room_id INTEGER NOT NULL REFERENCES room (id) ON DELETE CASCADE,
             account_id INTEGER REFERENCES account (id) ON DELETE CASCADE
         ) STRICT;
         CREATE TABLE guests (id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL) STRICT;
         INSERT INTO guests (id, number) VALUES (1, 0);
         CREATE TRIGGER guest_in AFTER INSERT ON guest BEGIN UPDATE guests SET number = number + 1; END;
         CREATE TRIGGER guest_out AFTER DELETE ON guest BEGIN UPDATE guests SET number = number - 1; END;",
        "CREATE TABLE account (id BIGINT NOT NULL PRIMARY KEY);
         CREATE TABLE room (id BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, picture BYTEA);
         CREATE TABLE guest (
             id BIGINT NOT NULL PRIMARY KEY,
             room_id BIGINT NOT NULL REFERENCES room (id) ON DELETE CASCADE,
             account_id BIGINT REFERENCES account (id) ON DELETE CASCADE
         );
         CREATE TABLE guests (id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1), number BIGINT NOT NULL);
         INSERT INTO guests (id, number) VALUES (1, 0);
         CREATE FUNCTION count_guests() RETURNS TRIGGER LANGUAGE plpgsql AS $$
         BEGIN
             UPDATE guests SET number = number + CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE -1 END;
             RETURN NULL;
         END $$;
         ALTER FUNCTION count_guests() SET search_path FROM CURRENT;
         CREATE TRIGGER guest_counted AFTER INSERT OR DELETE ON guest FOR EACH ROW EXECUTE FUNCTION count_guests();",
    )],
)];

/// In an order that no foreign key allows.
pub(crate) const TABLES: &[&str] = &["guests", "guest", "room"];

pub(crate) async fn run(db: &Db, sql: &'static str) -> u64 {
    db.write(move |tx| tx.execute(sql, &[])).await.unwrap()
}

/// The hotel that is copied: a room with a picture, with two guests. One of them has an account.
pub(crate) async fn furnish(db: &Db) {
    run(db, "INSERT INTO account (id) VALUES (7)").await;
    db.write(|tx| {
        let insert = "INSERT INTO room (id, name, picture) VALUES (1, 'blue', $1)";
        tx.execute(insert, &[vec![0_u8, 255].into()])
    })
    .await
    .unwrap();
    run(db, "INSERT INTO guest (id, room_id, account_id) VALUES (1, 1, 7), (2, 1, NULL)").await;
}

/// The rooms, the guests with their rooms, and how many guests are counted.
type Hotel = (Vec<(i64, String)>, Vec<(i64, i64)>, i64);

pub(crate) async fn hotel(db: &Db) -> Hotel {
    db.snapshot(|tx| {
        let rooms =
            tx.rows("SELECT id, name FROM room ORDER BY id", &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let guests =
            tx.rows("SELECT id, room_id FROM guest ORDER BY id", &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let counted = tx.row("SELECT number FROM guests", &[], |row| row.get(0))?;
        Ok::<_, Error>((rooms, guests, counted.unwrap()))
    })
    .await
    .unwrap()
}

pub(crate) fn furnished() -> Hotel {
    (vec![(1, "blue".to_owned())], vec![(1, 1), (2, 1)], 2)
}

testkit::on_both_engines! {
    async fn restored_copy_has_the_rows_of_its_time(store: Store) {
        let db = store.open("hotel", SCHEMA);
        furnish(&db).await;
        db.save_copy("seed", TABLES).await.unwrap();
        // The names swap: each is unique, so rows cannot be replaced one by one.
        run(&db, "INSERT INTO room (id, name) VALUES (2, 'red')").await;
        run(&db, "UPDATE room SET name = 'green' WHERE id = 1").await;
        run(&db, "UPDATE room SET name = 'blue' WHERE id = 2").await;
        run(&db, "DELETE FROM guest WHERE id = 1").await;
        run(&db, "INSERT INTO guest (id, room_id) VALUES (3, 2), (4, 2)").await;
        assert_eq!(hotel(&db).await.2, 3);
        assert!(db.restore_copy("seed", TABLES).await.unwrap());
        assert_eq!(hotel(&db).await, furnished());
        let picture = db.read(|tx| tx.row("SELECT picture FROM room", &[], |row| row.get::<Vec<u8>>(0))).await;
        assert_eq!(picture.unwrap(), Some(vec![0, 255]));
    }

    async fn triggers_and_foreign_keys_hold_after_a_restore(store: Store) {
        let db = store.open("hotel", SCHEMA);
        furnish(&db).await;
        db.save_copy("seed", TABLES).await.unwrap();
        for _ in 0..2 {
            assert!(db.restore_copy("seed", TABLES).await.unwrap());
            run(&db, "INSERT INTO guest (id, room_id) VALUES (3, 1)").await;
            assert_eq!(hotel(&db).await.2, 3);
            let orphan = db.write(|tx| tx.execute("INSERT INTO guest (id, room_id) VALUES (4, 9)", &[])).await;
            assert!(matches!(orphan, Err(Error::Constraint(_))), "{orphan:?}");
            run(&db, "DELETE FROM room WHERE id = 1").await;
            assert_eq!(hotel(&db).await, (vec![], vec![], 0));
        }
    }

    async fn restored_row_whose_parent_outside_of_the_copy_is_deleted_is_left_out(store: Store) {
        let db = store.open("hotel", SCHEMA);
        furnish(&db).await;
        run(&db, "DELETE FROM guests").await;
        db.save_copy("seed", TABLES).await.unwrap();
        run(&db, "DELETE FROM account WHERE id = 7").await;
        assert!(db.restore_copy("seed", TABLES).await.unwrap());
        let guests = db.read(|tx| tx.rows("SELECT id FROM guest", &[], |row| row.get::<i64>(0))).await;
        assert_eq!(guests.unwrap(), [2]);
    }

    async fn changed_copy_has_the_change_and_the_tables_stay(store: Store) {
        let db = store.open("hotel", SCHEMA);
        furnish(&db).await;
        db.save_copy("seed", TABLES).await.unwrap();
        // As many copies as there can be.
        for number in 1..20 {
            db.save_copy(&format!("copy-{number}"), TABLES).await.unwrap();
        }
        run(&db, "UPDATE room SET name = 'green'").await;
        run(&db, "DELETE FROM guest WHERE id = 1").await;
        let present = hotel(&db).await;
        let change = |tx: &mut db::WriteTx<'_>| tx.execute("DELETE FROM guest WHERE id = 2", &[]).map(drop);
        assert!(db.change_copy("seed", TABLES, change).await.unwrap());
        assert!(!db.change_copy("unknown", TABLES, change).await.unwrap());
        let failed = db.change_copy("seed", TABLES, |tx| tx.execute("INSERT INTO room (id) VALUES (2)", &[]).map(drop)).await;
        assert!(matches!(failed, Err(Error::Constraint(_))), "{failed:?}");
        assert_eq!(hotel(&db).await, present);
        assert_eq!(db.copies().await.unwrap().len(), 20);
        assert!(db.restore_copy("seed", TABLES).await.unwrap());
        assert_eq!(hotel(&db).await, (vec![(1, "blue".to_owned())], vec![(1, 1)], 1));
        assert!(db.restore_copy("copy-1", TABLES).await.unwrap());
        assert_eq!(hotel(&db).await, furnished());
    }

    async fn copy_is_replaced_and_deleted_under_its_name(store: Store) {
        let db = store.open("hotel", SCHEMA);
        assert_eq!(db.copies().await.unwrap(), [""; 0]);
        assert!(!db.restore_copy("seed", TABLES).await.unwrap());
        db.save_copy("seed", TABLES).await.unwrap();
        furnish(&db).await;
        db.save_copy("furnished", TABLES).await.unwrap();
        assert_eq!(db.copies().await.unwrap(), ["furnished", "seed"]);
        assert!(db.restore_copy("seed", TABLES).await.unwrap());
        assert_eq!(hotel(&db).await, (vec![], vec![], 0));
        assert!(db.restore_copy("furnished", TABLES).await.unwrap());
        assert_eq!(hotel(&db).await, furnished());
        db.save_copy("seed", TABLES).await.unwrap();
        run(&db, "DELETE FROM room").await;
        assert!(db.restore_copy("seed", TABLES).await.unwrap());
        assert_eq!(hotel(&db).await, furnished());
        assert!(db.delete_copy("seed").await.unwrap());
        assert!(!db.delete_copy("seed").await.unwrap());
        assert!(!db.restore_copy("seed", TABLES).await.unwrap());
        assert_eq!(db.copies().await.unwrap(), ["furnished"]);
        assert_eq!(hotel(&db).await, furnished());
    }

    async fn copy_survives_closing_and_is_no_table_of_the_database(store: Store) {
        let db = store.open("hotel", SCHEMA);
        furnish(&db).await;
        let tables = db.tables().to_vec();
        db.save_copy("seed", TABLES).await.unwrap();
        drop(db);
        let db = store.open("hotel", SCHEMA);
        assert_eq!(db.tables(), tables);
        db.ping().await.unwrap();
        run(&db, "DELETE FROM room").await;
        assert!(db.restore_copy("seed", TABLES).await.unwrap());
        assert_eq!(hotel(&db).await, furnished());
    }

    async fn twenty_first_copy_is_rejected(store: Store) {
        let db = store.open("hotel", SCHEMA);
        furnish(&db).await;
        for number in 1..=20 {
            db.save_copy(&format!("copy-{number}"), TABLES).await.unwrap();
        }
        let past = db.save_copy("copy-21", TABLES).await;
        assert!(matches!(&past, Err(Error::Constraint(why)) if why == "a database has at most 20 copies"), "{past:?}");
        db.save_copy("copy-7", TABLES).await.unwrap();
        assert!(db.delete_copy("copy-7").await.unwrap());
        db.save_copy("copy-21", TABLES).await.unwrap();
        assert_eq!(db.copies().await.unwrap().len(), 20);
    }

    async fn invalid_copies_are_rejected(store: Store) {
        let db = store.open("hotel", SCHEMA);
        for name in ["", "A", "a_b", "a'b", "-a", "a/b"] {
            let why = format!(
                "the name of a copy, {name:?}, is not 1 to 32 lower-case letters, digits and dashes, with no dash at \
                 either end"
            );
            let results = [
                db.save_copy(name, TABLES).await.err(),
                db.restore_copy(name, TABLES).await.err(),
                db.delete_copy(name).await.err(),
            ];
            for result in results {
                assert!(matches!(&result, Some(Error::Constraint(text)) if *text == why), "{result:?}");
            }
        }
        for (tables, why) in [
            (&["room", "nothing"][..], "there is no table \"nothing\""),
            (&["room"][..], "the table guest refers to room, so a copy has both or none"),
        ] {
            let refused = db.save_copy("seed", tables).await;
            assert!(matches!(&refused, Err(Error::Fault(text)) if text == why), "{refused:?}");
        }
        assert_eq!(db.copies().await.unwrap(), [""; 0]);
    }

    async fn no_reader_sees_half_of_a_restore(store: Store) {
        let db = store.open("hotel", SCHEMA);
        furnish(&db).await;
        db.save_copy("two", TABLES).await.unwrap();
        run(&db, "INSERT INTO room (id, name) VALUES (2, 'red')").await;
        run(&db, "INSERT INTO guest (id, room_id) VALUES (3, 2)").await;
        db.save_copy("three", TABLES).await.unwrap();
        let three = hotel(&db).await;
        let restores = tokio::spawn({
            let db = db.clone();
            async move {
                for _ in 0..20 {
                    assert!(db.restore_copy("two", TABLES).await.unwrap());
                    assert!(db.restore_copy("three", TABLES).await.unwrap());
                }
            }
        });
        while !restores.is_finished() {
            let found = hotel(&db).await;
            assert!(found == furnished() || found == three, "{found:?}");
            tokio::task::yield_now().await;
        }
        restores.await.unwrap();
    }

    async fn concurrent_writes_and_restores_keep_the_count_right(store: Store) {
        let db = store.open("hotel", SCHEMA);
        furnish(&db).await;
        db.save_copy("seed", TABLES).await.unwrap();
        let writes = tokio::spawn({
            let db = db.clone();
            async move {
                for id in 10..60_i64 {
                    let insert = "INSERT INTO guest (id, room_id) VALUES ($1, 1)";
                    db.write(move |tx| tx.execute(insert, &[id.into()])).await.unwrap();
                }
            }
        });
        for _ in 0..10 {
            assert!(db.restore_copy("seed", TABLES).await.unwrap());
            db.save_copy("other", TABLES).await.unwrap();
        }
        writes.await.unwrap();
        let (_, guests, counted) = hotel(&db).await;
        assert_eq!(guests.len(), usize::try_from(counted).unwrap());
        assert!(db.restore_copy("other", TABLES).await.unwrap());
        let (_, guests, counted) = hotel(&db).await;
        assert_eq!(guests.len(), usize::try_from(counted).unwrap());
    }
}
