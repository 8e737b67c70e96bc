//! All constructs in the statements of the services, and similar ones.

use std::collections::HashSet;

use super::{Qualified, qualify};

fn qualified(sql: &str) -> Result<Qualified, String> {
    let tables = ["pet", "pet_tag", "owner", "Group"].map(str::to_owned);
    qualify(sql, "store", &HashSet::from(tables))
}

#[track_caller]
fn becomes(sql: &str, expected: &str) {
    assert_eq!(qualified(sql).map(|qualified| qualified.text).as_deref(), Ok(expected));
}

#[test]
fn every_table_name_gets_its_schema() {
    for (sql, expected) in [
        ("SELECT id FROM pet WHERE id = $1", "SELECT id FROM store.pet WHERE id = $1"),
        ("select id from PET", "select id from store.PET"),
        ("SELECT id FROM \"Group\"", "SELECT id FROM store.\"Group\""),
        ("SELECT 1 FROM pet;", "SELECT 1 FROM store.pet;"),
        ("SELECT p.id FROM pet AS p WHERE p.id = 1", "SELECT p.id FROM store.pet AS p WHERE p.id = 1"),
        ("SELECT p.id FROM pet p", "SELECT p.id FROM store.pet p"),
        (
            "SELECT owner.id FROM pet JOIN owner ON owner.id = pet.owner",
            "SELECT owner.id FROM store.pet JOIN store.owner ON owner.id = pet.owner",
        ),
        (
            "SELECT 1 FROM pet LEFT JOIN owner USING (id), pet_tag AS t, owner WHERE pet.id = 1",
            "SELECT 1 FROM store.pet LEFT JOIN store.owner USING (id), store.pet_tag AS t, store.owner WHERE pet.id = 1",
        ),
        (
            "SELECT 1 FROM (pet JOIN owner ON pet.owner = owner.id), pet_tag",
            "SELECT 1 FROM (store.pet JOIN store.owner ON pet.owner = owner.id), store.pet_tag",
        ),
        (
            "SELECT s.id FROM (SELECT id, name FROM pet) AS s, LATERAL (SELECT 1 FROM owner) AS o",
            "SELECT s.id FROM (SELECT id, name FROM store.pet) AS s, LATERAL (SELECT 1 FROM store.owner) AS o",
        ),
        (
            "SELECT id, (SELECT count(*) FROM pet_tag WHERE pet_id = id) FROM pet",
            "SELECT id, (SELECT count(*) FROM store.pet_tag WHERE pet_id = id) FROM store.pet",
        ),
        (
            "SELECT id FROM pet WHERE NOT EXISTS (SELECT 1 FROM owner) UNION ALL SELECT id FROM owner ORDER BY id, pet",
            "SELECT id FROM store.pet WHERE NOT EXISTS (SELECT 1 FROM store.owner) UNION ALL SELECT id FROM store.owner ORDER BY id, pet",
        ),
        (
            "INSERT INTO pet (id, owner) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET owner = pet.owner + excluded.owner",
            "INSERT INTO store.pet (id, owner) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET owner = pet.owner + excluded.owner",
        ),
        (
            "INSERT INTO pet (id) SELECT id FROM owner, pet_tag RETURNING id, owner",
            "INSERT INTO store.pet (id) SELECT id FROM store.owner, store.pet_tag RETURNING id, owner",
        ),
        (
            "UPDATE pet SET owner = (SELECT max(id) FROM owner), name = $1 FROM pet_tag, owner WHERE pet.id = 1",
            "UPDATE store.pet SET owner = (SELECT max(id) FROM store.owner), name = $1 FROM store.pet_tag, store.owner WHERE pet.id = 1",
        ),
        ("UPDATE ONLY pet SET id = 1", "UPDATE ONLY store.pet SET id = 1"),
        (
            "DELETE FROM pet USING owner, pet_tag WHERE pet.owner = owner.id RETURNING owner, pet.id",
            "DELETE FROM store.pet USING store.owner, store.pet_tag WHERE pet.owner = owner.id RETURNING owner, pet.id",
        ),
        (
            "DELETE FROM pet WHERE id IN (SELECT id FROM pet ORDER BY id LIMIT 10)",
            "DELETE FROM store.pet WHERE id IN (SELECT id FROM store.pet ORDER BY id LIMIT 10)",
        ),
        ("SELECT id FROM pet FOR UPDATE", "SELECT id FROM store.pet FOR UPDATE"),
        ("SELECT id FROM pet FOR NO KEY UPDATE", "SELECT id FROM store.pet FOR NO KEY UPDATE"),
    ] {
        becomes(sql, expected);
    }
}

#[test]
fn other_names_are_unchanged() {
    for sql in [
        "SELECT 1",
        "SELECT pet, owner",
        "SELECT 'FROM pet', \"FROM pet\" -- FROM pet",
        "SELECT /* FROM pet */ $$ FROM pet $$",
        "SELECT EXTRACT(YEAR FROM owner), substring(pet FROM 2), trim(BOTH 'x' FROM pet)",
        "SELECT $1 IS DISTINCT FROM pet",
        "SELECT n FROM generate_series(1, 3) AS pet(n), unnest(ARRAY[1]) AS owner",
        "SELECT s FROM (VALUES ('a'), ('b')) AS pet(s)",
        "SELECT pid FROM pg_stat_activity",
        "SELECT 1 FROM information_schema.tables",
        "SELECT 1 FROM museum.pet",
        "DO $$ BEGIN UPDATE pet SET id = 1; END $$",
    ] {
        becomes(sql, sql);
    }
}

#[test]
fn names_of_common_table_expressions_are_not_tables() {
    becomes(
        "WITH RECURSIVE ready (id) AS (SELECT min(id) FROM pet UNION ALL SELECT (SELECT min(id) FROM pet) FROM ready), \
         rest AS NOT MATERIALIZED (DELETE FROM owner RETURNING id) SELECT id FROM ready, rest, pet_tag",
        "WITH RECURSIVE ready (id) AS (SELECT min(id) FROM store.pet UNION ALL SELECT (SELECT min(id) FROM store.pet) FROM ready), \
         rest AS NOT MATERIALIZED (DELETE FROM store.owner RETURNING id) SELECT id FROM ready, rest, store.pet_tag",
    );
    becomes(
        "WITH ids AS (SELECT 1 AS id) INSERT INTO pet (id) SELECT id FROM ids",
        "WITH ids AS (SELECT 1 AS id) INSERT INTO store.pet (id) SELECT id FROM ids",
    );
    let hidden = qualified("WITH pet AS (SELECT 1 FROM pet) SELECT 1 FROM pet");
    assert_eq!(hidden, Err("WITH pet hides the table store.pet".into()));
}

#[test]
fn unknown_table_is_an_error() {
    for sql in
        ["SELECT 1 FROM dog", "INSERT INTO dog (id) VALUES (1)", "UPDATE dog SET id = 1", "DELETE FROM dog"]
    {
        assert_eq!(qualified(sql), Err("the schema store has no table \"dog\"".into()), "{sql}");
    }
    let joined = qualified("SELECT 1 FROM pet, (SELECT 1 FROM pet JOIN \"Dog\" ON TRUE) AS x");
    assert_eq!(joined, Err("the schema store has no table \"Dog\"".into()));
}

#[test]
fn parameters_are_counted_and_writes_are_detected() {
    for (sql, parameters, reads) in [
        ("SELECT 1", 0, true),
        ("SELECT $2, '$9' FROM pet WHERE id = $1", 2, true),
        ("WITH ids AS (SELECT 1) SELECT * FROM ids", 0, true),
        ("WITH gone AS (DELETE FROM pet RETURNING id) SELECT * FROM gone", 0, false),
        ("SELECT 1 FROM pet FOR UPDATE", 0, false),
        ("insert into pet (id) values ($1)", 1, false),
        ("DO $$ BEGIN END $$", 0, false),
    ] {
        let found = qualified(sql).map(|found| (found.parameters, found.reads));
        assert_eq!(found, Ok((parameters, reads)), "{sql}");
    }
}

#[test]
fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
    let text = "-- First; of all\nCREATE TABLE a (b TEXT DEFAULT ';');\n;\nDO $$ BEGIN x; END $$; SELECT \";\" /* ; */\n-- The end;\n";
    let found = [
        "-- First; of all\nCREATE TABLE a (b TEXT DEFAULT ';')",
        "DO $$ BEGIN x; END $$",
        "SELECT \";\" /* ; */\n-- The end;",
    ];
    assert_eq!(super::statements(text), found);
    assert_eq!(super::statements("-- Nothing to do.\n"), [""; 0]);
}
