//! Clients race for the seats of a few trips through several processes: they hold, pay, cancel and look, and holds expire after two
//! seconds. All requests are recorded with their times, and the history of each trip must be linearizable.

mod checker;
mod client;
mod history;

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicUsize},
    time::{Duration, Instant},
};

use checker::Verdict;
use client::{Client, Notes, Trip};
use history::{Answer, Operation, Status, after_expiry};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use testkit::{Client as Http, Engine};
use tokio::{runtime::Runtime, task::JoinSet, time::interval};

use crate::{
    Add, Torture,
    installation::{Installation, Service, terminate},
    load::{FEW_SEATS, PATIENCE, Place, available, bookings, charged_twice, text, trips},
    report::Line,
    tables::count,
};

/// The trips of a day.
const TRIPS: usize = 4;
/// The days whose trips are booked at once: so many that requests wait for each other and not only for the disk.
const DAYS_AT_ONCE: usize = 4;
/// The clients of one trip. The more there are, the more orders the checker has to try.
const CLIENTS: usize = 6;
/// The requests through three processes, and those through one.
const ON_POSTGRES: usize = 1_000_000;
const ON_SQLITE: usize = 100_000;
/// The requests for a trip, on average. Then the trips of the next days are booked, so that a request without an answer costs one history.
const A_TRIP: usize = 5000;
/// How long the clients race in a short run: longer than a hold.
const SHORT: Duration = Duration::from_secs(3);
/// The days that the timetable has.
const DAYS: i32 = 75;

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    let runtime = Runtime::new().expect("a runtime");
    let engines = [(Engine::Postgres, ON_POSTGRES), (Engine::Sqlite, ON_SQLITE)];
    for (engine, operations) in engines.into_iter().take(torture.size(2, 1)) {
        let mut race = runtime.block_on(on(torture, engine, operations));
        let all = race.operations;
        let violation = || format!("there was time for {all} of {operations} requests");
        race.violations.extend(torture.judge(all >= operations, violation));
        add(race.line(torture, engine));
    }
}

/// Runs at least so many requests, as long as there is time.
async fn on(torture: &Torture, engine: Engine, operations: usize) -> Race {
    let mut random = torture.random("seats");
    let mut first = Installation::new(torture, engine, "seats", &mut random);
    first.set("TRIPTYCH_TRAIN_HOLD_SECONDS", "2");
    first.share_addresses();
    let mut installations = Vec::new();
    if engine == Engine::Postgres {
        let url = first.postgres().url();
        installations.extend((1..3).map(|_| first.another(url.clone(), &mut random)));
    }
    installations.insert(0, first);
    let programs: Vec<_> = installations.iter().map(|installation| installation.start().0).collect();
    let trips_at_once = TRIPS * torture.size(DAYS_AT_ONCE, 1);
    let mut race = Race::new(&installations, trips_at_once, random);
    let all = trips(&installations[0], &race.owners[0], FEW_SEATS, torture.size(DAYS, 1)).await;
    let start = Instant::now();
    let deadline = start + torture.size(time(engine), SHORT);
    for trips in all.chunks_exact(race.owners.len()) {
        if race.operations < operations && Instant::now() < deadline {
            race.sign_in(&installations[0]);
            race.heat(trips, deadline).await;
        }
    }
    race.took = start.elapsed();
    race.end(&installations[0]).await;
    terminate(programs);
    race
}

/// The name of an owner of bookings.
fn owner(number: usize) -> String {
    format!("owner{number}")
}

/// How long the clients race at most in a full run.
fn time(engine: Engine) -> Duration {
    Duration::from_secs(if engine == Engine::Postgres { 720 } else { 60 })
}

struct Race {
    processes: Arc<Vec<Http>>,
    /// The Authorization headers of the owners of all bookings, one for each trip that is booked at once.
    owners: Vec<String>,
    random: StdRng,
    booked: Vec<Arc<Trip>>,
    took: Duration,
    operations: usize,
    checked: usize,
    /// Requests without an answer.
    unknown: usize,
    candidates: usize,
    /// Histories with too many open requests at once.
    undecided: usize,
    outcomes: BTreeMap<&'static str, usize>,
    violations: Vec<String>,
}

impl Race {
    fn new(installations: &[Installation], trips_at_once: usize, random: StdRng) -> Self {
        let mut race = Race {
            processes: Arc::new(installations.iter().map(|one| one.client(Service::Train)).collect()),
            owners: vec![String::new(); trips_at_once],
            random,
            booked: Vec::new(),
            took: Duration::ZERO,
            operations: 0,
            checked: 0,
            unknown: 0,
            candidates: 0,
            undecided: 0,
            outcomes: BTreeMap::new(),
            violations: Vec::new(),
        };
        for number in 0..trips_at_once {
            installations[0].add_user(Service::Train, &owner(number), "12345678");
        }
        race.sign_in(&installations[0]);
        race
    }

    /// Gets new tokens for the owners: a token is valid for ten minutes.
    fn sign_in(&mut self, first: &Installation) {
        for (number, authorization) in self.owners.iter_mut().enumerate() {
            let token = first.printed(&["token", "train", "--user", &owner(number)]);
            *authorization = format!("Bearer {}", token.trim_end());
        }
    }

    /// Lets the clients race for some trips, and checks each history.
    async fn heat(&mut self, trips: &[String], deadline: Instant) {
        let left = Arc::new(AtomicUsize::new(trips.len() * A_TRIP));
        let mut clients = JoinSet::new();
        let first = self.booked.len();
        for (id, owner) in trips.iter().zip(&self.owners) {
            let seats = available(&self.processes[0], owner, id).await;
            let trip = Arc::new(Trip::new(id.clone(), seats, owner.clone()));
            for number in 0..CLIENTS {
                let client = Client {
                    trip: trip.clone(),
                    processes: self.processes.clone(),
                    random: StdRng::seed_from_u64(self.random.random()),
                    left: left.clone(),
                    deadline,
                    name: format!("{id} {number}"),
                    sent: 0,
                    notes: Notes::default(),
                };
                let place = self.booked.len();
                clients.spawn(async move { (place, client.run().await) });
            }
            self.booked.push(trip);
        }
        let mut histories = vec![Vec::new(); trips.len()];
        let mut unknown = vec![0; trips.len()];
        for (place, notes) in clients.join_all().await {
            histories[place - first].extend(notes.history);
            unknown[place - first] += notes.unknown.len();
            self.violations.extend(notes.violations);
        }
        for (place, (history, unknown)) in histories.into_iter().zip(unknown).enumerate() {
            self.operations += history.len() + unknown;
            self.unknown += unknown;
            self.count(&history);
            // Whether a request without an answer took a seat is not known.
            if unknown == 0 {
                self.check(first + place, &history);
            }
        }
    }

    fn check(&mut self, place: usize, history: &[Operation]) {
        let Trip { id, seats, .. } = &*self.booked[place];
        let of_trip = |violation| format!("trip {id} with {seats} seats: {violation}");
        match checker::check(*seats, history) {
            Verdict::Linearizable(candidates) => {
                self.checked += history.len();
                self.candidates = self.candidates.max(candidates);
            }
            Verdict::Impossible(violation) => self.violations.push(of_trip(violation)),
            Verdict::Undecided => self.undecided += 1,
        }
        self.violations.extend(after_expiry(history).into_iter().map(of_trip));
    }

    /// Counts what happened: a race in which no trip was sold out shows nothing.
    fn count(&mut self, history: &[Operation]) {
        for Operation { answer, .. } in history {
            let outcome = match answer {
                Answer::Held { .. } => "held",
                Answer::SoldOut => "sold out",
                Answer::Paid(_) => "paid",
                Answer::Declined(_) => "declined",
                Answer::TooLate(_) | Answer::Is(_, Status::Expired) => "expired",
                Answer::Cancelled(_) => "cancelled",
                _ => "looked at",
            };
            *self.outcomes.entry(outcome).or_default() += 1;
        }
    }

    /// Cancels all that is left: each seat must be free, and each charge refunded.
    async fn end(&mut self, first: &Installation) {
        self.sign_in(first);
        self.violations.extend(charged_twice(first));
        for owner in &self.owners {
            let place =
                Place { prefix: String::new(), authorizations: std::array::from_fn(|_| owner.clone()) };
            let (left, unread) = bookings(&self.processes[0], &place).await;
            self.violations.extend(unread);
            for (id, booking) in left {
                if text(&booking["status"]) != "expired" {
                    let call = self.processes[0].delete(&format!("/bookings/{id}"));
                    let answer = call.header("authorization", owner).send().await;
                    if answer.status != 204 {
                        self.violations.push(format!(
                            "DELETE /bookings/{id}: {} {}",
                            answer.status,
                            answer.text()
                        ));
                    }
                }
            }
        }
        let kept = "SELECT count(*) FROM {}sandbox_charge AS charge JOIN {}payment AS payment ON payment.id = charge.payment_id
            WHERE outcome = 'succeeded' AND refunded_at IS NULL AND owner <> ''
            AND booking_id IN (SELECT id FROM {}booking WHERE status = 'cancelled')";
        let (start, mut pause) = (Instant::now(), interval(Duration::from_millis(50)));
        while count(first, kept) > 0 && start.elapsed() < PATIENCE {
            pause.tick().await;
        }
        let kept = count(first, kept);
        if kept > 0 {
            self.violations.push(format!("{kept} charges of cancelled bookings are not refunded"));
        }
        for trip in &self.booked {
            let free = available(&self.processes[0], &self.owners[0], &trip.id).await;
            if free != trip.seats {
                let (id, seats) = (&trip.id, trip.seats);
                self.violations.push(format!(
                    "trip {id}: {free} of {seats} seats are free after all bookings were cancelled"
                ));
            }
        }
        self.violations.extend(first.check());
    }

    fn line(mut self, torture: &Torture, engine: Engine) -> Line {
        for outcome in ["held", "sold out", "paid", "declined", "expired", "cancelled"] {
            let violation = || format!("no request had the outcome {outcome:?}: {:?}", self.outcomes);
            self.violations.extend(torture.judge(self.outcomes.contains_key(outcome), violation));
        }
        let is_checked = self.checked * 10 > self.operations * 9;
        self.violations.extend(torture.judge(is_checked || !self.violations.is_empty(), || {
            format!(
                "{} requests had no answer, and {} histories were not decided",
                self.unknown, self.undecided
            )
        }));
        let rate = self.operations as f64 / self.took.as_secs_f64();
        let processes = match self.processes.len() {
            1 => "one process".to_owned(),
            number => format!("{number} processes"),
        };
        let outcomes: Vec<_> =
            self.outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
        Line {
            fault: format!(
                "{} clients race for the seats of {} trips through {processes} on {engine:?}",
                self.owners.len() * CLIENTS,
                self.owners.len()
            ),
            must: "each history is linearizable; 0 oversold, 0 leaked, 0 charged twice".to_owned(),
            measured: format!(
                "{} requests ({rate:.0} a second) for {} trips, {} without an answer; {}; {} checked, with at most {} orders at once; {} trips undecided",
                self.operations,
                self.booked.len(),
                self.unknown,
                outcomes.join(", "),
                self.checked,
                self.candidates,
                self.undecided
            ),
            violations: self.violations,
        }
    }
}
