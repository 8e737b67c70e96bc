//! A payment breaks off between any two of its steps, by a crash or because the processor is away. Another process on the
//! same database brings it to its end: charged once or not at all, never forgotten.

use jiff::SignedDuration;
use serde_json::json;
use testkit::Engine;
use uuid::Uuid;

use super::{
    clients::{card, id},
    process::{Answer, HOLD, delete, get, post},
    processor::{Break, How},
    stage::{Stage, booking_on},
};

/// Longer than the process that charges has to store the result.
const A_MINUTE: SignedDuration = SignedDuration::from_secs(61);

const GOOD: &str = "4242424242424242";
const PENDING: &str = "4000000000000077";

/// A booking, and the request that pays for it.
struct Payment {
    booking: Uuid,
    path: String,
    body: serde_json::Value,
}

impl Payment {
    async fn new(stage: &mut Stage, number: &str) -> Self {
        let trip = stage.trip().await;
        let held = stage.call(post("/bookings", &booking_on(trip), None)).await;
        assert_eq!(held.status, 201, "{held:?}");
        let booking = id(&held.body["id"]);
        Payment {
            booking,
            path: format!("/bookings/{booking}/payment"),
            body: json!({"source": card(number)}),
        }
    }

    async fn send(&self, stage: &Stage) -> Answer {
        stage.call(post(&self.path, &self.body, Some("key"))).await
    }

    async fn status(&self, stage: &Stage) -> String {
        let found = stage.call(get(&format!("/bookings/{}", self.booking))).await;
        found.body["status"].as_str().unwrap_or("gone").to_owned()
    }

    async fn cancel(&self, stage: &Stage) {
        let gone = stage.call(delete(&format!("/bookings/{}", self.booking))).await;
        assert_eq!(gone.status, 204, "{gone:?}");
    }

    /// The number of charges that were kept, and of those that were refunded.
    async fn kept_and_refunded(&self, stage: &Stage) -> (usize, usize) {
        let dump = stage.dump().await;
        assert_eq!(dump.faults(), Vec::<String>::new());
        (
            dump.charges.values().filter(|charge| charge.is_kept()).count(),
            dump.charges.values().filter(|charge| charge.refunded).count(),
        )
    }
}

/// Settles what a crashed process left: at once on SQLite, which has one process, and after the lease on PostgreSQL.
async fn take_up(stage: &Stage) {
    if stage.engine == Engine::Postgres {
        stage.work().await;
        assert_ne!(super::dump::Dump::unsettled(stage.db()).await, 0, "another process still had the lease");
        stage.wait(A_MINUTE).await;
    }
    stage.work().await;
}

testkit::on_both_engines! {
    async fn crash_before_the_charge_charges_nothing(stage: Stage) {
        let mut stage = stage;
        let payment = Payment::new(&mut stage, GOOD).await;
        let answer = stage.crash_during(Break::BeforeCharge, async |stage| payment.send(stage).await).await;
        assert_eq!(answer, None);
        // The first request counts as in progress until its payment is checked.
        assert_eq!(payment.send(&stage).await.problem, Some("idempotency-key-in-use"));
        let other = stage.call(post(&payment.path, &payment.body, None)).await;
        assert_eq!(other.problem, Some("payment-under-way"));
        take_up(&stage).await;
        let answer = payment.send(&stage).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!("failed")));
        assert_eq!(payment.kept_and_refunded(&stage).await, (0, 0));
        assert_eq!(payment.status(&stage).await, "held");
        let other = stage.call(post(&payment.path, &payment.body, None)).await;
        assert_eq!((other.status, &other.body["status"]), (200, &json!("succeeded")));
        assert_eq!(payment.kept_and_refunded(&stage).await, (1, 0));
    }

    async fn crash_after_the_charge_loses_no_payment(stage: Stage) {
        let mut stage = stage;
        let payment = Payment::new(&mut stage, GOOD).await;
        stage.crash_during(Break::AfterCharge, async |stage| payment.send(stage).await).await;
        assert_eq!(payment.status(&stage).await, "held");
        take_up(&stage).await;
        assert_eq!(payment.status(&stage).await, "confirmed");
        let answer = payment.send(&stage).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!("succeeded")));
        assert_eq!(payment.kept_and_refunded(&stage).await, (1, 0));
        let other = stage.call(post(&payment.path, &payment.body, None)).await;
        assert_eq!(other.problem, Some("already-paid"));
    }

    async fn crash_after_the_charge_of_an_expired_hold_refunds_it(stage: Stage) {
        let mut stage = stage;
        let payment = Payment::new(&mut stage, GOOD).await;
        stage.crash_during(Break::AfterCharge, async |stage| payment.send(stage).await).await;
        stage.wait(HOLD).await;
        // The process that refunds crashes too, after the refund and before it stores that.
        let mut stage = stage;
        let done = stage.crash_during(Break::AfterRefund, async |stage| stage.work().await).await;
        assert_eq!(done, None);
        stage.finish().await;
        assert_eq!(payment.status(&stage).await, "expired");
        assert_eq!(payment.send(&stage).await.problem, Some("booking-expired"));
        assert_eq!(payment.kept_and_refunded(&stage).await, (0, 1));
    }

    async fn crashes_during_a_refund_refund_once(stage: Stage) {
        let mut stage = stage;
        let payment = Payment::new(&mut stage, GOOD).await;
        assert_eq!(payment.send(&stage).await.body["status"], "succeeded");
        payment.cancel(&stage).await;
        for at in [Break::BeforeRefund, Break::AfterRefund] {
            stage.wait(A_MINUTE).await;
            let done = stage.crash_during(at, async |stage| stage.work().await).await;
            assert_eq!(done, None, "{at:?}");
        }
        stage.finish().await;
        assert_eq!(payment.kept_and_refunded(&stage).await, (0, 1));
    }

    async fn crash_while_a_payment_is_checked_changes_nothing(stage: Stage) {
        let mut stage = stage;
        let payment = Payment::new(&mut stage, PENDING).await;
        assert_eq!(payment.send(&stage).await.body["status"], "pending");
        for at in [Break::BeforeFind, Break::AfterFind] {
            stage.wait(SignedDuration::from_secs(31)).await;
            let done = stage.crash_during(at, async |stage| stage.work().await).await;
            assert_eq!(done, None, "{at:?}");
        }
        stage.wait(SignedDuration::from_secs(31)).await;
        stage.work().await;
        assert_eq!(payment.status(&stage).await, "confirmed");
        assert_eq!(payment.kept_and_refunded(&stage).await, (1, 0));
        // The first answer is the answer.
        assert_eq!(payment.send(&stage).await.body["status"], "pending");
    }

    async fn unavailable_processor_is_retried(stage: Stage) {
        let mut stage = stage;
        for (at, end) in [(Break::BeforeCharge, "held"), (Break::AfterCharge, "confirmed")] {
            let payment = Payment::new(&mut stage, GOOD).await;
            stage.script.will(at, How::Unreachable);
            assert_eq!(payment.send(&stage).await.status, 503);
            stage.wait(A_MINUTE).await;
            stage.script.will(Break::BeforeFind, How::Unreachable);
            assert!(stage.try_to_work().await.is_err());
            stage.wait(A_MINUTE).await;
            stage.work().await;
            assert_eq!(payment.status(&stage).await, end);
        }
    }

    async fn payment_for_an_expired_hold_is_refunded_when_the_processor_recovers(stage: Stage) {
        let mut stage = stage;
        let payment = Payment::new(&mut stage, GOOD).await;
        stage.script.will(Break::AfterCharge, How::Wait);
        let lose = async {
            stage.script.reached().await;
            payment.cancel(&stage).await;
            stage.script.will(Break::BeforeRefund, How::Unreachable);
            stage.script.go_on();
        };
        let (answer, ()) = tokio::join!(payment.send(&stage), lose);
        // What became of it is known, though the money has not gone back yet.
        assert_eq!(answer.problem, Some("booking-expired"));
        assert_eq!(payment.send(&stage).await, answer);
        stage.finish().await;
        assert_eq!(payment.kept_and_refunded(&stage).await, (0, 1));
    }

    async fn response_after_the_lease_changes_nothing(stage: Stage) {
        let mut stage = stage;
        for (at, end, kept) in [(Break::BeforeCharge, "failed", 0), (Break::AfterCharge, "succeeded", 1)] {
            let payment = Payment::new(&mut stage, GOOD).await;
            stage.script.will(at, How::Wait);
            let late = async {
                stage.script.reached().await;
                stage.wait(A_MINUTE).await;
                stage.work().await;
                stage.script.go_on();
            };
            let (answer, ()) = tokio::join!(
                stage.call(post(&payment.path, &payment.body, None)),
                late
            );
            assert_eq!((answer.status, &answer.body["status"]), (200, &json!(end)));
            assert_eq!(payment.kept_and_refunded(&stage).await, (kept, 0));
        }
    }
}
