//! The bookings, seats and payments in the database, read from outside of the service.

use std::collections::HashMap;

use db::Db;
use jiff::Timestamp;
use uuid::Uuid;

#[derive(Debug, Default)]
pub(crate) struct Dump {
    /// The trip and the state of every booking.
    pub(crate) bookings: HashMap<Uuid, (Uuid, String)>,
    /// How many seats are counted as taken.
    pub(crate) taken: HashMap<Uuid, i64>,
    /// The booking and the state of every payment.
    pub(crate) payments: HashMap<Uuid, (Uuid, String)>,
    pub(crate) charges: HashMap<Uuid, Charge>,
}

/// What the processor knows of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) outcome: String,
    pub(crate) refunded: bool,
}

impl Charge {
    /// Whether the money was taken and not refunded.
    pub(crate) fn is_kept(&self) -> bool {
        self.outcome == "succeeded" && !self.refunded
    }
}

impl Dump {
    pub(crate) async fn of(db: &Db) -> Self {
        let read = db.snapshot(|tx| {
            let bookings = tx.rows("SELECT id, trip_id, status FROM booking", &[], |row| {
                Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
            })?;
            let taken =
                tx.rows("SELECT trip_id, taken FROM trip_seats", &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let payments = tx.rows("SELECT id, booking_id, status FROM payment", &[], |row| {
                Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))
            })?;
            let charges =
                tx.rows("SELECT payment_id, outcome, refunded_at FROM sandbox_charge", &[], |row| {
                    let refunded = row.get::<Option<Timestamp>>(2)?.is_some();
                    Ok((row.get(0)?, Charge { outcome: row.get(1)?, refunded }))
                })?;
            Ok::<_, db::Error>(Dump {
                bookings: bookings.into_iter().collect(),
                taken: taken.into_iter().collect(),
                payments: payments.into_iter().collect(),
                charges: charges.into_iter().collect(),
            })
        });
        read.await.unwrap()
    }

    /// How many payments are not settled.
    pub(crate) async fn unsettled(db: &Db) -> i64 {
        let read = db.read(|tx| {
            tx.row(
                "SELECT count(*) FROM payment WHERE check_at IS NOT NULL OR leased_until IS NOT NULL",
                &[],
                |row| row.get(0),
            )
        });
        let found: Result<Option<i64>, db::Error> = read.await;
        found.unwrap().unwrap()
    }

    /// Inconsistencies: seats that are counted wrongly, and money that does not belong to a booking.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = self.miscounted();
        faults.extend(self.misspent());
        faults
    }

    /// Trips whose seats do not fit their bookings. There are none at any time.
    pub(crate) fn miscounted(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut seated: HashMap<Uuid, i64> = HashMap::new();
        for (trip, status) in self.bookings.values() {
            *seated.entry(*trip).or_default() += i64::from(matches!(status.as_str(), "held" | "confirmed"));
        }
        for (trip, taken) in &self.taken {
            let seated = seated.get(trip).copied().unwrap_or(0);
            if *taken != seated {
                faults.push(format!("{taken} seats of {trip} count as taken, {seated} bookings have one"));
            }
        }
        faults
    }

    /// Payments that are not settled, and money that does not belong to a booking.
    fn misspent(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut paid: HashMap<Uuid, u32> = HashMap::new();
        for (id, (booking, status)) in &self.payments {
            let charge = self.charges.get(id);
            let kept = charge.is_some_and(Charge::is_kept);
            let fits = match status.as_str() {
                "succeeded" => kept,
                "failed" => charge.is_some_and(|charge| charge.outcome != "succeeded"),
                "refunded" => charge.is_some_and(|charge| charge.outcome == "succeeded" && charge.refunded),
                // No other status is final.
                _ => false,
            };
            if !fits {
                faults.push(format!("payment {id} for {booking} is {status}, and its charge {charge:?}"));
            }
            if kept {
                *paid.entry(*booking).or_default() += 1;
            }
        }
        for id in self.charges.keys().filter(|id| !self.payments.contains_key(id)) {
            faults.push(format!("a charge without a payment: {id}"));
        }
        for (id, (_, status)) in &self.bookings {
            let paid = paid.get(id).copied().unwrap_or(0);
            if paid != u32::from(status == "confirmed") {
                faults.push(format!("booking {id} is {status}, and paid for {paid} times"));
            }
        }
        faults
    }
}
