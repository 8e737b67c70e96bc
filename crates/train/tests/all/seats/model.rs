//! What a trip with one seat, its bookings and their payments must do, as simply as it can be said.

use Action::{
    Book, Cancel, PayDeclined, PayGood, PayPending, PayWhileCancelled, PayWhileItRunsOut, PayWithCrashAfter,
    PayWithCrashBefore, Replay, RunOut, WaitAMinute, WaitForPending, Work, WorkWithCrash,
};

pub(crate) const HOLD: i64 = super::process::HOLD.as_secs();
/// How long the processor takes for a pending charge.
const PENDING: i64 = 5;
/// How long the process that charges has to store the result, and how long the process that checks a payment has.
const ANSWERS_WITHIN: i64 = 60;
const LEASE: i64 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Book,
    PayGood,
    PayDeclined,
    PayPending,
    PayWithCrashBefore,
    PayWithCrashAfter,
    PayWhileItRunsOut,
    PayWhileCancelled,
    Cancel,
    WaitForPending,
    WaitAMinute,
    RunOut,
    Work,
    /// A process refunds, and crashes before it stores that.
    WorkWithCrash,
    /// The last request with an Idempotency-Key, once more.
    Replay,
}

pub(crate) const ACTIONS: [Action; 15] = [
    Book,
    PayGood,
    PayDeclined,
    PayPending,
    PayWithCrashBefore,
    PayWithCrashAfter,
    PayWhileItRunsOut,
    PayWhileCancelled,
    Cancel,
    WaitForPending,
    WaitAMinute,
    RunOut,
    Work,
    WorkWithCrash,
    Replay,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    Held { until: i64 },
    Confirmed,
    Expired,
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payment {
    pub(crate) booking: usize,
    pub(crate) stage: &'static str,
    /// What the processor knows of it: the outcome, when it is decided, whether it went back.
    pub(crate) charge: Option<(&'static str, i64, bool)>,
    due: Option<i64>,
}

/// A status, and a kind of problem or the state of the payment.
pub(crate) type Answer = (u16, &'static str);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model {
    now: i64,
    /// Whether a process that starts has the database for itself.
    alone: bool,
    pub(crate) bookings: Vec<Seat>,
    pub(crate) payments: Vec<Payment>,
    /// The answer to the last request with a key, and the payment that will decide it.
    last: Option<(Option<Answer>, Option<usize>)>,
}

impl Model {
    /// The initial state.
    pub(crate) fn new(alone: bool) -> Self {
        Model { alone, ..Model::default() }
    }

    /// The status of a booking: `None` when it was cancelled.
    pub(crate) fn looks(&self, booking: usize) -> Option<&'static str> {
        match self.bookings[booking] {
            Seat::Held { until } if until > self.now => Some("held"),
            Seat::Held { .. } | Seat::Expired => Some("expired"),
            Seat::Confirmed => Some("confirmed"),
            Seat::Cancelled => None,
        }
    }

    pub(crate) fn available(&self) -> i64 {
        let taken = (0..self.bookings.len())
            .filter(|booking| matches!(self.looks(*booking), Some("held" | "confirmed")))
            .count();
        1 - i64::try_from(taken).unwrap()
    }

    /// All that can make a difference later: times only count by whether they have passed.
    fn essence(&self) -> impl PartialEq + use<> {
        let bookings: Vec<_> = (0..self.bookings.len()).map(|booking| self.looks(booking)).collect();
        let payments: Vec<_> = self
            .payments
            .iter()
            .map(|payment| {
                let charge =
                    payment.charge.map(|(outcome, at, refunded)| (outcome, at <= self.now, refunded));
                (payment.booking, payment.stage, charge, payment.due.map(|due| due <= self.now))
            })
            .collect();
        (bookings, payments)
    }

    /// Whether doing this makes a difference.
    pub(crate) fn changes(&self, action: Action) -> bool {
        let mut after = self.clone();
        after.act(action);
        self.essence() != after.essence()
    }

    /// Does it, and returns the expected response: nothing when there is none, or when it crashed.
    pub(crate) fn act(&mut self, action: Action) -> Option<Answer> {
        let good = Some(("succeeded", 0));
        match action {
            Book => Some(self.book()),
            PayGood => self.pay(good, |model, payment| Some(model.settle(payment))),
            PayDeclined => self.pay(Some(("card_declined", 0)), |model, payment| Some(model.settle(payment))),
            PayPending => {
                self.pay(Some(("succeeded", PENDING)), |model, payment| Some(model.settle(payment)))
            }
            PayWithCrashBefore => self.pay(None, |model, _| model.crash()),
            PayWithCrashAfter => self.pay(good, |model, _| model.crash()),
            PayWhileItRunsOut => self.pay(good, |model, payment| {
                model.now += HOLD;
                Some(model.settle(payment))
            }),
            PayWhileCancelled => self.pay(good, |model, payment| {
                model.cancel();
                Some(model.settle(payment))
            }),
            Cancel => self.cancel(),
            WaitForPending => self.wait(PENDING + 1),
            WaitAMinute => self.wait(ANSWERS_WITHIN + 1),
            RunOut => self.wait(HOLD),
            Work => {
                self.work();
                None
            }
            WorkWithCrash => {
                self.work_with_crash();
                None
            }
            Replay => self.last.map(|(answer, _)| answer.unwrap_or((409, "idempotency-key-in-use"))),
        }
    }

    fn wait(&mut self, seconds: i64) -> Option<Answer> {
        self.now += seconds;
        None
    }

    fn crash(&mut self) -> Option<Answer> {
        if self.alone {
            for payment in &mut self.payments {
                payment.due = payment.due.map(|due| due.min(self.now));
            }
        }
        None
    }

    fn book(&mut self) -> Answer {
        let answer = if self.available() > 0 {
            self.bookings.push(Seat::Held { until: self.now + HOLD });
            (201, "")
        } else {
            (409, "sold-out")
        };
        self.last = Some((Some(answer), None));
        answer
    }

    /// Pays for the last booking, if there is one; `then` is what happens after the charge.
    fn pay(
        &mut self,
        charge: Option<(&'static str, i64)>,
        then: impl FnOnce(&mut Model, usize) -> Option<Answer>,
    ) -> Option<Answer> {
        let booking = self.bookings.len().checked_sub(1)?;
        let under_way = self
            .payments
            .iter()
            .any(|payment| payment.booking == booking && matches!(payment.stage, "processing" | "pending"));
        let refused = match self.looks(booking) {
            None => Some((404, "not-found")),
            Some("confirmed") => Some((409, "already-paid")),
            Some("expired") => Some((409, "booking-expired")),
            _ if under_way => Some((409, "payment-under-way")),
            _ => None,
        };
        if refused.is_some() {
            self.last = Some((refused, None));
            return refused;
        }
        let payment = self.payments.len();
        self.payments.push(Payment {
            booking,
            stage: "processing",
            charge: charge.map(|(outcome, after)| (outcome, self.now + after, false)),
            due: Some(self.now + ANSWERS_WITHIN),
        });
        self.last = Some((None, Some(payment)));
        then(self, payment)
    }

    fn cancel(&mut self) -> Option<Answer> {
        let booking = self.bookings.len().checked_sub(1)?;
        if self.bookings[booking] == Seat::Cancelled {
            return Some((404, "not-found"));
        }
        self.bookings[booking] = Seat::Cancelled;
        for payment in &mut self.payments {
            if payment.booking == booking && payment.stage == "succeeded" {
                (payment.stage, payment.due) = ("refunding", Some(self.now));
            }
        }
        Some((204, ""))
    }

    /// Stores the outcome of the processor; a payment without a held booking is refunded.
    fn settle(&mut self, payment: usize) -> Answer {
        let answer = self.decide(payment);
        if self.payments[payment].stage == "refunding" {
            self.refund(payment);
        }
        answer
    }

    fn decide(&mut self, payment: usize) -> Answer {
        let (outcome, at, _) = *self.payments[payment].charge.get_or_insert(("void", self.now, false));
        let booking = self.payments[payment].booking;
        let (stage, due, answer) = if at > self.now {
            ("pending", Some(at), (200, "pending"))
        } else if outcome != "succeeded" {
            ("failed", None, (200, "failed"))
        } else if self.looks(booking) == Some("held") {
            self.bookings[booking] = Seat::Confirmed;
            ("succeeded", None, (200, "succeeded"))
        } else {
            ("refunding", Some(self.now), (409, "booking-expired"))
        };
        (self.payments[payment].stage, self.payments[payment].due) = (stage, due);
        if let Some((first @ None, Some(decides))) = &mut self.last
            && *decides == payment
        {
            *first = Some(answer);
        }
        answer
    }

    fn refund(&mut self, payment: usize) {
        let payment = &mut self.payments[payment];
        payment.charge = payment.charge.map(|(outcome, at, _)| (outcome, at, true));
        (payment.stage, payment.due) = ("refunded", None);
    }

    fn due(&self) -> Vec<usize> {
        let is_due = |at: &usize| self.payments[*at].due.is_some_and(|due| due <= self.now);
        (0..self.payments.len()).filter(is_due).collect()
    }

    fn expire(&mut self) {
        for seat in &mut self.bookings {
            if matches!(seat, Seat::Held { until } if *until <= self.now) {
                *seat = Seat::Expired;
            }
        }
    }

    fn work(&mut self) {
        self.expire();
        for payment in self.due() {
            match self.payments[payment].stage {
                "refunding" => self.refund(payment),
                _ => _ = self.settle(payment),
            }
        }
    }

    /// Whether exactly one thing is due, and it is to be refunded: only then is it plain where it crashes.
    pub(crate) fn can_crash_at_work(&self) -> bool {
        let [payment] = self.due()[..] else { return false };
        let mut after = self.clone();
        after.work();
        after.payments[payment].stage == "refunded"
    }

    fn work_with_crash(&mut self) {
        if !self.can_crash_at_work() {
            return self.work();
        }
        let payment = self.due()[0];
        self.expire();
        let was_refunding = self.payments[payment].stage == "refunding";
        if !was_refunding {
            self.decide(payment);
        }
        self.refund(payment);
        let due = if was_refunding { self.now + LEASE } else { self.now };
        (self.payments[payment].stage, self.payments[payment].due) = ("refunding", Some(due));
        self.crash();
    }
}
