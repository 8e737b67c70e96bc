//! Outcomes that arrive before a sweep, twice, or too late, and how [`super::settle`] handles them.

use service::Instance;
use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use db::Db;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use testkit::{Client, Engine, Fixture, Server, Store};
use uuid::Uuid;
use web::{Clock, ConnectionLimits, Random};
use webhooks::NewEvent;

use super::{
    Failure, MaskedSource,
    account::{AccountType, MaskedBankAccount},
    processor::{Charge, Outcome, Processor, ProcessorUnavailable},
    sandbox::Sandbox,
    store::{self, Now, Payment, Stage},
};
use crate::{
    Settings, Timetable, Train,
    booking::{self, NewBooking},
    idempotency::Answer,
    trip,
};

const TRIP: &str = "2f87bac9-12fc-8000-80a8-ac0100005071";
const OWNER: &str = "ada";

/// A booking that is held until eleven, and a payment for it that the processor is being asked about.
struct Asked {
    train: Train,
    clock: Clock,
    booking: Uuid,
    payment: Uuid,
    _store: Store,
}

impl Fixture for Asked {
    async fn start(engine: Engine) -> Self {
        Asked::with(Store::new(engine), |db, clock| Box::new(Sandbox::new(db, clock))).await
    }
}

impl Asked {
    async fn with(store: Store, processor: impl FnOnce(Db, Clock) -> Box<dyn Processor>) -> Self {
        let clock = Clock::manual("2026-05-13T10:00:00Z".parse().unwrap());
        let db = store.open("train", crate::MIGRATIONS);
        let (timetable, processor) = (Timetable::built_in().unwrap(), processor(db.clone(), clock.clone()));
        let instance = Instance::new(db, clock.clone(), Random::system()).at("https://trains.example");
        let train = Train::open_with(Settings::default(), timetable, processor, instance).await.unwrap();
        let (now, booking, payment) = (clock.now(), Uuid::from_u128(1), Uuid::from_u128(2));
        let state = train.clone();
        let written = train.db.write(move |tx| {
            let new = NewBooking {
                trip_id: TRIP.parse().unwrap(),
                passenger_name: "Ada".into(),
                has_bicycle: false,
                has_dog: false,
            };
            assert!(matches!(
                state.book(tx, OWNER, (booking, &NewEvent { id: Uuid::nil(), trace: None }), &new, now)?,
                Answer::Done(_)
            ));
            let source = MaskedSource::BankAccount(MaskedBankAccount {
                name: "Ada".into(),
                number: "*2345".into(),
                sort_code: None,
                account_type: AccountType::Company,
                bank_name: "Bank".into(),
                country: "gb".into(),
            });
            let (amount, currency) = ("89.00".parse().unwrap(), "eur".to_owned());
            let (stage, failure) = (Stage::Processing, None);
            let attempt = Payment { id: payment, booking, amount, currency, source, stage, failure };
            store::start(tx, OWNER, &attempt, state.lease_now())
        });
        assert!(written.await.unwrap_or_else(|error: db::Error| panic!("{error}")));
        Asked { train, clock, booking, payment, _store: store }
    }

    /// Settles the payment with this outcome; returns whether the answer to the client is a payment.
    async fn settle(&self, outcome: Outcome) -> bool {
        matches!(self.train.settle(self.payment, outcome).await.unwrap(), Answer::Done(_))
    }

    /// The status of the booking, the stage of the payment, and the number of taken seats.
    async fn state(&self) -> (Option<booking::Status>, Stage, i64) {
        let (booking, payment, now) = (self.booking, self.payment, self.clock.now());
        let read = self.train.db.snapshot(move |tx| {
            let status =
                booking::store::by_id_at(tx, OWNER, booking, now)?.found.map(|booking| booking.status);
            let stage = store::by_id(tx, payment)?.unwrap().stage;
            Ok((status, stage, trip::store::taken(tx, TRIP.parse().unwrap(), now)?.found))
        });
        read.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
    }

    async fn cancel(&self) {
        let (booking, now) = (self.booking, self.clock.now());
        let cancel =
            move |tx: &mut db::WriteTx<'_>| crate::cancellation::cancel(tx, OWNER, booking, &|_| false, now);
        let cancelled = self.train.db.write(cancel).await;
        let cancelled = cancelled.unwrap_or_else(|error: db::Error| panic!("{error}"));
        assert!(matches!(cancelled, crate::cancellation::Cancelled::Done));
    }

    fn move_to(&self, moment: &str) {
        self.clock.advance(moment.parse::<Timestamp>().unwrap().duration_since(self.clock.now()));
    }
}

testkit::on_both_engines! {
    async fn success_before_the_hold_expires_confirms_the_booking(asked: Asked) {
        asked.move_to("2026-05-13T10:59:59.999999Z");
        assert!(asked.settle(Outcome::Succeeded).await);
        let confirmed = (Some(booking::Status::Confirmed), Stage::Succeeded, 1);
        assert_eq!(asked.state().await, confirmed);
        // Later outcomes do not change it.
        for late in [Outcome::Succeeded, Outcome::Failed(Failure::ExpiredCard), Outcome::Pending(asked.clock.now())]
        {
            assert!(asked.settle(late).await);
            assert_eq!(asked.state().await, confirmed);
        }
    }

    async fn success_after_the_hold_expired_is_refunded_before_a_sweep(asked: Asked) {
        asked.move_to("2026-05-13T11:00:00Z");
        assert!(!asked.settle(Outcome::Succeeded).await);
        assert_eq!(asked.state().await, (Some(booking::Status::Expired), Stage::Refunded, 0));
        assert!(!asked.settle(Outcome::Succeeded).await);
        assert_eq!(asked.state().await, (Some(booking::Status::Expired), Stage::Refunded, 0));
    }

    async fn success_for_a_cancelled_booking_is_refunded(asked: Asked) {
        asked.cancel().await;
        assert!(!asked.settle(Outcome::Succeeded).await);
        assert_eq!(asked.state().await, (None, Stage::Refunded, 0));
    }

    async fn failure_does_not_change_the_booking(asked: Asked) {
        assert!(asked.settle(Outcome::Failed(Failure::CardDeclined)).await);
        let failed = (Some(booking::Status::Held), Stage::Failed, 1);
        assert_eq!(asked.state().await, failed);
        assert!(asked.settle(Outcome::Succeeded).await);
        assert_eq!(asked.state().await, failed, "what was decided stays so");
        let payment = asked.payment;
        let stored = asked.train.db.read(move |tx| store::by_id(tx, payment)).await.unwrap();
        assert_eq!(stored.unwrap().failure, Some(Failure::CardDeclined));
    }

    async fn pending_payment_is_checked_again(asked: Asked) {
        let later = asked.clock.now() + SignedDuration::from_secs(5);
        assert!(asked.settle(Outcome::Pending(later)).await);
        assert_eq!(asked.state().await, (Some(booking::Status::Held), Stage::Pending, 1));
        let next = asked.train.db.read(store::upcoming).await.unwrap();
        assert_eq!(next, (Some(later), None));
        assert!(asked.settle(Outcome::Succeeded).await);
        assert_eq!(asked.state().await, (Some(booking::Status::Confirmed), Stage::Succeeded, 1));
        assert_eq!(asked.train.db.read(store::upcoming).await.unwrap(), (None, None));
    }

    async fn claimed_payment_is_leased_to_one_process(asked: Asked) {
        let claim = async || {
            let now = asked.train.lease_now();
            let claimed = asked.train.db.write(move |tx| store::claim(tx, now)).await;
            claimed.unwrap_or_else(|error: db::Error| panic!("{error}")).map(|payment| payment.id)
        };
        // The process that asked the processor has a lease of a minute to store the outcome.
        asked.move_to("2026-05-13T10:00:59.999999Z");
        assert_eq!(claim().await, None);
        asked.move_to("2026-05-13T10:01:00Z");
        assert_eq!(claim().await, Some(asked.payment));
        assert_eq!(claim().await, None);
        asked.move_to("2026-05-13T10:01:29.999999Z");
        assert_eq!(claim().await, None);
        asked.move_to("2026-05-13T10:01:30Z");
        assert_eq!(claim().await, Some(asked.payment));
    }

    async fn lease_of_a_payment_does_not_depend_on_a_moved_clock(asked: Asked) {
        let claim = async |service: &str, machine: &str| {
            let now = Now { service: service.parse().unwrap(), machine: machine.parse().unwrap() };
            let claimed = asked.train.db.write(move |tx| store::claim(tx, now)).await;
            claimed.unwrap_or_else(|error: db::Error| panic!("{error}")).map(|payment| payment.id)
        };
        // Advanced: the process that asked the processor still has its minute.
        assert_eq!(claim("2026-05-14T10:00:00Z", "2026-05-13T10:00:59Z").await, None);
        // Frozen.
        assert_eq!(claim("2026-05-13T10:00:00Z", "2026-05-13T10:01:00Z").await, Some(asked.payment));
        assert_eq!(claim("2026-05-13T10:00:00Z", "2026-05-13T10:01:29Z").await, None);
        // Set back.
        assert_eq!(claim("2026-05-12T10:00:00Z", "2026-05-13T10:01:30Z").await, Some(asked.payment));
    }

    async fn payment_of_a_cancelled_confirmed_booking_is_refunded(asked: Asked) {
        assert!(asked.settle(Outcome::Succeeded).await);
        asked.cancel().await;
        assert_eq!(asked.state().await, (None, Stage::Refunding, 0));
        asked.train.do_due_work().await.unwrap();
        assert_eq!(asked.state().await, (None, Stage::Refunded, 0));
    }

    async fn sweeper_that_panics_is_restarted(store: Store) {
        let broken = Arc::new(AtomicBool::new(true));
        let processor = |db, clock| -> Box<dyn Processor> {
            Box::new(Unsteady { broken: broken.clone(), sandbox: Sandbox::new(db, clock) })
        };
        let asked = Asked::with(store, processor).await;
        let router = asked.train.app();
        let server = Server::start(ConnectionLimits::default(), |_| router).await;
        let client = Client::new(server.address());
        let ready = async || client.get("/readyz").send().await;
        let running = tokio::spawn(asked.train.clone().run(pending()));
        ready().await.has_status(200);
        // The sweeper asks for the outcome of the payment.
        asked.move_to("2026-05-13T10:01:00Z");
        testkit::until(async || ready().await.status != 200).await;
        let down = ready().await;
        let detail = "A background task of this service is down, and is started again: sweeper.";
        assert_eq!(down.is_problem(503, "unavailable"), detail);
        broken.store(false, SeqCst);
        asked.move_to("2026-05-13T10:01:30Z");
        testkit::until(async || asked.state().await.1 != Stage::Processing).await;
        assert_eq!(ready().await.has_status(200).text(), "ready\n");
        assert!(matches!(asked.state().await, (Some(booking::Status::Held), Stage::Failed, 1)));
        assert!(!running.is_finished());
        running.abort();
    }
}

/// The interleaving in which a removal that locks payments first would deadlock: a settlement has locked the booking, the removal
/// waits for it, and the settlement goes on to the payment.
#[tokio::test]
async fn removal_waits_for_a_settlement_before_it_locks_payments() {
    let asked = Asked::start(Engine::Postgres).await;
    // An expired booking's row is locked by nothing that frees seats.
    asked.move_to("2026-05-13T11:00:00Z");
    let (db, booking, payment, now) = (&asked.train.db, asked.booking, asked.payment, asked.clock.now());
    db.write(move |tx| trip::store::expire(tx, TRIP.parse().unwrap(), now)).await.unwrap();
    let (locked, mut is_locked) = tokio::sync::mpsc::unbounded_channel();
    let settle = db.write(move |tx| {
        booking::store::lock(tx, booking)?;
        locked.send(()).unwrap();
        let waiting =
            "SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid";
        while tx.row(waiting, &[], |_| Ok(()))?.is_none() {}
        // Fails at once if the removal has locked it.
        tx.row("SELECT 1 FROM payment WHERE id = $1 FOR UPDATE NOWAIT", &[payment.into()], |_| Ok(()))?;
        store::settle(tx, payment, &Outcome::Failed(Failure::CardDeclined), now)
    });
    let remove = async {
        is_locked.recv().await.unwrap();
        db.write(|tx| crate::removal::remove(tx, OWNER)).await
    };
    let (settled, removed) = tokio::join!(settle, remove);
    let settled = settled.unwrap_or_else(|error: db::Error| panic!("{error}"));
    let settled = settled.unwrap();
    assert_eq!((settled.stage, settled.failure), (Stage::Failed, Some(Failure::CardDeclined)));
    removed.unwrap_or_else(|error: db::Error| panic!("{error}"));
}

/// The interleaving in which a booking would be confirmed whose payment is refunded: two processes settle the same payment, and for the
/// clock of one of them the hold has expired.
#[tokio::test]
async fn payment_that_another_process_refunds_does_not_confirm_the_booking() {
    let asked = Asked::start(Engine::Postgres).await;
    let (db, booking, payment, now) = (&asked.train.db, asked.booking, asked.payment, asked.clock.now());
    let (locked, mut is_locked) = tokio::sync::mpsc::unbounded_channel();
    let late = db.write(move |tx| {
        booking::store::lock(tx, booking)?;
        locked.send(()).unwrap();
        let waiting =
            "SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid";
        while tx.row(waiting, &[], |_| Ok(()))?.is_none() {}
        store::settle(tx, payment, &Outcome::Succeeded, now + SignedDuration::from_hours(1))
    });
    let in_time = async {
        is_locked.recv().await.unwrap();
        db.write(move |tx| store::settle(tx, payment, &Outcome::Succeeded, now)).await
    };
    let (late, in_time) = tokio::join!(late, in_time);
    for settled in [late, in_time] {
        let settled = settled.unwrap_or_else(|error: db::Error| panic!("{error}"));
        assert_eq!(settled.unwrap().stage, Stage::Refunding);
    }
    assert_eq!(asked.state().await, (Some(booking::Status::Held), Stage::Refunding, 1));
}

/// A processor whose library panics while it is broken.
struct Unsteady {
    broken: Arc<AtomicBool>,
    sandbox: Sandbox,
}

impl Processor for Unsteady {
    fn charge<'a>(&'a self, charge: &'a Charge<'a>) -> BoxFuture<'a, Result<Outcome, ProcessorUnavailable>> {
        self.sandbox.charge(charge)
    }

    fn find(&self, payment: Uuid) -> BoxFuture<'_, Result<Outcome, ProcessorUnavailable>> {
        assert!(!self.broken.load(SeqCst), "the processor's library gave up");
        self.sandbox.find(payment)
    }

    fn refund(&self, payment: Uuid) -> BoxFuture<'_, Result<(), ProcessorUnavailable>> {
        self.sandbox.refund(payment)
    }
}
