//! Every order of steps on a trip with one seat (book, pay, cancel, wait, crash) up to a number of steps, and longer random
//! orders. After each step the service and the [`model`](super::model) must be in the same state.
//!
//! An action that changes nothing in the model must change nothing in the service. The steps after it are not tried again, since
//! they are equal to those without it.

use std::sync::{Arc, Mutex};

use jiff::SignedDuration;
use serde_json::{Value, json};
use testkit::{Engine, Fixture, parameter};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{
    clients::{SeededRandom, card, id},
    dump::Charge,
    model::{ACTIONS, Action, HOLD, Model},
    process::{Answer, delete, get, post},
    processor::{Break, How},
    stage::{Stage, booking_on},
};

/// `make long-test` has seven.
const DEPTH: usize = 4;
/// `make long-test` has forty.
const RANDOM_ORDERS: u64 = 4;
const LONG: usize = 25;
/// Databases at once.
const STAGES: usize = 6;

#[test]
fn every_order_matches_the_model_on_sqlite() {
    run_every_order(Engine::Sqlite);
}

#[test]
fn every_order_matches_the_model_on_postgres() {
    run_every_order(Engine::Postgres);
}

/// A step, and whether everything that makes no difference is to be tried after it.
type Plan = Vec<(Action, bool)>;

fn run_every_order(engine: Engine) {
    let mut plans = Vec::new();
    let start = Model::new(engine == Engine::Sqlite);
    let depth = parameter("TORTURE_STEPS", DEPTH);
    plan(&start, depth, &mut Vec::new(), &mut plans);
    let exhaustive = plans.len();
    let random_orders = parameter("TORTURE_ORDERS", RANDOM_ORDERS);
    for seed in 0..random_orders {
        let mut random = SeededRandom::new(seed);
        plans.push((0..LONG).map(|_| (ACTIONS[random.below(ACTIONS.len())], false)).collect());
    }
    let steps: usize = plans.iter().map(Vec::len).sum();
    println!(
        "{engine:?}: {exhaustive} orders of up to {depth} steps, {random_orders} of {LONG}, {steps} steps in all"
    );
    let plans = Arc::new(Mutex::new(plans));
    testkit::run(engine, async |_: Nothing| {
        let mut stages = JoinSet::new();
        for _ in 0..STAGES {
            stages.spawn(play(engine, plans.clone()));
        }
        stages.join_all().await;
    });
}

struct Nothing;

impl Fixture for Nothing {
    async fn start(_: Engine) -> Self {
        Nothing
    }
}

/// All longest orders in which every step makes a difference. What makes none is tried once at every point of the tree.
fn plan(model: &Model, depth: usize, steps: &mut Plan, plans: &mut Vec<Plan>) {
    let differs = |action: &Action| model.changes(*action);
    let next: Vec<_> = ACTIONS.into_iter().filter(differs).collect();
    if steps.len() == depth || next.is_empty() {
        plans.push(steps.clone());
        // Actions without an effect are tried only once in each state.
        steps.iter_mut().for_each(|(_, probe)| *probe = false);
        return;
    }
    for action in next {
        let mut after = model.clone();
        after.act(action);
        steps.push((action, true));
        plan(&after, depth, steps, plans);
        steps.pop();
    }
}

async fn play(engine: Engine, plans: Arc<Mutex<Vec<Plan>>>) {
    let mut stage = Stage::start(engine).await;
    loop {
        let Some(plan) = plans.lock().unwrap().pop() else { return };
        let trip = stage.trip().await;
        let mut run = Run {
            trip,
            model: Model::new(engine == Engine::Sqlite),
            bookings: Vec::new(),
            requests: 0,
            last: None,
            done: Vec::new(),
        };
        for (action, probe) in plan {
            run.step(&mut stage, action).await;
            for action in ACTIONS {
                if probe && !run.model.changes(action) {
                    run.step(&mut stage, action).await;
                }
            }
        }
        stage.finish().await;
        let faults = stage.dump().await.faults();
        assert!(faults.is_empty(), "{faults:?} after {:?}", run.done);
        stage.clear().await;
    }
}

struct Run {
    trip: Uuid,
    model: Model,
    bookings: Vec<Uuid>,
    requests: u32,
    /// The last request with a key, and its answer if there was one.
    last: Option<(String, Value, String, Option<Answer>)>,
    done: Vec<Action>,
}

impl Run {
    async fn step(&mut self, stage: &mut Stage, action: Action) {
        self.done.push(action);
        let crashes_at_work = self.model.can_crash_at_work();
        let expected = self.model.act(action);
        let answer = self.act(stage, action, crashes_at_work).await;
        let told = answer.as_ref().map(|answer| {
            let status = answer.body["status"].as_str().filter(|_| answer.status == 200);
            (answer.status, answer.problem.or(status).unwrap_or(""))
        });
        assert_eq!(told, expected, "the answer after {:?} from {:?}", self.done, self.model);
        if action == Action::Book && told == Some((201, "")) {
            self.bookings.push(id(&answer.unwrap().body["id"]));
        }
        self.compare(stage).await;
    }

    async fn act(&mut self, stage: &mut Stage, action: Action, crashes_at_work: bool) -> Option<Answer> {
        let good = "4242424242424242";
        match action {
            Action::Book => {
                let (body, key) = (booking_on(self.trip), self.new_key());
                let answer = stage.call(post("/bookings", &body, Some(&key))).await;
                self.last = Some(("/bookings".into(), body, key, Some(answer.clone())));
                Some(answer)
            }
            Action::PayGood => self.pay(stage, good).await,
            Action::PayDeclined => self.pay(stage, "4000000000000002").await,
            Action::PayPending => self.pay(stage, "4000000000000077").await,
            Action::PayWithCrashBefore => self.pay_with_crash(stage, good, Break::BeforeCharge).await,
            Action::PayWithCrashAfter => self.pay_with_crash(stage, good, Break::AfterCharge).await,
            Action::PayWhileItRunsOut | Action::PayWhileCancelled => {
                let cancels = action == Action::PayWhileCancelled;
                let path = self.bookings.last().map(|booking| format!("/bookings/{booking}"))?;
                stage.script.will(Break::AfterCharge, How::Wait);
                let meanwhile = async {
                    stage.script.reached().await;
                    if cancels {
                        assert_eq!(stage.call(delete(&path)).await.status, 204);
                    } else {
                        stage.wait(SignedDuration::from_secs(HOLD)).await;
                    }
                    stage.script.go_on();
                    std::future::pending::<()>().await;
                };
                let answer = tokio::select! {
                    () = meanwhile => None,
                    answer = self.pay(stage, good) => answer,
                };
                stage.script.clear();
                answer
            }
            Action::Cancel => {
                let booking = self.bookings.last()?;
                Some(stage.call(delete(&format!("/bookings/{booking}"))).await)
            }
            Action::WaitForPending => self.wait(stage, 6).await,
            Action::WaitAMinute => self.wait(stage, 61).await,
            Action::RunOut => self.wait(stage, HOLD).await,
            Action::Work => {
                stage.work().await;
                None
            }
            Action::WorkWithCrash if crashes_at_work => {
                let done = stage.crash_during(Break::AfterRefund, async |stage| stage.work().await).await;
                assert_eq!(done, None, "nothing was refunded after {:?}", self.done);
                None
            }
            Action::WorkWithCrash => {
                stage.work().await;
                None
            }
            Action::Replay => {
                let (path, body, key, first) = self.last.clone()?;
                let answer = stage.call(post(&path, &body, Some(&key))).await;
                if let Some(first) = first {
                    assert_eq!(answer, first, "another answer to the same request after {:?}", self.done);
                }
                Some(answer)
            }
        }
    }

    async fn wait(&self, stage: &Stage, seconds: i64) -> Option<Answer> {
        stage.wait(SignedDuration::from_secs(seconds)).await;
        None
    }

    fn new_key(&mut self) -> String {
        self.requests += 1;
        format!("{} {}", self.trip, self.requests)
    }

    async fn pay(&mut self, stage: &Stage, number: &str) -> Option<Answer> {
        let (path, body, key) = self.payment(number)?;
        let answer = stage.call(post(&path, &body, Some(&key))).await;
        self.last = Some((path, body, key, Some(answer.clone())));
        Some(answer)
    }

    async fn pay_with_crash(&mut self, stage: &mut Stage, number: &str, at: Break) -> Option<Answer> {
        let (path, body, key) = self.payment(number)?;
        let request = post(&path, &body, Some(&key));
        let answer = stage.crash_during(at, async |stage| stage.call(request).await).await;
        self.last = Some((path, body, key, answer.clone()));
        answer
    }

    fn payment(&mut self, number: &str) -> Option<(String, Value, String)> {
        let booking = self.bookings.last()?;
        Some((format!("/bookings/{booking}/payment"), json!({"source": card(number)}), self.new_key()))
    }

    async fn compare(&self, stage: &Stage) {
        let model = &self.model;
        let context = || format!("after {:?} from {model:?}", self.done);
        for (number, booking) in self.bookings.iter().enumerate() {
            let found = stage.call(get(&format!("/bookings/{booking}"))).await;
            assert_eq!(found.body["status"].as_str(), model.looks(number), "booking {number} {}", context());
        }
        let trip = stage.call(get(&format!("/trips/{}", self.trip))).await;
        assert_eq!(trip.body["seats_available"].as_i64(), Some(model.available()), "seats {}", context());
        let dump = stage.dump().await;
        let number = |booking: &Uuid| self.bookings.iter().position(|found| found == booking);
        let charge = |charge: &Charge| (charge.outcome.clone(), charge.refunded);
        let mut found: Vec<_> = dump
            .payments
            .iter()
            .map(|(id, (booking, stage))| {
                (number(booking).unwrap(), stage.clone(), dump.charges.get(id).map(charge))
            })
            .collect();
        // In some order: they may have been made at the same moment.
        found.sort();
        let mut expected: Vec<_> = model
            .payments
            .iter()
            .map(|payment| {
                let charge = payment.charge.map(|(outcome, _, refunded)| (outcome.to_owned(), refunded));
                (payment.booking, payment.stage.to_owned(), charge)
            })
            .collect();
        expected.sort();
        assert_eq!(found, expected, "payments {}", context());
        assert_eq!(dump.miscounted(), Vec::<String>::new(), "{}", context());
    }
}
