//! What must hold when all faults are over.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::time::interval;

use super::Run;
use crate::{
    Torture,
    installation::Service,
    load::{BASIC, PATIENCE, Promise, available, bookings, broken, charged_twice, doubled, repeat},
    report::Line,
};

impl Run {
    /// Checks everything once more, without faults.
    pub(super) async fn at_the_end(&mut self, torture: &Torture) -> Line {
        let mut violations = broken(&self.installations[0].clients(), &self.promises).await;
        let train = self.installations[1].client(Service::Train);
        let (stored, unread) = bookings(&train, &self.place).await;
        violations.extend(unread);
        violations.extend(doubled(&stored, &self.place));
        violations.extend(self.oversold(&stored).await);
        let paths = self.promises.iter().flat_map(|promise| &promise.paths);
        let acknowledged = paths.filter_map(|path| path.strip_prefix("/bookings/")).map(str::to_owned);
        let expected: HashSet<_> = acknowledged.chain(stored.into_keys()).collect();
        let patience = torture.size(Duration::from_secs(90), PATIENCE);
        let (events, wrong) = self.events.check(&expected, patience).await;
        violations.extend(wrong);
        let unanswered = self.unanswered.len();
        violations.extend(self.settle(torture).await);
        violations.extend(charged_twice(&self.primary));
        violations.extend(self.primary.check());
        Line {
            fault: "all these faults, one after another".to_owned(),
            must: "0 acknowledged writes lost, 0 doubled, 0 oversold, 0 charged twice, each booking has exactly its event, 0 events lost".to_owned(),
            measured: format!(
                "{} times, {} written resources, {unanswered} requests without an answer, {events} events of {} bookings in {} deliveries",
                self.rounds,
                self.promises.len(),
                expected.len(),
                self.events.deliveries(),
            ),
            violations,
        }
    }

    /// Requests with a key that had no answer so far get one now: a payment of a process that was killed is settled after a minute.
    async fn settle(&mut self, torture: &Torture) -> Vec<String> {
        let mut wrong = Vec::new();
        if torture.short {
            return wrong;
        }
        let train = self.installations[2].client(Service::Train);
        let deadline = Instant::now() + Duration::from_secs(90);
        let mut pause = interval(Duration::from_millis(500));
        for keyed in std::mem::take(&mut self.unanswered) {
            let violation = loop {
                let violation = repeat(&train, &keyed, false).await;
                if violation.is_none() || Instant::now() > deadline {
                    break violation;
                }
                pause.tick().await;
            };
            wrong.extend(violation);
        }
        wrong
    }

    /// Trips that have more bookings than seats, or whose seats do not fit their bookings.
    async fn oversold(&self, stored: &HashMap<String, Value>) -> Vec<String> {
        let train = self.installations[2].client(Service::Train);
        let mut wrong = Vec::new();
        for (trip, seats) in &self.seats {
            let has_seat = |booking: &&Value| {
                booking["trip_id"] == trip.as_str()
                    && ["held", "confirmed"].iter().any(|status| booking["status"] == *status)
            };
            let sold = i64::try_from(stored.values().filter(has_seat).count()).unwrap_or(i64::MAX);
            let left = available(&train, BASIC, trip).await;
            if sold > *seats || left != seats - sold {
                wrong.push(format!("trip {trip} has {seats} seats, {sold} bookings and {left} free seats"));
            }
        }
        wrong
    }
}

/// A hold may have expired: by a clock that is ahead, or because it was made by a clock that was behind.
pub(super) fn may_expire(promise: &mut Promise) {
    let held = promise.allowed.iter().flatten().flatten().find(|state| state["status"] == "held");
    if let Some(mut expired) = held.cloned() {
        expired["status"] = "expired".into();
        if let Some(members) = expired.as_object_mut() {
            members.remove("expires_at");
        }
        promise.allowed.push(vec![Some(expired)]);
    }
}
