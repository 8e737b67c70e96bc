//! Whether a history of one trip is linearizable: whether each request can have taken effect at one moment between its start and its
//! answer, so that the answers are those of a trip that does one request after another.
//!
//! The search goes through the starts and answers in the order of time ("just-in-time linearization", Lowe 2017, after Wing and Gong
//! 1993). A candidate is a state of the trip together with the open requests that have taken effect. At an answer, the candidates are
//! replaced by all that can be reached by letting open requests take effect, of which the answered one must be one. No candidate left
//! means that the answer is impossible. A request that changes nothing takes effect as soon as its answer is right: that never excludes
//! what another order allows. So only requests that change the trip multiply candidates, and of those few are open at once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::history::{Answer, Booking, Expiry, Operation, Status, with_expiries};

/// More candidates than a history of a few clients has: the search would take too long.
const MOST: usize = 10_000;

/// How many of the requests before an impossible answer its explanation shows.
const SHOWN: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
struct Candidate {
    taken: i64,
    /// The bookings that a later answer is about.
    bookings: BTreeMap<Booking, Status>,
    /// The open requests that have taken effect.
    done: BTreeSet<usize>,
}

/// What the checker found in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// With the most candidates at one answer.
    Linearizable(usize),
    /// The answer that no order explains, with what came before it.
    Impossible(String),
    /// Too many requests were open at once.
    Undecided,
}

/// Checks the history of a trip with this number of seats.
pub(super) fn check(seats: i64, history: &[Operation]) -> Verdict {
    // Few requests need the second.
    match check_with(seats, &with_expiries(history.to_vec(), Expiry::Exact)) {
        Verdict::Impossible(_) => check_with(seats, &with_expiries(history.to_vec(), Expiry::SeenLate)),
        verdict => verdict,
    }
}

/// Checks a history with its expiries, in the order of the starts.
fn check_with(seats: i64, history: &[Operation]) -> Verdict {
    let mut checker = Checker { seats, history, open: BTreeSet::new(), left: HashMap::new() };
    for booking in history.iter().filter_map(|operation| operation.answer.booking()) {
        *checker.left.entry(booking).or_default() += 1;
    }
    // At the same time, starts come before answers: the requests overlap.
    let starts = history.iter().enumerate().map(|(number, operation)| (operation.start, false, number));
    let ends = history.iter().enumerate().map(|(number, operation)| (operation.end, true, number));
    let mut events: Vec<_> = starts.chain(ends).collect();
    events.sort_unstable();
    let mut candidates = HashSet::from([Candidate::default()]);
    let mut most = 0;
    for (_, is_end, number) in events {
        if !is_end {
            checker.open.insert(number);
            continue;
        }
        let Some(reached) = checker.answered(&candidates, number) else { return Verdict::Undecided };
        most = most.max(reached.len());
        if reached.is_empty() {
            return Verdict::Impossible(checker.explain(&candidates, number));
        }
        candidates = reached;
    }
    Verdict::Linearizable(most)
}

struct Checker<'a> {
    seats: i64,
    history: &'a [Operation],
    /// The requests that have started and are not answered.
    open: BTreeSet<usize>,
    /// How many answers about a booking are still to come.
    left: HashMap<Booking, usize>,
}

impl Checker<'_> {
    /// The candidates after an answer, or none if there are too many orders.
    fn answered(&mut self, candidates: &HashSet<Candidate>, number: usize) -> Option<HashSet<Candidate>> {
        let (mut seen, mut reached) = (HashSet::new(), HashSet::new());
        let mut to_do: Vec<_> = candidates.iter().cloned().collect();
        while let Some(mut candidate) = to_do.pop() {
            self.look(&mut candidate);
            if seen.len() > MOST {
                return None;
            }
            if !seen.insert(candidate.clone()) {
                continue;
            }
            if candidate.done.contains(&number) {
                // Further requests may take effect later: they are still open.
                reached.insert(candidate);
                continue;
            }
            let open = self.open.iter().filter(|open| !candidate.done.contains(open));
            to_do.extend(open.filter_map(|open| self.apply(&candidate, *open)));
        }
        self.open.remove(&number);
        let forgotten = self.history[number].answer.booking().filter(|booking| {
            let left = self.left.entry(*booking).or_default();
            *left -= 1;
            *left == 0
        });
        let close = |mut candidate: Candidate| {
            candidate.done.remove(&number);
            if let Some(booking) = forgotten {
                candidate.bookings.remove(&booking);
            }
            candidate
        };
        Some(reached.into_iter().map(close).collect())
    }

    /// Lets all open requests take effect that change nothing and whose answer is right.
    fn look(&self, candidate: &mut Candidate) {
        for number in &self.open {
            let status = |booking: Booking| candidate.bookings.get(&booking).copied();
            let is_right = match self.history[*number].answer {
                Answer::SoldOut => candidate.taken == self.seats,
                Answer::Free(seats) => seats == self.seats - candidate.taken,
                Answer::Is(booking, wanted) => status(booking) == Some(wanted),
                Answer::Declined(booking) => status(booking) == Some(Status::Held),
                Answer::AlreadyPaid(booking) => status(booking) == Some(Status::Confirmed),
                Answer::TooLate(booking) => status(booking).is_some_and(|status| !status.has_seat()),
                Answer::Unknown(booking) => status(booking) == Some(Status::Cancelled),
                Answer::Expired(booking) => status(booking).is_some_and(|status| status != Status::Held),
                Answer::Held { .. } | Answer::Paid(_) | Answer::Cancelled(_) => false,
            };
            if is_right {
                candidate.done.insert(*number);
            }
        }
    }

    /// The candidate after a request that changes the trip, if it is possible.
    fn apply(&self, candidate: &Candidate, number: usize) -> Option<Candidate> {
        let status = |booking: Booking| candidate.bookings.get(&booking).copied();
        let (booking, to) = match self.history[number].answer {
            Answer::Held { booking, .. } => {
                (candidate.taken < self.seats && status(booking).is_none()).then_some((booking, Status::Held))
            }
            Answer::Paid(booking) => {
                (status(booking) == Some(Status::Held)).then_some((booking, Status::Confirmed))
            }
            Answer::Cancelled(booking) => status(booking)
                .filter(|status| *status != Status::Cancelled)
                .map(|_| (booking, Status::Cancelled)),
            Answer::Expired(booking) => {
                (status(booking) == Some(Status::Held)).then_some((booking, Status::Expired))
            }
            _ => None,
        }?;
        let mut after = candidate.clone();
        let before = after.bookings.insert(booking, to);
        after.taken += i64::from(to.has_seat()) - i64::from(before.is_some_and(Status::has_seat));
        after.done.insert(number);
        Some(after)
    }

    fn explain(&self, candidates: &HashSet<Candidate>, number: usize) -> String {
        let impossible = &self.history[number];
        let open: Vec<_> = self
            .history
            .iter()
            .filter(|open| open.start <= impossible.end && open.end >= impossible.start)
            .collect();
        let mut before: Vec<_> =
            self.history.iter().filter(|operation| operation.end < impossible.start).collect();
        before.sort_by_key(|operation| operation.end);
        let before = &before[before.len().saturating_sub(SHOWN)..];
        let taken: BTreeSet<_> = candidates.iter().map(|candidate| candidate.taken).collect();
        let about = impossible.answer.booking().map(|booking| {
            candidates.iter().map(|candidate| candidate.bookings.get(&booking)).collect::<BTreeSet<_>>()
        });
        format!(
            "{impossible:?} has no moment in which it is right: {taken:?} of {} seats were taken, the booking was {about:?}; at the \
             same time: {open:?}; before: {before:?}",
            self.seats
        )
    }
}

#[cfg(test)]
#[path = "checker_tests.rs"]
mod tests;
