//! All rows of a database, moved to either engine.

use db::{
    Databases, Db, Error, Json, Migrations, Value,
    transfer::{Cell, Digests, Part, TransferError},
};
use jiff::{Timestamp, civil::date};
use rust_decimal::Decimal;
use testkit::{Engine, Store};
use uuid::Uuid;

use crate::snapshots::{SCHEMA as HOTEL, TABLES, furnish, furnished, hotel, run};

const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

/// All parts of a database.
fn exported(from: &Databases, name: &str) -> (Vec<Part>, Digests) {
    let mut parts = Vec::new();
    let digests = from.export(name, &mut |part| {
        parts.push(part);
        Ok(())
    });
    (parts, digests.unwrap())
}

fn imported(
    to: &Databases,
    name: &str,
    migrations: &[Migrations],
    parts: Vec<Part>,
) -> Result<Digests, TransferError> {
    to.import(name, migrations, &mut parts.into_iter().map(Ok))
}

testkit::on_both_engines! {
    async fn database_is_the_same_on_either_engine(store: Store) {
        let db = store.open("hotel", HOTEL);
        furnish(&db).await;
        db.save_copy("seed", TABLES).await.unwrap();
        run(&db, "DELETE FROM guest WHERE id = 2").await;
        let (parts, digests) = exported(&store.connect(), "hotel");
        assert_eq!(digests["guest"].rows, 1);
        assert_eq!(digests["triptych_copy_1_guest"].rows, 2);
        for engine in ENGINES {
            let target = Store::new(engine);
            let to = target.connect();
            assert!(!to.has("hotel").unwrap());
            assert_eq!(imported(&to, "hotel", HOTEL, parts.clone()).unwrap(), digests);
            assert!(to.has("hotel").unwrap());
            let moved = target.open("hotel", HOTEL);
            assert_eq!(hotel(&moved).await, (vec![(1, "blue".to_owned())], vec![(1, 1)], 1));
            // Copies, triggers and foreign keys work there.
            run(&moved, "INSERT INTO guest (id, room_id) VALUES (3, 1)").await;
            assert_eq!(hotel(&moved).await.2, 2);
            let orphan = moved.write(|tx| tx.execute("INSERT INTO guest (id, room_id) VALUES (4, 9)", &[])).await;
            assert!(matches!(orphan, Err(Error::Constraint(_))), "{orphan:?}");
            assert!(moved.restore_copy("seed", TABLES).await.unwrap());
            assert_eq!(hotel(&moved).await, furnished());
            let again = imported(&to, "hotel", HOTEL, parts.clone()).unwrap_err().to_string();
            assert_eq!(again, "it exists already");
        }
    }

    async fn values_of_each_type_are_the_same_on_either_engine(store: Store) {
        let db = store.open("sample", SAMPLE);
        write_samples(&db).await;
        let (parts, digests) = exported(&store.connect(), "sample");
        for engine in ENGINES {
            let target = Store::new(engine);
            assert_eq!(imported(&target.connect(), "sample", SAMPLE, parts.clone()).unwrap(), digests);
            let moved = target.open("sample", SAMPLE);
            assert_eq!(samples(&moved).await, samples(&db).await);
        }
    }

    async fn failed_import_leaves_no_database(store: Store) {
        let source = Store::new(Engine::Sqlite);
        let db = source.open("hotel", HOTEL);
        furnish(&db).await;
        let (parts, digests) = exported(&source.connect(), "hotel");
        let to = store.connect();
        let fails = |parts: Vec<Part>| imported(&to, "hotel", HOTEL, parts).unwrap_err().to_string();

        let interrupted = parts.iter().take(parts.len() - 2).cloned().map(Ok);
        let interrupted = interrupted.chain([Err(TransferError::new("the reader has failed"))]);
        let error = to.import("hotel", HOTEL, &mut interrupted.collect::<Vec<_>>().into_iter());
        assert_eq!(error.unwrap_err().to_string(), "the reader has failed");
        assert!(!to.has("hotel").unwrap());

        let mut orphaned = parts.clone();
        let room = orphaned.iter().position(|part| matches!(part, Part::Row(row) if row.len() == 3 && row[1] == text("blue")));
        orphaned.remove(room.unwrap());
        let error = fails(orphaned);
        assert!(error.contains("guest"), "{error}");

        let mut wrong = parts.clone();
        wrong.push(Part::Row(vec![Cell::Bytes(vec![1]); 3]));
        fails(wrong);

        let mut newer = parts.clone();
        newer[0] = Part::Versions(vec![("hotel".into(), 2)]);
        let error = fails(newer);
        assert!(error.starts_with("its schema is newer than this program"), "{error}");

        assert!(fails(parts[1..].to_vec()).contains("the versions of the tables are missing"));
        assert!(!to.has("hotel").unwrap());
        assert_eq!(imported(&to, "hotel", HOTEL, parts).unwrap(), digests);
    }

    async fn older_database_is_upgraded_when_it_is_opened(store: Store) {
        let older = Store::new(Engine::Sqlite);
        let db = older.open("growth", &[GROWTH.up_to(1)]);
        run(&db, "INSERT INTO item (id) VALUES (1)").await;
        let (parts, digests) = exported(&older.connect(), "growth");
        assert_eq!(imported(&store.connect(), "growth", &[GROWTH], parts).unwrap(), digests);
        let db = store.open("growth", &[GROWTH]);
        let note = db.read(|tx| tx.row("SELECT note FROM item", &[], |row| row.get::<String>(0))).await.unwrap();
        assert_eq!(note.as_deref(), Some("none"));
    }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.into())
}

const GROWTH: Migrations = Migrations::new(
    "growth",
    &[
        (
            "0001_item",
            "CREATE TABLE item (id INTEGER NOT NULL PRIMARY KEY) STRICT",
            "CREATE TABLE item (id BIGINT NOT NULL PRIMARY KEY)",
        ),
        (
            "0002_note",
            "ALTER TABLE item ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",
            "ALTER TABLE item ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",
        ),
    ],
);

const SAMPLE: &[Migrations] = &[Migrations::new(
    "sample",
    &[(
        "0001_sample",
        "CREATE TABLE sample (id INTEGER NOT NULL PRIMARY KEY, small INTEGER, words TEXT, yes INTEGER, amount TEXT, code BLOB,
         moment INTEGER, day TEXT, tree TEXT, content BLOB) STRICT",
        "CREATE TABLE sample (id BIGINT NOT NULL PRIMARY KEY, small SMALLINT, words TEXT, yes BOOLEAN, amount NUMERIC, code UUID,
         moment TIMESTAMPTZ, day DATE, tree JSONB, content BYTEA)",
    )],
)];

async fn write_samples(db: &Db) {
    db.write(|tx| {
        let insert = "INSERT INTO sample (id, small, words, yes, amount, code, moment, day, tree, content)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let moment = Timestamp::new(-1, -999_999_000).unwrap();
        let row: [Value<'_>; 10] = [
            i64::MAX.into(),
            (-7).into(),
            "Zoë \\ \"x\"\t\n{".into(),
            true.into(),
            Decimal::new(-1230, 2).into(),
            Uuid::from_u128(u128::MAX - 1).into(),
            moment.into(),
            date(2024, 2, 29).into(),
            Value::json(r#"{"b": [1, 2.50, 1e-7, null, true], "a": "ä"}"#),
            vec![0_u8, 255].into(),
        ];
        tx.execute(insert, &row)?;
        let none: [Value<'_>; 10] = std::array::from_fn(|at| if at == 0 { 1.into() } else { Value::Null });
        tx.execute(insert, &none)
    })
    .await
    .unwrap();
    // More than are fetched at once.
    db.write(|tx| {
        (2..10_000).try_for_each(|id: i64| {
            tx.execute("INSERT INTO sample (id, yes) VALUES ($1, $2)", &[id.into(), false.into()]).map(drop)
        })
    })
    .await
    .unwrap();
}

type Sample = (Option<i64>, Option<String>, Option<bool>, Option<Decimal>, Option<Uuid>, Option<Timestamp>);

async fn samples(db: &Db) -> (i64, Vec<Sample>, Vec<String>) {
    db.snapshot(|tx| {
        let count = tx.row("SELECT count(*) FROM sample", &[], |row| row.get(0))?.unwrap_or_default();
        let chosen = "SELECT small, words, yes, amount, code, moment FROM sample
            WHERE id IN (1, 2, 9223372036854775807) ORDER BY id";
        let rows = tx.rows(chosen, &[], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
        })?;
        let rest = "SELECT day, tree, content FROM sample WHERE id = 9223372036854775807";
        let rest = tx.rows(rest, &[], |row| {
            let (day, Json(tree), content) =
                (row.get::<jiff::civil::Date>(0)?, row.get(1)?, row.get::<Vec<u8>>(2)?);
            let tree: serde_json::Value = serde_json::from_str(&tree).unwrap();
            let number = tree["b"][2].as_f64();
            Ok(format!("{day} {} {} {number:?} {content:?}", tree["a"], tree["b"][1]))
        })?;
        Ok::<_, Error>((count, rows, rest))
    })
    .await
    .unwrap()
}
