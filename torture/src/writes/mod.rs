//! Clients that write to all services, at the root and in a sandbox, until the program or its database stops, again and again.
//!
//! Each client notes what the answers to its writes promise. After each restart everything that was written since the one before
//! is read again, and at the end everything that was ever written: what is lost once stays lost.

mod promise;
mod writer;

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::{ToSpan, Zoned};
use promise::{Place, Promise, broken};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use testkit::{Engine, Program};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{interval, timeout},
};
use writer::{Keyed, Kind, Notes, Writer};

use crate::{
    Torture,
    installation::{Installation, Service},
    report::Line,
};

/// How long the program may take to be ready again.
const SOON: Duration = Duration::from_secs(2);
/// How long clients may wait for what must come, on a slow machine as well.
const PATIENCE: Duration = Duration::from_secs(60);
const SANDBOX: &str = "torture";
const BASIC: &str = "Basic ZGVtbzpkZW1v";

/// Pairs of stations with many seats between them: Wien and Budapest, Roma and Milano.
pub(crate) const PAIRS: [(&str, &str); 2] = [
    ("4f23b22c-ad1d-5079-a6d0-2e616bd33078", "872adfeb-d6fc-52aa-b3a0-60cb16920c7d"),
    ("d06074b1-9927-57ad-8b84-f3d431e09440", "98fc43f4-922c-5b9a-bdfa-9b64b6d2bc3e"),
];

/// An installation, with all that was written to it.
pub(crate) struct Run {
    pub(crate) installation: Installation,
    places: [Arc<Place>; 2],
    trips: Arc<Vec<String>>,
    random: StdRng,
    promises: Vec<Promise>,
    wanted: usize,
    rounds: usize,
    acknowledged: usize,
    ready: Vec<Duration>,
    violations: Vec<String>,
}

impl Run {
    /// Starts the program, with a sandbox in it.
    pub(crate) async fn start(installation: Installation, random: StdRng) -> (Self, Program) {
        let (program, _) = installation.start();
        let [petstore, train] =
            [Service::Petstore, Service::Train].map(|service| installation.authorization(service));
        let trips = Arc::new(trips(&installation, &train).await);
        let root = Place { prefix: String::new(), authorizations: [petstore, train, BASIC.to_owned()] };
        let places = [root, sandbox(&installation).await].map(Arc::new);
        let run = Run {
            installation,
            places,
            trips,
            random,
            promises: Vec::new(),
            wanted: 0,
            rounds: 0,
            acknowledged: 0,
            ready: Vec::new(),
            violations: Vec::new(),
        };
        (run, program)
    }

    /// Kills the program again and again, and gives the one that was started last. `after` runs after each kill.
    pub(crate) async fn kill_program(
        &mut self,
        mut program: Program,
        kills: usize,
        deadline: Instant,
        after: &mut dyn FnMut(&Installation),
    ) -> Program {
        self.wanted = kills;
        while self.rounds < kills && Instant::now() < deadline {
            let (writers, acknowledged) = self.begin();
            self.wait_for_load(acknowledged).await;
            program.kill();
            let notes = writers.join_all().await;
            after(&self.installation);
            let (again, ready) = self.installation.start();
            program = again;
            self.ready.push(ready);
            self.verify(notes).await;
        }
        program
    }

    /// Kills PostgreSQL again and again. The program goes on by itself.
    pub(crate) async fn kill_postgres(&mut self, kills: usize, deadline: Instant) {
        self.wanted = kills;
        while self.rounds < kills && Instant::now() < deadline {
            let (writers, acknowledged) = self.begin();
            self.wait_for_load(acknowledged).await;
            self.installation.postgres().kill();
            let notes = writers.join_all().await;
            self.installation.postgres().restart().expect("PostgreSQL recovers");
            let start = Instant::now();
            self.wait_until_ready().await;
            self.ready.push(start.elapsed());
            self.verify(notes).await;
        }
    }

    /// Starts the clients of a round. The second value receives a message for each acknowledged write.
    fn begin(&mut self) -> (JoinSet<Notes>, mpsc::UnboundedReceiver<()>) {
        let (acknowledge, acknowledged) = mpsc::unbounded_channel();
        let mut writers = JoinSet::new();
        for (which, place) in self.places.iter().enumerate() {
            for (number, kind) in Kind::CLIENTS.into_iter().enumerate() {
                let writer = Writer {
                    kind,
                    http: self.installation.client(kind.service()),
                    place: place.clone(),
                    name: format!("w{which}-{number}-{}-{}", self.promises.len(), self.rounds),
                    trips: self.trips.clone(),
                    random: StdRng::seed_from_u64(self.random.random()),
                    acknowledged: acknowledge.clone(),
                    notes: Notes::default(),
                };
                writers.spawn(writer.run());
            }
        }
        (writers, acknowledged)
    }

    /// Waits for a number of acknowledged writes that is never the same, so that each client is in the middle of something.
    async fn wait_for_load(&mut self, mut acknowledged: mpsc::UnboundedReceiver<()>) {
        let enough = self.random.random_range(30..300);
        let mut count = 0;
        let wait = async {
            while count < enough && acknowledged.recv().await.is_some() {
                count += 1;
            }
        };
        let in_time = timeout(PATIENCE, wait).await.is_ok();
        if !in_time || count < enough {
            self.violations
                .push(format!("round {}: only {count} of {enough} writes were acknowledged", self.rounds));
        }
    }

    async fn wait_until_ready(&mut self) {
        let clients = Service::ALL.map(|service| self.installation.client(service));
        let mut pause = interval(Duration::from_millis(10));
        let wait = async {
            for client in clients {
                while !client.get("/readyz").try_send().await.is_ok_and(|answer| answer.status == 200) {
                    pause.tick().await;
                }
            }
        };
        if timeout(PATIENCE, wait).await.is_err() {
            self.violations.push(format!("round {}: /readyz does not recover", self.rounds));
        }
    }

    /// Checks what a round has written.
    async fn verify(&mut self, notes: Vec<Notes>) {
        let first = self.promises.len();
        let mut found = Vec::new();
        for note in notes {
            found.extend(note.violations);
            self.promises.extend(note.promises);
            for keyed in note.keyed {
                found.extend(self.repeat(keyed).await);
            }
        }
        found.extend(broken(&self.installation, &self.promises[first..]).await);
        found.extend(self.installation.check());
        self.acknowledged += self.promises.len() - first;
        let round = self.rounds;
        self.violations.extend(found.into_iter().map(|violation| format!("round {round}: {violation}")));
        self.rounds += 1;
    }

    /// Sends a request with an Idempotency-Key again: if it was answered, the answer is the same.
    async fn repeat(&mut self, keyed: Keyed) -> Option<String> {
        let answer = keyed.call(&self.installation.client(Service::Train)).try_send().await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Some(format!("POST {} again: {error}", keyed.path)),
        };
        let body = answer.json();
        // Another process could still be at it, for as long as its lease.
        let in_use = body["type"].as_str().is_some_and(|kind| kind.ends_with("/idempotency-key-in-use"))
            && self.installation.engine == Engine::Postgres;
        let is_same = match &keyed.answer {
            Some(first) => *first == body,
            None => answer.status < 300 || in_use || answer.status == 409,
        };
        (!is_same).then(|| {
            let Keyed { path, key, answer: first, .. } = &keyed;
            format!("POST {path} again with the key {key:?}: {} {body}, first {first:?}", answer.status)
        })
    }

    /// The line of all rounds so far, after everything was read once more.
    pub(crate) async fn line(&mut self, torture: &Torture, fault: &str) -> Line {
        let mut violations = std::mem::take(&mut self.violations);
        violations.extend(
            broken(&self.installation, &self.promises)
                .await
                .into_iter()
                .map(|text| format!("at the end: {text}")),
        );
        for place in &self.places {
            violations.extend(doubled_bookings(&self.installation, place).await);
        }
        let slowest = std::mem::take(&mut self.ready).into_iter().max().unwrap_or_default();
        violations.extend(torture.judge(slowest <= SOON, || format!("ready only after {slowest:.2?}")));
        let (rounds, acknowledged) =
            (std::mem::take(&mut self.rounds), std::mem::take(&mut self.acknowledged));
        let wanted = self.wanted;
        Line {
            fault: fault.to_owned(),
            must: format!(
                "{wanted} times; 0 acknowledged writes lost, 0 half-applied, `triptych check` passes, ready within {SOON:?}"
            ),
            measured: format!(
                "{rounds} times, {acknowledged} written resources, ready after at most {slowest:.2?}"
            ),
            violations,
        }
    }
}

/// A new sandbox whose services need no sign-in.
async fn sandbox(installation: &Installation) -> Place {
    let petstore = installation.client(Service::Petstore);
    let created = petstore.post("/sandboxes").json(&json!({"name": SANDBOX})).send().await;
    let token = created.has_status(201).json()["control_token"].as_str().expect("a token").to_owned();
    let prefix = format!("/sandbox/{SANDBOX}");
    let control = petstore.put(&format!("{prefix}/_control/sign-in"));
    let off = control.header("authorization", &format!("Bearer {token}")).json(&json!({"mode": "off"}));
    off.send().await.has_status(200);
    // The services do not look at them.
    Place { prefix, authorizations: std::array::from_fn(|_| BASIC.to_owned()) }
}

/// Trips with more seats than are booked.
async fn trips(installation: &Installation, authorization: &str) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "the program has the clock of the machine")]
    let today = Zoned::now().date();
    let train = installation.client(Service::Train);
    let mut trips = Vec::new();
    for days in 10..60 {
        for (origin, destination) in PAIRS {
            let date = today + days.days();
            let path = format!("/trips?origin={origin}&destination={destination}&date={date}&limit=100");
            let found = train.get(&path).header("authorization", authorization).send().await;
            let found = found.has_status(200).json();
            trips.extend(found["data"].as_array().into_iter().flatten().map(|trip| text(&trip["id"])));
        }
    }
    assert!(!trips.is_empty(), "there are trips");
    trips
}

/// Passengers with more than one booking, as far as they can be read: each has asked for one, some of them twice with the same key.
async fn doubled_bookings(installation: &Installation, place: &Place) -> Vec<String> {
    let train = installation.client(Service::Train);
    let (mut seen, mut doubled) = (HashSet::new(), Vec::new());
    for page in 1.. {
        let path = format!("{}/bookings?limit=100&page={page}", place.prefix);
        let call = train.get(&path).header("authorization", &place.authorizations[Service::Train as usize]);
        let answer = call.send().await;
        if answer.status != 200 {
            doubled.push(format!("GET {path}: {} {}", answer.status, answer.text()));
            break;
        }
        let found = answer.json();
        for booking in found["data"].as_array().into_iter().flatten() {
            let passenger = text(&booking["passenger_name"]);
            if !seen.insert(passenger.clone()) {
                doubled.push(format!("{passenger} has two bookings in {:?}", place.prefix));
            }
        }
        if found["links"].get("next").is_none() {
            break;
        }
    }
    doubled
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
