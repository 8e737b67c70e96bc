//! One trip after another with a single seat each, a clock to move, and a service that crashes where a test says.

use std::sync::Arc;

use jiff::{SignedDuration, ToSpan, tz::TimeZone};
use serde_json::{Value, json};
use testkit::{Engine, Fixture, Store};
use train::{Sandbox, Timetable};
use uuid::Uuid;
use web::Clock;

use super::{
    clients::id,
    dump::Dump,
    process::{Answer, Call, HOLD, Process, Users, get, open_db},
    processor::{Fragile, How, Script},
};

const TRAINS: usize = 100;
const BERLIN: &str = "efdbb9d1-02c2-4bc3-afb7-6788d8782b1e";
const PARIS: &str = "b2e783e1-c824-4d63-b37a-d8d698862f1d";

pub(crate) struct Stage {
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
    pub(crate) script: Script,
    pub(crate) users: Users,
    process: Process,
    trips: Vec<Uuid>,
    days: i32,
    // Last, so that it is still there when the database is closed.
    _store: Store,
}

impl Fixture for Stage {
    async fn start(engine: Engine) -> Self {
        let store = Store::new(engine);
        let clock = Clock::manual("2026-03-02T12:00:00Z".parse().unwrap());
        let script = Script::default();
        let process = start(open_db(&store), &clock, &script).await;
        let users = Users::new(&process.db, &clock, 1).await;
        Stage { engine, clock, script, users, process, trips: Vec::new(), days: 0, _store: store }
    }
}

async fn start(db: db::Db, clock: &Clock, script: &Script) -> Process {
    let sandbox = Sandbox::new(db.clone(), clock.clone());
    let processor = Box::new(Fragile { sandbox, script: script.clone() });
    Process::start_with(processor, db, clock, timetable()).await
}

/// Trains with one seat each.
fn timetable() -> Arc<Timetable> {
    let head = "number\toperator\torigin\tdestination\tdeparts\tminutes\tdays\tprice\tcurrency\tbicycles\tdogs\tseats";
    let train =
        |number| format!("T {number}\tTest\tberlin-hbf\tparis-nord\t12:00\t60\t1234567\t20.00\tEUR\t1\t1\t1");
    let table: Vec<_> = std::iter::once(head.to_owned()).chain((0..TRAINS).map(train)).collect();
    Arc::new(Timetable::of_services(&table.join("\n")).unwrap())
}

impl Stage {
    /// A trip without bookings.
    pub(crate) async fn trip(&mut self) -> Uuid {
        if self.trips.is_empty() {
            // Another day each time, and never one that has passed.
            self.days = self.days % 80 + 1;
            let today = TimeZone::UTC.to_datetime(self.clock.now()).date();
            let date = today + self.days.days();
            let path = format!("/trips?origin={BERLIN}&destination={PARIS}&date={date}&limit=100");
            let found = self.call(get(&path)).await;
            let trips = found.body["data"].as_array().unwrap_or_else(|| panic!("{found:?}"));
            self.trips = trips.iter().map(|trip| id(&trip["id"])).collect();
        }
        self.trips.pop().expect("trips that are not booked")
    }

    pub(crate) async fn call(&self, call: Call<'_>) -> Answer {
        self.process.call(&self.users.token(0), call).await
    }

    /// Moves the clock. Tokens last longer than it moves at once, and are renewed each time.
    pub(crate) async fn wait(&self, by: SignedDuration) {
        self.clock.advance(by);
        self.users.renew().await;
    }

    /// Does the work that is due, as the background task does.
    pub(crate) async fn work(&self) {
        self.process.train.do_due_work().await.unwrap();
    }

    pub(crate) async fn try_to_work(&self) -> Result<(), train::SettleError> {
        self.process.train.do_due_work().await
    }

    /// Runs this until the processor reaches its crash point, and crashes there; otherwise to its end.
    pub(crate) async fn crash_during<T>(
        &mut self,
        at: super::processor::Break,
        work: impl AsyncFnOnce(&Stage) -> T,
    ) -> Option<T> {
        self.script.will(at, How::Crash);
        let done = tokio::select! {
            biased;
            () = self.script.reached() => None,
            done = work(self) => Some(done),
        };
        self.script.clear();
        if done.is_none() {
            self.restart().await;
        }
        done
    }

    /// Replaces the process by a new one on the same database.
    pub(crate) async fn restart(&mut self) {
        self.process = start(self.process.db.clone(), &self.clock, &self.script).await;
    }

    pub(crate) async fn dump(&self) -> Dump {
        Dump::of(&self.process.db).await
    }

    /// Lets every hold expire, and settles every payment.
    pub(crate) async fn finish(&self) {
        self.wait(HOLD).await;
        for _ in 0..5 {
            self.work().await;
            if Dump::unsettled(&self.process.db).await == 0 {
                return;
            }
            self.wait(SignedDuration::from_secs(61)).await;
        }
        panic!("payments are not settled");
    }

    /// Forgets everything that was booked.
    pub(crate) async fn clear(&self) {
        let cleared: Result<_, db::Error> = self
            .process
            .db
            .write(|tx| {
                tx.execute("DELETE FROM idempotency", &[])?;
                tx.execute("DELETE FROM sandbox_charge", &[])?;
                tx.execute("DELETE FROM payment", &[])?;
                tx.execute("DELETE FROM booking", &[])?;
                tx.execute("DELETE FROM trip_seats", &[])
            })
            .await;
        cleared.unwrap();
    }

    pub(crate) fn db(&self) -> &db::Db {
        &self.process.db
    }
}

pub(crate) fn booking_on(trip: Uuid) -> Value {
    json!({"trip_id": trip, "passenger_name": "Ada"})
}
