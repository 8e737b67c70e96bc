//! Clients that write to all services while the program suffers, and the checks of what they wrote.

mod kind;
mod promise;
mod run;
mod writer;
mod writes;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use jiff::{ToSpan, Zoned};
use kind::Kind;
pub(crate) use promise::{Place, Promise, broken};
use rand::{RngExt, SeedableRng, rngs::StdRng};
pub(crate) use run::Run;
use serde_json::{Value, json};
use testkit::Client;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};
use writer::Writer;
pub(crate) use writer::{Keyed, Notes};

use crate::{
    installation::{Installation, Service},
    tables::count,
};

/// How long clients may wait for what must come, on a slow machine as well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The header of the demo user where a name and a password are needed.
pub(crate) const BASIC: &str = "Basic ZGVtbzpkZW1v";

/// Pairs of stations with many seats between them: Wien and Budapest, Roma and Milano.
pub(crate) const MANY_SEATS: [(&str, &str); 2] = [
    ("4f23b22c-ad1d-5079-a6d0-2e616bd33078", "872adfeb-d6fc-52aa-b3a0-60cb16920c7d"),
    ("d06074b1-9927-57ad-8b84-f3d431e09440", "98fc43f4-922c-5b9a-bdfa-9b64b6d2bc3e"),
];
/// Luzern and Interlaken: two trains a day with 12 seats, one with 16, one with 24.
pub(crate) const FEW_SEATS: (&str, &str) =
    ("b819f0ae-fb48-52a9-9626-82fbe00490df", "3256f587-2dfd-5b5a-a8f8-2b063fd37f50");

/// The clients of one fault.
pub(crate) struct Round {
    writers: JoinSet<Notes>,
    /// The number of the client for each acknowledged write.
    acknowledged: mpsc::UnboundedReceiver<usize>,
    /// How many of these messages were received.
    count: usize,
    /// The clients without an acknowledged write.
    waiting: HashSet<usize>,
    stop: watch::Sender<bool>,
}

/// What the clients of a round write to.
pub(crate) struct Target<'a> {
    pub(crate) places: &'a [Arc<Place>],
    /// The processes: each request goes to one of them.
    pub(crate) processes: &'a [Installation],
    pub(crate) trips: &'a Arc<Vec<String>>,
    /// Whether clients go on when the service breaks, until they are stopped.
    pub(crate) goes_on: bool,
}

impl Round {
    /// Starts the clients. No other round has this name.
    pub(crate) fn begin(target: &Target<'_>, name: &str, random: &mut StdRng) -> Self {
        let (acknowledge, acknowledged) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let clients: Vec<_> = target.processes.iter().map(Installation::clients).collect();
        let mut writers = JoinSet::new();
        for (which, place) in target.places.iter().enumerate() {
            for (number, kind) in Kind::CLIENTS.into_iter().enumerate() {
                let client = writers.len();
                let writer = Writer {
                    client,
                    kind,
                    processes: clients.iter().map(|of| of[kind.service() as usize].clone()).collect(),
                    place: place.clone(),
                    name: format!("w{which}-{number}-{name}"),
                    trips: target.trips.clone(),
                    random: StdRng::seed_from_u64(random.random()),
                    acknowledged: acknowledge.clone(),
                    stopped: target.goes_on.then(|| stopped.clone()),
                    notes: Notes::default(),
                };
                writers.spawn(writer.run());
            }
        }
        let waiting = (0..writers.len()).collect();
        Round { writers, acknowledged, count: 0, waiting, stop }
    }

    /// Waits until each client has an acknowledged write. Gives the violation if they do not come.
    pub(crate) async fn wait_for_all(&mut self) -> Option<String> {
        let wait = async {
            while !self.waiting.is_empty()
                && let Some(client) = self.acknowledged.recv().await
            {
                self.add(client);
            }
        };
        let _ = timeout(PATIENCE, wait).await;
        let waiting = self.waiting.len();
        (waiting > 0).then(|| format!("{waiting} clients have no acknowledged write"))
    }

    /// Waits for this number of acknowledged writes. Gives the violation if they do not come.
    pub(crate) async fn wait_for(&mut self, enough: usize) -> Option<String> {
        let before = self.count;
        let wait = async {
            while self.count < before + enough
                && let Some(client) = self.acknowledged.recv().await
            {
                self.add(client);
            }
        };
        let _ = timeout(PATIENCE, wait).await;
        let count = self.count - before;
        (count < enough).then(|| format!("only {count} of {enough} writes were acknowledged"))
    }

    /// The number of acknowledged writes so far. A wait counts later ones only.
    pub(crate) fn acknowledged(&mut self) -> usize {
        while let Ok(client) = self.acknowledged.try_recv() {
            self.add(client);
        }
        self.count
    }

    fn add(&mut self, client: usize) {
        self.count += 1;
        self.waiting.remove(&client);
    }

    /// Stops the clients, and gives what they leave behind.
    pub(crate) async fn end(self) -> Vec<Notes> {
        self.stop.send_replace(true);
        self.writers.join_all().await
    }
}

/// Sends a request with an Idempotency-Key again: if it was answered, the answer is the same. If a process was killed, its payment may not
/// be settled yet: on PostgreSQL for as long as its lease, on SQLite for a moment after the start.
pub(crate) async fn repeat(client: &Client, keyed: &Keyed, may_be_in_use: bool) -> Option<String> {
    let answer = match keyed.call(client).try_send().await {
        Ok(answer) => answer,
        Err(error) => return Some(format!("POST {} again: {error}", keyed.path)),
    };
    let body = answer.json();
    let in_use = body["type"].as_str().is_some_and(|kind| kind.ends_with("/idempotency-key-in-use"));
    let is_same = match &keyed.answer {
        Some(first) => *first == body,
        None => answer.status < 300 || (answer.status == 409 && (may_be_in_use || !in_use)),
    };
    (!is_same).then(|| {
        let Keyed { path, key, answer: first, .. } = keyed;
        format!("POST {path} again with the key {key:?}: {} {body}, first {first:?}", answer.status)
    })
}

/// Lets every caller of a place act as the demo user. `prefix` is the path of a sandbox, or empty.
pub(crate) async fn without_sign_in(installation: &Installation, prefix: &str, control: &str) -> Place {
    let path = format!("{prefix}/_control/sign-in");
    let call = installation.client(Service::Petstore).put(&path);
    let off = call.header("authorization", &format!("Bearer {control}")).json(&json!({"mode": "off"}));
    off.send().await.has_status(200);
    // The services do not look at them.
    Place { prefix: prefix.to_owned(), authorizations: std::array::from_fn(|_| BASIC.to_owned()) }
}

/// The trips between two stations from ten days ahead on, for this number of days.
pub(crate) async fn trips(
    installation: &Installation,
    authorization: &str,
    (origin, destination): (&str, &str),
    days: i32,
) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "the program has the clock of the machine")]
    let today = Zoned::now().date();
    let train = installation.client(Service::Train);
    let mut trips = Vec::new();
    for days in 10..10 + days {
        let date = today + days.days();
        let path = format!("/trips?origin={origin}&destination={destination}&date={date}&limit=100");
        let found = train.get(&path).header("authorization", authorization).send().await;
        let found = found.has_status(200).json();
        trips.extend(found["data"].as_array().into_iter().flatten().map(|trip| text(&trip["id"])));
    }
    assert!(!trips.is_empty(), "there are trips");
    trips
}

/// The free seats of a trip.
pub(crate) async fn available(train: &Client, authorization: &str, trip: &str) -> i64 {
    let found = train.get(&format!("/trips/{trip}")).header("authorization", authorization).send().await;
    found.has_status(200).json()["seats_available"].as_i64().expect("a number")
}

/// The bookings of the user of a place, by their ids, as far as they can be read, and the violation if that is not all.
pub(crate) async fn bookings(train: &Client, place: &Place) -> (HashMap<String, Value>, Option<String>) {
    let mut bookings = HashMap::new();
    for page in 1.. {
        let path = format!("{}/bookings?limit=100&page={page}", place.prefix);
        let call = train.get(&path).header("authorization", &place.authorizations[Service::Train as usize]);
        let found = match call.try_send().await {
            Ok(answer) if answer.status == 200 => answer.json(),
            Ok(answer) => {
                return (bookings, Some(format!("GET {path}: {} {}", answer.status, answer.text())));
            }
            Err(error) => return (bookings, Some(format!("GET {path}: {error}"))),
        };
        let data = found["data"].as_array().into_iter().flatten();
        bookings.extend(data.map(|booking| (text(&booking["id"]), booking.clone())));
        if found["links"].get("next").is_none() {
            break;
        }
    }
    (bookings, None)
}

/// Passengers with more than one booking: each has asked for one, some of them twice with the same key.
pub(crate) fn doubled(bookings: &HashMap<String, Value>, place: &Place) -> Vec<String> {
    let mut seen = HashSet::new();
    let passengers = bookings.values().map(|booking| text(&booking["passenger_name"]));
    let again = passengers.filter(|passenger| !seen.insert(passenger.clone()));
    again.map(|passenger| format!("{passenger} has two bookings in {:?}", place.prefix)).collect()
}

/// Bookings for which the processor has charged more than once, without a refund.
pub(crate) fn charged_twice(installation: &Installation) -> Option<String> {
    let twice = count(
        installation,
        "SELECT count(*) FROM (SELECT booking_id FROM {}payment AS payment JOIN {}sandbox_charge AS charge
         ON charge.payment_id = payment.id WHERE outcome = 'succeeded' AND refunded_at IS NULL
         GROUP BY booking_id HAVING count(*) > 1) AS twice",
    );
    (twice > 0).then(|| format!("{twice} bookings are charged twice"))
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The kind of a problem.
pub(crate) fn conflict(problem: &Value) -> String {
    let kind = problem["type"].as_str().unwrap_or_default();
    kind.rsplit('/').next().unwrap_or_default().to_owned()
}

/// A test card: its number decides what happens.
pub(crate) fn card(number: &str) -> Value {
    json!({"object": "card", "name": "Ada", "number": number, "cvc": "123", "exp_month": 12, "exp_year": 2099,
        "address_country": "gb"})
}
