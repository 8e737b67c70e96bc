//! The data sets.

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use crate::program::Program;

/// The first id of the bench's pets; the demo's are below.
pub(crate) const FIRST_PET: i64 = 1_000_001;

/// A statement that adds pets with the ids from $1 to $2, in the dialect of both engines.
pub(crate) const ADD_PETS: &str = r#"
    WITH RECURSIVE ids (id) AS (SELECT $1 UNION ALL SELECT id + 1 FROM ids WHERE id < $2)
    INSERT INTO pet (id, name, category, photo_urls, tags, status)
    SELECT id, 'Pet number ' || id, '{"id":1,"name":"Dogs"}', '["https://example.com/a.jpg"]',
        '[{"id":1,"name":"tag1"}]', CASE id % 3 WHEN 0 THEN 'available' WHEN 1 THEN 'pending' ELSE 'sold' END
    FROM ids"#;

/// Makes the databases of a demo in a folder, with so many pets. Returns how long the first start took.
pub(crate) fn create(folder: &Path, pets: i64) -> Duration {
    std::fs::create_dir_all(folder).expect("a folder");
    let data = folder.join("data");
    let program = Program::start(folder, &["--data", &data.display().to_string()]);
    let ready_after = program.ready_after + make_keys(&program);
    program.stop();
    let mut connection = Connection::open(data.join("petstore.db")).expect("the pet store's database");
    let transaction = connection.transaction().expect("a transaction");
    transaction.execute(ADD_PETS, (FIRST_PET, FIRST_PET + pets - 1)).expect("the pets are added");
    transaction.commit().expect("the pets are committed");
    ready_after
}

/// The time that the signing keys take, which are made when they are first needed.
fn make_keys(program: &Program) -> Duration {
    let start = Instant::now();
    let requests = [program.petstore, program.train].map(|service| {
        let mut stream = TcpStream::connect(service).expect("the service accepts");
        let request =
            format!("GET /oauth/jwks.json HTTP/1.1\r\nHost: {service}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("the request is sent");
        stream
    });
    for mut stream in requests {
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    start.elapsed()
}

/// Adds users who book trips.
pub(crate) fn add_travellers(folder: &Path, number: usize) {
    let database = folder.join("data/train.db");
    let connection = Connection::open(database).expect("the database of train travel");
    let add = "INSERT INTO account (id, name, demo, created_at) VALUES (randomblob(16), ?1, 0, 0)";
    for number in 0..number {
        connection.execute(add, [traveller(number)]).expect("the user is added");
    }
}

pub(crate) fn traveller(number: usize) -> String {
    format!("traveller{number}")
}

/// Deletes all bookings, so that each round starts with users who have none.
pub(crate) fn delete_bookings(data: &Path) {
    let connection = Connection::open(data.join("train.db")).expect("the database of train travel");
    connection.busy_timeout(Duration::from_secs(10)).expect("a timeout");
    connection.execute("DELETE FROM booking", ()).expect("the bookings are deleted");
}
