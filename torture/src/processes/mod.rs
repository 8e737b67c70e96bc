//! Three processes on one PostgreSQL, each behind a proxy and with a clock of its own, while clients write through all of them.
//!
//! One fault comes after another. After each, what was written meanwhile is read again through any process, and requests with a key are
//! sent again to another one. At the end everything is read again, and the events of all bookings must have been delivered.

mod clock;
mod end;
mod events;
mod fault;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use clock::{Clock, ahead};
use end::may_expire;
use events::Events;
use fault::{BYTES_PER_SECOND, Fault, HOUR, LATENCY, Table, signal};
use rand::{RngExt, rngs::StdRng};
use rustix::process::Signal;
use serde_json::json;
use testkit::{Call, Engine, Program, Proxy};
use tokio::{
    runtime::Runtime,
    time::{interval, timeout},
};

use crate::{
    Add, Torture,
    installation::{Installation, Service, terminate},
    load::{
        BASIC, FEW_SEATS, Keyed, MANY_SEATS, PATIENCE, Place, Promise, Round, Target, available, broken,
        repeat, trips, without_sign_in,
    },
    preload,
    report::Line,
};

/// How long all processes may take until they are back after a fault.
const SOON: Duration = Duration::from_secs(10);

pub(crate) fn run(torture: &Torture, add: Add<'_>) {
    let runtime = Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut run = Run::start(torture).await;
        let deadline = torture.deadline(Duration::from_secs(130));
        for pass in 0..torture.size(2, 1) {
            let faults = if torture.short { Fault::some } else { Fault::all };
            for fault in faults(&mut run.random) {
                // Each kind at least once.
                if pass == 0 || Instant::now() < deadline {
                    run.suffer(torture, fault).await;
                }
            }
        }
        let end = run.at_the_end(torture).await;
        for (fault, seen) in std::mem::take(&mut run.seen) {
            let fault::Seen { times, written, meanwhile, back, mut violations } = seen;
            violations.extend(torture.judge(back <= SOON, || format!("back only after {back:.2?}")));
            let lasts = fault.lasts().filter(|_| !torture.short);
            add(Line {
                fault: format!("{}{}", fault.text(), lasts.map_or(String::new(), |time| format!(" for {time:?}"))),
                must: "0 acknowledged writes lost, 0 doubled, `triptych check` passes, all ready and writing within 10 s"
                    .to_owned(),
                measured: format!(
                    "{times} times, {written} written resources, {meanwhile} writes meanwhile, back after at most {back:.2?}"
                ),
                violations,
            });
        }
        add(end);
        terminate(run.processes.into_iter().map(|process| process.program).collect());
    });
}

/// One of the three.
struct Process {
    program: Program,
    proxy: Proxy,
    clock: Clock,
}

struct Run {
    /// The database, and the processes that are reached at addresses of their own.
    primary: Installation,
    installations: Vec<Installation>,
    processes: Vec<Process>,
    place: Arc<Place>,
    trips: Arc<Vec<String>>,
    /// The seats of the trips with few of them.
    seats: HashMap<String, i64>,
    events: Events,
    random: StdRng,
    promises: Vec<Promise>,
    unanswered: Vec<Keyed>,
    seen: Table,
    rounds: usize,
}

impl Run {
    async fn start(torture: &Torture) -> Self {
        let mut random = torture.random("processes");
        let mut primary = Installation::new(torture, Engine::Postgres, "processes", &mut random);
        preload::clock(&mut primary);
        // Shorter than a process is stopped, so that another one takes over what it was sending.
        primary.set("TRIPTYCH_TRAIN_WEBHOOK_LEASE_SECONDS", torture.size("20", "8"));
        // A process waits this long for a database that is silent.
        primary.set("TRIPTYCH_LIMITS_DATABASE_SECONDS", torture.size("5", "2"));
        primary.share_addresses();
        let (mut installations, mut processes) = (Vec::new(), Vec::new());
        for number in 0..3 {
            let proxy = Proxy::forwarding(primary.postgres().address());
            let url = primary.postgres().url_at(proxy.address());
            let mut installation = primary.another(url, &mut random);
            let clock = Clock::of(&mut installation, number);
            let (program, _) = installation.start();
            processes.push(Process { program, proxy, clock });
            installations.push(installation);
        }
        let first = &installations[0];
        // Tokens would be rejected where the clock is wrong.
        let control = primary.printed(&["sandbox", "token"]);
        let place = Arc::new(without_sign_in(first, "", control.trim_end()).await);
        let few = trips(first, BASIC, FEW_SEATS, torture.size(10, 2)).await;
        let train = first.client(Service::Train);
        let mut seats = HashMap::new();
        for trip in &few {
            seats.insert(trip.clone(), available(&train, BASIC, trip).await);
        }
        let mut all = few;
        for pair in MANY_SEATS {
            all.extend(trips(first, BASIC, pair, torture.size(10, 2)).await);
        }
        let events = Events::subscribe(&train).await;
        Run {
            primary,
            installations,
            processes,
            place,
            trips: Arc::new(all),
            seats,
            events,
            random,
            promises: Vec::new(),
            unanswered: Vec::new(),
            seen: Table::new(),
            rounds: 0,
        }
    }

    /// Lets a fault happen while clients write, and checks what they wrote.
    async fn suffer(&mut self, torture: &Torture, fault: Fault) {
        let Run { place, installations, trips, .. } = self;
        let places = std::slice::from_ref(&*place);
        let target = Target { places, processes: installations, trips, goes_on: true };
        let mut round = Round::begin(&target, &format!("r{}", self.rounds), &mut self.random);
        let mut found = Vec::new();
        found.extend(round.wait_for(self.random.random_range(20..torture.size(200, 40))).await);
        let before = round.acknowledged();
        let which = self.random.random_range(0..self.processes.len());
        found.extend(self.begin(fault, which).await);
        match fault.lasts().filter(|_| !torture.short) {
            Some(time) => _ = timeout(time, std::future::pending::<()>()).await,
            // PostgreSQL is back.
            None if matches!(fault, Fault::RestartPostgres | Fault::CrashPostgres) => {}
            // The other processes go on meanwhile.
            None => found.extend(round.wait_for(20).await),
        }
        let meanwhile = round.acknowledged() - before;
        let start = Instant::now();
        self.end(fault, which);
        found.extend(self.come_back().await);
        let back = start.elapsed();
        found.extend(round.wait_for(20).await);
        let clients: Vec<_> = self.installations.iter().map(Installation::clients).collect();
        let before = self.promises.len();
        for notes in round.end().await {
            found.extend(notes.violations);
            self.promises.extend(notes.promises);
            for keyed in notes.keyed {
                let through = &clients[self.random.random_range(0..clients.len())];
                found.extend(repeat(&through[Service::Train as usize], &keyed, true).await);
                self.unanswered.extend(keyed.answer.is_none().then_some(keyed));
            }
        }
        self.promises[before..].iter_mut().for_each(may_expire);
        let through = &clients[self.random.random_range(0..clients.len())];
        found.extend(broken(through, &self.promises[before..]).await);
        found.extend(self.primary.check());
        let (seen, number) = (self.seen.entry(fault).or_default(), self.rounds);
        seen.times += 1;
        seen.written += self.promises.len() - before;
        seen.meanwhile += meanwhile;
        seen.back = seen.back.max(back);
        seen.violations
            .extend(found.into_iter().map(|text| format!("round {number}, process {which}: {text}")));
        self.rounds += 1;
    }

    /// Begins a fault of a process, or of the database.
    async fn begin(&mut self, fault: Fault, which: usize) -> Option<String> {
        let Process { program, proxy, clock } = &mut self.processes[which];
        match fault {
            Fault::Kill => signal(program.id(), Signal::KILL),
            Fault::Stop => signal(program.id(), Signal::STOP),
            Fault::RestartPostgres => {
                self.primary.postgres().stop();
                self.primary.postgres().restart().expect("PostgreSQL starts");
            }
            Fault::CrashPostgres => {
                self.primary.postgres().kill();
                self.primary.postgres().restart().expect("PostgreSQL recovers");
            }
            Fault::Cut => proxy.cut(),
            Fault::Silence => proxy.swallow(),
            Fault::Slow => proxy.slow_down(LATENCY, BYTES_PER_SECOND),
            Fault::ClockAhead | Fault::ClockBehind => {
                let seconds = if fault == Fault::ClockAhead { HOUR } else { -HOUR };
                clock.step(seconds);
                let ahead = ahead(&self.installations[which].client(Service::Train)).await;
                let is_stepped = ahead.is_some_and(|ahead| (ahead - seconds).abs() < 60);
                return (!is_stepped).then(|| format!("the clock is {ahead:?} s ahead, not {seconds} s"));
            }
        }
        None
    }

    /// Ends it.
    fn end(&mut self, fault: Fault, which: usize) {
        let Process { program, proxy, clock } = &mut self.processes[which];
        match fault {
            Fault::Kill => *program = self.installations[which].start().0,
            Fault::Stop => signal(program.id(), Signal::CONT),
            Fault::RestartPostgres | Fault::CrashPostgres => {}
            Fault::Cut | Fault::Silence => proxy.forward(),
            Fault::Slow => proxy.speed_up(),
            Fault::ClockAhead | Fault::ClockBehind => clock.step(0),
        }
    }

    /// Waits until each process is ready, and has stored an order and a booking.
    async fn come_back(&self) -> Option<String> {
        let mut pause = interval(Duration::from_millis(10));
        for (number, installation) in self.installations.iter().enumerate() {
            let [petstore, train, _] = installation.clients();
            let trip = self.trips.last().expect("a trip with many seats");
            let booking =
                json!({"trip_id": trip, "passenger_name": format!("back {}-{number}", self.rounds)});
            let key = format!("back {}-{number}", self.rounds);
            let order = json!({"petId": 1, "quantity": 1});
            let writes = async {
                let is_done = async |call: Call| {
                    timeout(SOON, call.try_send())
                        .await
                        .is_ok_and(|answer| answer.is_ok_and(|answer| answer.status < 300))
                };
                while !is_done(petstore.post("/v3/store/order").json(&order)).await {
                    pause.tick().await;
                }
                while !is_done(train.post("/bookings").header("idempotency-key", &key).json(&booking)).await {
                    pause.tick().await;
                }
            };
            if !installation.becomes_ready(PATIENCE).await || timeout(PATIENCE, writes).await.is_err() {
                return Some(format!("process {number} does not come back within {PATIENCE:?}"));
            }
        }
        None
    }
}
