//! Each type of value is read as it was written, on both engines.

use std::fmt::Debug;

use db::{Column, Db, Error, Json, Migrations, Value};
use jiff::{Timestamp, civil::Date};
use rust_decimal::Decimal;
use testkit::Store;
use uuid::Uuid;

const SCHEMA: &[Migrations] = &[Migrations::new(
    "values",
    &[(
        "0001_sample",
        "CREATE TABLE sample (
            id INTEGER PRIMARY KEY, number INTEGER, small INTEGER, words TEXT, yes INTEGER, amount TEXT,
            code BLOB, moment INTEGER, day TEXT, document TEXT, tree TEXT, content BLOB
        ) STRICT",
        "CREATE TABLE sample (
            id BIGINT PRIMARY KEY, number BIGINT, small SMALLINT, words TEXT, yes BOOLEAN, amount NUMERIC,
            code UUID, moment TIMESTAMPTZ, day DATE, document JSON, tree JSONB, content BYTEA
        )",
    )],
)];

/// How one column is written and read.
#[derive(Clone, Copy)]
struct Slot {
    write: &'static str,
    read: &'static str,
}

macro_rules! slot {
    ($column:literal) => {
        Slot {
            write: concat!(
                "INSERT INTO sample (id, ",
                $column,
                ") VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET ",
                $column,
                " = excluded.",
                $column
            ),
            read: concat!("SELECT ", $column, " FROM sample WHERE id = 1"),
        }
    };
}

const NUMBER: Slot = slot!("number");
const SMALL: Slot = slot!("small");
const WORDS: Slot = slot!("words");
const YES: Slot = slot!("yes");
const AMOUNT: Slot = slot!("amount");
const CODE: Slot = slot!("code");
const MOMENT: Slot = slot!("moment");
const DAY: Slot = slot!("day");
const DOCUMENT: Slot = slot!("document");
const TREE: Slot = slot!("tree");
const CONTENT: Slot = slot!("content");

async fn put(db: &Db, slot: Slot, value: impl Into<Value<'static>>) {
    let value = value.into();
    let changed = db.write(move |tx| tx.execute(slot.write, std::slice::from_ref(&value))).await;
    assert_eq!(changed.unwrap(), 1);
}

async fn get<T: Column + Send + 'static>(db: &Db, slot: Slot) -> Result<T, Error> {
    db.read(move |tx| tx.row(slot.read, &[], |row| row.get(0))).await.map(|row| row.expect("the sample row"))
}

async fn round_trips<T>(db: &Db, slot: Slot, value: T)
where
    T: Column + Into<Value<'static>> + Clone + PartialEq + Debug + Send + 'static,
{
    put(db, slot, value.clone()).await;
    let found: T = get(db, slot).await.unwrap();
    // Not assert_eq!, which would print two megabytes of text.
    assert!(found == value, "{}: {:.200?} is not {value:.200?}", slot.read, found);
}

/// NULL is nothing to an `Option`, and an error to everything else.
async fn null_is_an_error<T: Column + PartialEq + Debug + Send + 'static>(db: &Db, slot: Slot) {
    put(db, slot, Value::Null).await;
    assert_eq!(get::<Option<T>>(db, slot).await.unwrap(), None);
    rejects::<T>(db, slot).await;
}

async fn rejects<T: Column + Debug + Send + 'static>(db: &Db, slot: Slot) {
    let answer = get::<T>(db, slot).await;
    assert!(matches!(&answer, Err(Error::Column { index: 0, .. })), "{}: {answer:?}", slot.read);
}

testkit::on_both_engines! {
    async fn numbers_round_trip(store: Store) {
        let db = store.open("values", SCHEMA);
        for number in [i64::MIN, -1, 0, 1, i64::MAX] {
            round_trips(&db, NUMBER, number).await;
        }
        put(&db, NUMBER, i32::MIN).await;
        assert_eq!(get::<i64>(&db, NUMBER).await.unwrap(), i64::from(i32::MIN));
        put(&db, NUMBER, u32::MAX).await;
        assert_eq!(get::<i64>(&db, NUMBER).await.unwrap(), i64::from(u32::MAX));
        round_trips(&db, SMALL, i64::from(i16::MIN)).await;
        for yes in [true, false] {
            round_trips(&db, YES, yes).await;
        }
    }

    async fn text(store: Store) {
        let db = store.open("values", SCHEMA);
        for words in ["", " ", "plain", "it's $1 \"quoted\" -- ?1", "🦀 ünïcödé 👩‍🚀", "tab\tline\r\n"] {
            round_trips(&db, WORDS, words.to_owned()).await;
        }
        round_trips(&db, WORDS, "0123456789abcdeé".repeat(64 * 1024)).await;
        put(&db, WORDS, "borrowed").await;
        assert_eq!(get::<String>(&db, WORDS).await.unwrap(), "borrowed");
    }

    async fn decimals_keep_their_scale(store: Store) {
        let db = store.open("values", SCHEMA);
        let cases = [
            "0", "0.00", "1", "25.50", "25.5", "-25.50", "-0.001", "100", "10000", "10000.0001",
            "0.0000000000000000000000000001", "1234567890123456789012345678",
            "-123456789012345678.0123456789",
            "79228162514264337593543950335",
        ];
        for digits in cases {
            put(&db, AMOUNT, digits.parse::<Decimal>().unwrap()).await;
            assert_eq!(get::<Decimal>(&db, AMOUNT).await.unwrap().to_string(), digits);
        }
        put(&db, AMOUNT, "-0.00".parse::<Decimal>().unwrap()).await;
        assert_eq!(get::<Decimal>(&db, AMOUNT).await.unwrap().to_string(), "0.00");
    }

    async fn identifiers_and_bytes_round_trip(store: Store) {
        let db = store.open("values", SCHEMA);
        for id in [Uuid::nil(), Uuid::max(), Uuid::from_u128(0x0192_3456_789a_7bcd_8ef0_1234_5678_9abc)] {
            round_trips(&db, CODE, id).await;
        }
        for bytes in [vec![], vec![0], (0..=255).collect(), vec![0xff; 1 << 20]] {
            round_trips::<Vec<u8>>(&db, CONTENT, bytes).await;
        }
    }

    async fn times_are_truncated_to_microseconds(store: Store) {
        let db = store.open("values", SCHEMA);
        for time in ["1970-01-01T00:00:00Z", "2026-02-03T04:05:06.123456Z", "0001-01-01T00:00:00Z",
                     "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:58.000001Z",
                     "9999-12-30T22:00:00.999999Z"] {
            round_trips(&db, MOMENT, time.parse::<Timestamp>().unwrap()).await;
        }
        let cut = [("2026-02-03T04:05:06.123456999Z", "2026-02-03T04:05:06.123456Z"),
                   ("2026-02-03T04:05:06.000000500Z", "2026-02-03T04:05:06Z"),
                   ("1999-12-31T23:59:59.123456700Z", "1999-12-31T23:59:59.123456Z"),
                   ("1969-12-31T23:59:59.999999500Z", "1970-01-01T00:00:00Z"),
                   ("2026-02-03T04:05:06.999999999Z", "2026-02-03T04:05:06.999999Z")];
        for (given, kept) in cut {
            put(&db, MOMENT, given.parse::<Timestamp>().unwrap()).await;
            assert_eq!(get::<Timestamp>(&db, MOMENT).await.unwrap().to_string(), kept);
        }
        for day in ["2026-02-03", "2024-02-29", "0001-01-01", "9999-12-31"] {
            round_trips(&db, DAY, day.parse::<Date>().unwrap()).await;
        }
    }

    async fn json_is_stored_as_text(store: Store) {
        let db = store.open("values", SCHEMA);
        let text = r#"{ "b": 1.50,  "a": [null, "é\n🦀"], "b": 2 }"#;
        put(&db, DOCUMENT, Value::json(text)).await;
        assert_eq!(get::<Json>(&db, DOCUMENT).await.unwrap(), Json(text.to_owned()));
        // PostgreSQL formats JSONB in this way.
        let text = r#"{"a": [null, 1.50, "é🦀"], "b": {}}"#;
        put(&db, TREE, Value::json(text)).await;
        assert_eq!(get::<Json>(&db, TREE).await.unwrap(), Json(text.to_owned()));
    }

    async fn null_is_an_option(store: Store) {
        let db = store.open("values", SCHEMA);
        null_is_an_error::<i64>(&db, NUMBER).await;
        null_is_an_error::<i64>(&db, SMALL).await;
        null_is_an_error::<String>(&db, WORDS).await;
        null_is_an_error::<bool>(&db, YES).await;
        null_is_an_error::<Decimal>(&db, AMOUNT).await;
        null_is_an_error::<Uuid>(&db, CODE).await;
        null_is_an_error::<Timestamp>(&db, MOMENT).await;
        null_is_an_error::<Date>(&db, DAY).await;
        null_is_an_error::<Json>(&db, DOCUMENT).await;
        null_is_an_error::<Json>(&db, TREE).await;
        null_is_an_error::<Vec<u8>>(&db, CONTENT).await;
        put(&db, WORDS, None::<String>).await;
        assert_eq!(get::<Option<String>>(&db, WORDS).await.unwrap(), None);
        put(&db, WORDS, Some("something")).await;
        assert_eq!(get::<Option<String>>(&db, WORDS).await.unwrap().as_deref(), Some("something"));
    }

    async fn column_of_another_type_is_an_error(store: Store) {
        let db = store.open("values", SCHEMA);
        put(&db, NUMBER, 2).await;
        rejects::<String>(&db, NUMBER).await;
        rejects::<bool>(&db, NUMBER).await;
        rejects::<Uuid>(&db, NUMBER).await;
        rejects::<Option<String>>(&db, NUMBER).await;
        put(&db, WORDS, "two").await;
        rejects::<i64>(&db, WORDS).await;
        rejects::<Decimal>(&db, WORDS).await;
        rejects::<Date>(&db, WORDS).await;
        rejects::<Timestamp>(&db, WORDS).await;
        put(&db, CODE, Uuid::max()).await;
        rejects::<String>(&db, CODE).await;
        put(&db, CONTENT, vec![1, 2, 3]).await;
        rejects::<Uuid>(&db, CONTENT).await;
        let beyond = db.read(|tx| tx.row("SELECT 1", &[], |row| row.get::<i64>(7))).await;
        assert!(matches!(beyond, Err(Error::Column { index: 7, .. })), "{beyond:?}");
    }
}

/// A pooler that loses prepared statements gets each statement whole, with its values' types.
#[test]
fn values_round_trip_through_a_pooler() {
    testkit::run(testkit::Engine::Postgres, async |_: Store| {
        for &most in testkit::max_prepared_statements() {
            numbers_round_trip::test(Store::pooled(most)).await;
            text::test(Store::pooled(most)).await;
            decimals_keep_their_scale::test(Store::pooled(most)).await;
            identifiers_and_bytes_round_trip::test(Store::pooled(most)).await;
            times_are_truncated_to_microseconds::test(Store::pooled(most)).await;
            json_is_stored_as_text::test(Store::pooled(most)).await;
            null_is_an_option::test(Store::pooled(most)).await;
            column_of_another_type_is_an_error::test(Store::pooled(most)).await;
        }
    });
}
