//! The program or its database is stopped again and again, while clients write at the root and in a sandbox.
//!
//! Each client notes what the answers to its writes promise. After each restart everything that was written since the one before
//! is read again, and at the end everything that was ever written: what is lost once stays lost.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rand::{RngExt, rngs::StdRng};
use serde_json::json;
use testkit::Program;

use super::{
    BASIC, MANY_SEATS, PATIENCE, Round, Target, bookings, doubled,
    promise::{Place, Promise, broken},
    repeat, trips, without_sign_in,
    writer::Notes,
};
use crate::{
    Torture,
    installation::{Installation, Service},
    report::Line,
};

/// How long the program may take to be ready again.
const SOON: Duration = Duration::from_secs(2);
const SANDBOX: &str = "torture";

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
        let mut found = Vec::new();
        for pair in MANY_SEATS {
            found.extend(trips(&installation, &train, pair, 50).await);
        }
        let root = Place { prefix: String::new(), authorizations: [petstore, train, BASIC.to_owned()] };
        let places = [root, sandbox(&installation).await].map(Arc::new);
        let run = Run {
            installation,
            places,
            trips: Arc::new(found),
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
            let round = self.begin().await;
            program.kill();
            let notes = round.end().await;
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
            let round = self.begin().await;
            self.installation.postgres().kill();
            let notes = round.end().await;
            self.installation.postgres().restart().expect("PostgreSQL recovers");
            let start = Instant::now();
            if !self.installation.becomes_ready(PATIENCE).await {
                self.violations.push(format!("round {}: /readyz does not recover", self.rounds));
            }
            self.ready.push(start.elapsed());
            self.verify(notes).await;
        }
    }

    /// Starts the clients of a round, and waits for a number of acknowledged writes that is never the same, so that each client is in the
    /// middle of something. On a fast machine the quick clients would have written all of them while the program still checks the
    /// password of the others: a try that a kill ends counts as one with a wrong password.
    async fn begin(&mut self) -> Round {
        let Run { places, trips, installation, .. } = self;
        let processes = std::slice::from_ref(&*installation);
        let target = Target { places, processes, trips, goes_on: false };
        let name = format!("{}-{}", self.promises.len(), self.rounds);
        let mut round = Round::begin(&target, &name, &mut self.random);
        let enough = self.random.random_range(1..150);
        let mut violation = round.wait_for_all().await;
        if violation.is_none() {
            violation = round.wait_for(enough).await;
        }
        self.violations.extend(violation.map(|text| format!("round {}: {text}", self.rounds)));
        round
    }

    /// Checks what a round has written.
    async fn verify(&mut self, notes: Vec<Notes>) {
        let first = self.promises.len();
        let mut found = Vec::new();
        let clients = self.installation.clients();
        for note in notes {
            found.extend(note.violations);
            self.promises.extend(note.promises);
            for keyed in note.keyed {
                found.extend(repeat(&clients[Service::Train as usize], &keyed, true).await);
            }
        }
        found.extend(broken(&clients, &self.promises[first..]).await);
        found.extend(self.installation.check());
        self.acknowledged += self.promises.len() - first;
        let round = self.rounds;
        self.violations.extend(found.into_iter().map(|violation| format!("round {round}: {violation}")));
        self.rounds += 1;
    }

    /// The line of all rounds so far, after everything was read once more.
    pub(crate) async fn line(&mut self, torture: &Torture, fault: &str) -> Line {
        let mut violations = std::mem::take(&mut self.violations);
        violations.extend(
            broken(&self.installation.clients(), &self.promises)
                .await
                .into_iter()
                .map(|text| format!("at the end: {text}")),
        );
        for place in &self.places {
            let (stored, unread) = bookings(&self.installation.client(Service::Train), place).await;
            violations.extend(unread);
            violations.extend(doubled(&stored, place));
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
    without_sign_in(installation, &format!("/sandbox/{SANDBOX}"), &token).await
}
