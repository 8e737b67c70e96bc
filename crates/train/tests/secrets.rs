//! Card numbers, account numbers and idempotency keys are neither stored nor logged.
//!
//! A program of its own: it keeps each line that the whole process logs, at every level. The other tests would fill that log, and
//! writing it would slow them down.

#![allow(clippy::unwrap_used)]

#[path = "all/dump.rs"]
mod dump;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "all/fixture.rs"]
mod fixture;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "all/person.rs"]
mod person;

use std::{fs, path::Path};

use fixture::{Open, Setup, TRIP, booking, card, payment, text};
use jiff::SignedDuration;
use person::Person;
use serde_json::{Value, json};
use testkit::{Answer, Client, Log, Server, Store};
use train::Train;
use web::ConnectionLimits;

/// Each of these decides otherwise; the last two are no card's.
const CARDS: [&str; 7] = [
    "4242424242424242",
    "4000000000000002",
    "4000000000000077",
    "5105105105105100",
    "4000000000009995",
    "5105105105105101",
    "510510510510510510510",
];
const ACCOUNT: &str = "90817263540";
const CVC: &str = "8317";
const KEY: &str = "key-of-a-request-5d1f";

/// The secret texts, as they are and in hexadecimal.
fn secrets() -> Vec<String> {
    let plain = CARDS.into_iter().chain([ACCOUNT, KEY]);
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    plain.flat_map(|text| [text.to_owned(), hex(text)]).collect()
}

/// Asserts that a text contains no secret, and not the CVC of a card as a word of its own.
#[track_caller]
fn tells_nothing(place: &str, told: &str) {
    let lower = told.to_lowercase();
    for secret in secrets() {
        assert!(!lower.contains(&secret), "{secret} is in {place}: {told}");
    }
    let mut words = told.split(|c: char| !c.is_ascii_alphanumeric());
    assert!(!words.any(|word| word == CVC), "{CVC} is in {place}: {told}");
}

/// The bytes of every file of a folder.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![(path.display().to_string(), fs::read(&path).unwrap())],
        })
        .collect()
}

impl Open {
    /// Sends a payment of Ada's.
    async fn send(&self, booking: &Value, key: &str, body: &str) -> Answer {
        send(&self.ada, booking, key, body).await
    }

    /// Another process on the same database, with this secret; and Ada as she calls it.
    async fn another(&self, secret: [u8; 32]) -> (Server, Person) {
        let instance = fixture::instance(&Setup { secret, ..Setup::default() }, &self.db, &self.clock);
        let router = Train::open(train::Settings::default(), instance).await.unwrap().app();
        let server = Server::start(ConnectionLimits::default(), |_| router).await;
        let client = Client::new(server.address());
        (server, Person { client, ..self.ada.clone() })
    }
}

/// Sends a payment, in the form that `body` has, and gives the answer.
async fn send(person: &Person, booking: &Value, key: &str, body: &str) -> Answer {
    let form = if body.starts_with('<') { "application/xml" } else { "application/json" };
    let call = person.post(&payment(booking)).header("idempotency-key", key).header("accept", form);
    call.body(form, body.to_owned()).send().await
}

fn by_card(number: &str) -> String {
    let mut body = card(number);
    body["source"]["cvc"] = json!(CVC);
    body.to_string()
}

fn by_card_in_xml(number: &str) -> String {
    format!(
        "<payment><source><object>card</object><name>A</name><number>{number}</number><cvc>{CVC}</cvc>\
         <exp_month>12</exp_month><exp_year>2031</exp_year><address_country>gb</address_country></source></payment>"
    )
}

fn by_account() -> String {
    json!({"source": {
        "object": "bank_account", "name": "A", "number": ACCOUNT, "account_type": "company", "bank_name": "B",
        "country": "gb",
    }})
    .to_string()
}

/// Bodies in which something goes wrong around a number.
fn broken() -> Vec<String> {
    let good = by_card(CARDS[0]);
    vec![
        good[..good.len() - 1].to_owned(),
        format!("{good}{}", CARDS[0]),
        good.replace("\"4242424242424242\"", "4242424242424242"),
        good.replace("\"number\":", &format!("\"number\":\"{}\",\"number\":", CARDS[3])),
        good.replace("\"8317\"", "8317"),
        good.replace("\"8317\"", "\"8317x\""),
        good.replace("\"source\"", "\"amount\":1,\"source\""),
        good.replace("\"source\"", "\"amount\":4242424242424242,\"source\""),
        good.replace("2031", "2001"),
        good.replace("\"card\"", "\"4242424242424242\""),
        good.replace("\"gb\"", "\"4242424242424242\""),
        good.replace("\"source\":{", "\"source\":[4242424242424242,{").replace("}}", "}]}"),
        by_card_in_xml("4242424242424242\u{1}"),
        by_card_in_xml(CARDS[0]).replace("</number>", ""),
        by_card_in_xml("<b>4242424242424242</b>"),
        by_card_in_xml(CARDS[0]).replace("payment>", "pay>"),
    ]
}

testkit::on_both_engines! {
    async fn card_numbers_are_in_no_answer_log_line_row_or_file(open: Open) {
        Log::start_with_everything();
        let task = tokio::spawn(open.train.clone().run(std::future::pending()));
        let mut answers = Vec::new();
        for (at, number) in CARDS.iter().enumerate() {
            for body in [by_card(number), by_card_in_xml(number)] {
                let made = open.ada.hold(TRIP).await;
                let key = format!("{KEY}{at}");
                answers.push(open.send(&made, &key, &body).await);
                answers.push(open.send(&made, &key, &body).await);
                answers.push(open.send(&made, &key, &by_account()).await);
                answers.push(open.send(&made, "another", &body).await);
                if at == 0 {
                    answers.push(open.ada.cancel(&made).await);
                }
            }
        }
        let made = open.ada.hold(TRIP).await;
        for body in broken() {
            let answer = open.send(&made, KEY, &body).await;
            assert_eq!(answer.status, 400, "{body}");
            answers.push(answer);
        }
        answers.push(open.ada.post(&payment(&made)).body("text/plain", by_card(CARDS[0])).send().await);
        answers.push(open.send(&made, KEY, &by_account()).await);
        let call = open.ada.post("/bookings").header("idempotency-key", KEY);
        answers.push(call.json(&booking(TRIP)).send().await);
        answers.push(open.ada.get("/bookings?limit=100").send().await);
        open.advance(SignedDuration::from_hours(2)).await;
        open.do_due_work().await;
        task.abort();

        let paid = answers.iter().filter(|answer| answer.status == 200).count();
        assert!(paid > 10, "{paid}");
        for answer in &answers {
            tells_nothing("an answer", &answer.text());
            tells_nothing("a header", &format!("{:?}", answer.headers));
        }
        // The client of the test is in the same program, and logs as little as the service.
        let logged = Log::start_with_everything().text();
        assert!(logged.contains("/payment"), "requests are logged");
        for line in logged.lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            // Fractions of milliseconds may be any digits.
            if let Some(fields) = line["fields"].as_object_mut() {
                fields.remove("ms");
            }
            tells_nothing("the log", &line.to_string());
        }
        let everything = open.everything().await;
        assert!(
            everything.iter().any(|row| row.contains("************4242")),
            "the last four digits are kept"
        );
        for row in &everything {
            tells_nothing("the database", row);
        }
        if let Some(folder) = open.store.folder() {
            let files = files(&folder);
            assert!(!files.is_empty());
            for (name, bytes) in files {
                for secret in CARDS.into_iter().chain([ACCOUNT, KEY]) {
                    let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                    assert!(!found, "{secret} is in {name}");
                }
            }
        }
    }

    async fn stored_request_reveals_neither_its_key_nor_its_body(open: Open) {
        let first = open.ada.hold(TRIP).await;
        let second = open.ada.hold(TRIP).await;
        for (booking, key) in [(&first, "key 1"), (&second, "key 2")] {
            open.send(booking, key, &by_card(CARDS[0])).await.has_status(200);
        }
        let kept = open.db.read(|tx| {
            tx.rows("SELECT hash, fingerprint FROM idempotency", &[], |row| {
                Ok((row.get::<Vec<u8>>(0)?, row.get::<Vec<u8>>(1)?))
            })
        });
        let kept = kept.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
        assert_eq!(kept.len(), 2);
        // The same body under another key looks another: who has a copy cannot try all cards for the right one.
        assert_ne!(kept[0].1, kept[1].1);
        assert_ne!(kept[0].0, kept[1].0);
        assert_eq!(text(&first, "trip_id"), text(&second, "trip_id"));
    }

    async fn fingerprints_are_keyed_by_the_secret_of_the_installation(store: Store) {
        let open = Open::on(store, Setup { secret: [1; 32], ..Setup::default() }).await;
        let made = open.ada.hold(TRIP).await;
        open.send(&made, "guessable", &by_card(CARDS[0])).await.has_status(200);
        // A caller that guesses the key still cannot compute the fingerprint without the secret.
        let again = async |ada: &Person| send(ada, &made, "guessable", &by_card(CARDS[0])).await;
        let (_other, ada) = open.another([2; 32]).await;
        again(&ada).await.is_problem(422, "idempotency-key-reused");
        let (_same, ada) = open.another([1; 32]).await;
        assert_eq!(again(&ada).await.has_status(200).json()["status"], "succeeded");
        let rows = open.everything().await;
        for secret in ["0101010101010101", "0202020202020202"] {
            assert!(rows.iter().all(|row| !row.contains(secret)), "the secret is not in the database");
        }
    }
}
