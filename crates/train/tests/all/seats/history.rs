//! Checks the recorded responses for consistency.
//!
//! Each booking has two periods: one in which it certainly had its seat (from the response to the booking until the first
//! request to cancel it), and one in which it may have had it (from the request until it certainly was released). At no time may
//! more bookings certainly have a seat than the trip has. If a response said that a trip is sold out, all seats may have been
//! taken at some time between its request and the response.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::dump::Dump;

#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) event: Event,
}

#[derive(Debug, Clone)]
pub(crate) enum Event {
    MovedClock {
        to: Timestamp,
    },
    Booked {
        trip: Uuid,
        booking: Uuid,
        expires_at: Timestamp,
    },
    FoundSoldOut {
        trip: Uuid,
    },
    Paid {
        booking: Uuid,
        payment: Uuid,
        status: String,
    },
    Cancelled {
        booking: Uuid,
    },
    /// Another client cancelled it.
    FoundNothing {
        booking: Uuid,
    },
    Saw {
        booking: Uuid,
        status: String,
    },
    Counted {
        trip: Uuid,
        available: i64,
    },
}

/// What the history says of a booking.
struct Story {
    trip: Uuid,
    booked: (u64, u64),
    /// When the clock had surely not, and when it surely had, moved past its hold.
    ran_out: Option<(u64, u64)>,
    /// When the first request to cancel it was sent, and when the first response said that it was cancelled.
    cancelled: Option<(u64, u64)>,
    gone: bool,
    confirmed: bool,
    /// Nothing was ever charged for it, so it cannot have been confirmed, not even unobserved.
    unpaid: bool,
}

/// The counts that the test prints.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) sold_out: usize,
    pub(crate) confirmed: usize,
    pub(crate) cancelled: usize,
    pub(crate) expired: usize,
    pub(crate) refunded: usize,
    /// Trips whose last seat was sold.
    pub(crate) full: usize,
}

/// The contradictions in a history. `seats` are those of each trip; the dump was made after all requests.
pub(crate) fn check(
    mut history: Vec<Record>,
    seats: &HashMap<Uuid, i64>,
    dump: &Dump,
) -> (Summary, Vec<String>) {
    history.sort_by_key(|record| record.start);
    let mut faults = dump.faults();
    let stories = stories(&history, dump, &mut faults);
    told_and_kept(&history, &stories, dump, &mut faults);
    let mut summary = Summary {
        refunded: dump.payments.values().filter(|(_, status)| status == "refunded").count(),
        ..Summary::default()
    };
    for (_, status) in dump.bookings.values() {
        match status.as_str() {
            "confirmed" => summary.confirmed += 1,
            "cancelled" => summary.cancelled += 1,
            "expired" => summary.expired += 1,
            other => faults.push(format!("a booking is still {other}")),
        }
    }
    for (trip, seats) in seats {
        let of_trip: Vec<_> = stories.values().filter(|story| story.trip == *trip).collect();
        let sure = Count::of(of_trip.iter().map(|story| story.surely()));
        let possible = Count::of(of_trip.iter().map(|story| story.possibly()));
        summary.full += usize::from(sure.most() >= *seats);
        if sure.most() > *seats {
            faults.push(format!("{} bookings had one of the {seats} seats of {trip} at once", sure.most()));
        }
        for record in &history {
            let most = || possible.most_within(record.start, record.end);
            match &record.event {
                Event::FoundSoldOut { trip: found } if found == trip => {
                    summary.sold_out += 1;
                    if most() < *seats {
                        faults.push(format!(
                            "{trip} was sold out when {} of {seats} were taken: {record:?}",
                            most()
                        ));
                    }
                }
                Event::Counted { trip: counted, available }
                    if counted == trip && !(seats - most()..=*seats).contains(available) =>
                {
                    faults.push(format!("at most {} seats were taken: {record:?}", most()));
                }
                _ => {}
            }
        }
    }
    (summary, faults)
}

fn stories(history: &[Record], dump: &Dump, faults: &mut Vec<String>) -> HashMap<Uuid, Story> {
    let mut stories = HashMap::new();
    let charged = |(_, status): &&(Uuid, String)| matches!(status.as_str(), "succeeded" | "refunded");
    let paid: HashSet<_> = dump.payments.values().filter(charged).map(|(booking, _)| *booking).collect();
    for Record { start, end, event } in history {
        if let Event::Booked { trip, booking, .. } = event {
            let status = dump.bookings.get(booking).map(|(_, status)| status.as_str());
            let story = Story {
                trip: *trip,
                booked: (*start, *end),
                ran_out: None,
                cancelled: None,
                gone: false,
                confirmed: status == Some("confirmed"),
                unpaid: !paid.contains(booking),
            };
            if stories.insert(*booking, story).is_some() {
                faults.push(format!("booking {booking} was made twice"));
            }
        }
    }
    let mut moves: Vec<_> = history
        .iter()
        .filter_map(|record| match record.event {
            Event::MovedClock { to } => Some((to, record.start, record.end)),
            _ => None,
        })
        .collect();
    moves.sort_unstable();
    for record in history {
        if let Event::Booked { booking, expires_at, .. } = &record.event {
            let past = moves.get(moves.partition_point(|(to, ..)| to < expires_at));
            stories.get_mut(booking).unwrap().ran_out = past.map(|(_, start, end)| (*start, *end));
        }
        let booking = match &record.event {
            Event::Cancelled { booking } | Event::FoundNothing { booking } => booking,
            Event::Paid { booking, status, .. } if status == "succeeded" => {
                if let Some(story) = stories.get_mut(booking) {
                    story.confirmed = true;
                }
                continue;
            }
            Event::Saw { booking, status } if status == "confirmed" => {
                if let Some(story) = stories.get_mut(booking) {
                    story.confirmed = true;
                }
                continue;
            }
            _ => continue,
        };
        let Some(story) = stories.get_mut(booking) else { continue };
        let (first, done) = story.cancelled.unwrap_or((u64::MAX, u64::MAX));
        match &record.event {
            Event::Cancelled { .. } => {
                if story.gone {
                    faults.push(format!("booking {booking} was cancelled twice"));
                }
                story.gone = true;
                story.cancelled = Some((first.min(record.start), done.min(record.end)));
            }
            // Another client had cancelled it by then.
            _ => story.cancelled = Some((first, done.min(record.end))),
        }
    }
    stories
}

impl Story {
    /// From when to when it surely had its seat.
    fn surely(&self) -> (u64, u64) {
        let ran_out = self.ran_out.filter(|_| !self.confirmed).map_or(u64::MAX, |(start, _)| start);
        let cancelled = self.cancelled.map_or(u64::MAX, |(start, _)| start);
        (self.booked.1, ran_out.min(cancelled))
    }

    /// From when to when it may have had it.
    fn possibly(&self) -> (u64, u64) {
        let ran_out = self.ran_out.filter(|_| self.unpaid).map_or(u64::MAX, |(_, end)| end);
        let cancelled = self.cancelled.map_or(u64::MAX, |(_, end)| end);
        (self.booked.0, ran_out.min(cancelled))
    }
}

/// How many spans there are over time.
struct Count(Vec<(u64, i64)>);

impl Count {
    fn of(spans: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut changes: Vec<_> =
            spans.filter(|(from, to)| from < to).flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
        // At the same tick, a span that ends is removed before one that begins is added.
        changes.sort_unstable();
        let mut count = 0;
        for (_, change) in &mut changes {
            count += *change;
            *change = count;
        }
        Count(changes)
    }

    fn most(&self) -> i64 {
        self.0.iter().map(|(_, count)| *count).max().unwrap_or(0)
    }

    fn most_within(&self, start: u64, end: u64) -> i64 {
        let (first, last) = (
            self.0.partition_point(|(tick, _)| *tick <= start),
            self.0.partition_point(|(tick, _)| *tick <= end),
        );
        let before = first.checked_sub(1).map_or(0, |at| self.0[at].1);
        self.0[first..last].iter().map(|(_, count)| *count).fold(before, i64::max)
    }
}

/// Each response must agree with the final state, unless a later request changed it.
fn told_and_kept(history: &[Record], stories: &HashMap<Uuid, Story>, dump: &Dump, faults: &mut Vec<String>) {
    let status_of = |booking: &Uuid| dump.bookings.get(booking).map_or("lost", |(_, status)| status.as_str());
    for (booking, story) in stories {
        let status = status_of(booking);
        let allowed: &[&str] = match (story.gone, story.confirmed) {
            (true, _) => &["cancelled"],
            (false, true) => &["confirmed"],
            (false, false) => &["expired", "confirmed"],
        };
        if !allowed.contains(&status) {
            faults.push(format!("booking {booking} is {status}, not {allowed:?}"));
        }
        if status == "expired" && story.ran_out.is_none() {
            faults.push(format!("booking {booking} expired before its time"));
        }
    }
    for booking in dump.bookings.keys().filter(|booking| !stories.contains_key(booking)) {
        faults.push(format!("booking {booking} was never acknowledged"));
    }
    for record in history {
        match &record.event {
            Event::Paid { booking, payment, status } => {
                let kept = dump.payments.get(payment).map_or("lost", |(_, kept)| kept.as_str());
                let fits = match (status.as_str(), kept) {
                    ("failed", "failed") | ("succeeded", "succeeded") => true,
                    ("succeeded", "refunded") => status_of(booking) == "cancelled",
                    ("pending", "succeeded" | "refunded") => true,
                    _ => false,
                };
                if !fits {
                    faults.push(format!("payment {payment} was {status} and is {kept}"));
                }
            }
            Event::FoundNothing { booking } if status_of(booking) != "cancelled" => {
                faults.push(format!("booking {booking} was not found, and is {}", status_of(booking)));
            }
            _ => {}
        }
    }
}

mod tests {
    use super::*;
    use crate::seats::dump::Charge;

    fn of(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn record(start: u64, end: u64, event: Event) -> Record {
        Record { start, end, event }
    }

    fn booked(start: u64, booking: u128) -> Record {
        record(start, start + 1, Event::Booked { trip: of(1), booking: of(booking), expires_at: at(100) })
    }

    /// The errors found in a history of a trip with one seat, with these final statuses of its bookings.
    fn faults(history: Vec<Record>, ends: &[(u128, &str)], taken: i64) -> Vec<String> {
        let mut dump = Dump::default();
        dump.taken.insert(of(1), taken);
        for (booking, end) in ends {
            dump.bookings.insert(of(*booking), (of(1), (*end).into()));
            if *end == "confirmed" {
                dump.payments.insert(of(booking + 100), (of(*booking), "succeeded".into()));
                let charge = Charge { outcome: "succeeded".into(), refunded: false };
                dump.charges.insert(of(booking + 100), charge);
            }
        }
        check(history, &HashMap::from([(of(1), 1)]), &dump).1
    }

    #[test]
    fn sequential_bookings_are_consistent() {
        let cancelled = record(4, 5, Event::Cancelled { booking: of(7) });
        let sold_out = record(2, 3, Event::FoundSoldOut { trip: of(1) });
        let history = vec![booked(0, 7), sold_out, cancelled, booked(6, 8)];
        let moved = record(8, 9, Event::MovedClock { to: at(100) });
        let history: Vec<_> = history.into_iter().chain([moved]).collect();
        assert_eq!(faults(history, &[(7, "cancelled"), (8, "expired")], 0), Vec::<String>::new());
    }

    #[test]
    fn seat_that_is_sold_twice_is_found() {
        let moved = record(8, 9, Event::MovedClock { to: at(100) });
        let found = faults(vec![booked(0, 7), booked(2, 8), moved], &[(7, "expired"), (8, "expired")], 0);
        assert!(found[0].contains("2 bookings had one of the 1 seats"), "{found:?}");
    }

    #[test]
    fn trip_that_is_sold_out_with_a_free_seat_is_found() {
        let cancelled = record(2, 3, Event::Cancelled { booking: of(7) });
        let sold_out = record(4, 5, Event::FoundSoldOut { trip: of(1) });
        let found = faults(vec![booked(0, 7), cancelled, sold_out], &[(7, "cancelled")], 0);
        assert!(found[0].contains("was sold out when 0 of 1 were taken"), "{found:?}");
    }

    #[test]
    fn lost_booking_or_seat_is_found() {
        let paid = record(2, 3, Event::Paid { booking: of(7), payment: of(107), status: "succeeded".into() });
        let found = faults(vec![booked(0, 7), paid.clone()], &[], 0);
        assert!(found.iter().any(|fault| fault.contains("is lost")), "{found:?}");
        let found = faults(vec![booked(0, 7), paid.clone()], &[(7, "expired")], 0);
        assert!(found.iter().any(|fault| fault.contains("is expired, not")), "{found:?}");
        let found = faults(vec![booked(0, 7), paid.clone()], &[(7, "confirmed")], 2);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("2 seats of"), "{found:?}");
        assert_eq!(faults(vec![booked(0, 7), paid], &[(7, "confirmed")], 1), Vec::<String>::new());
    }

    #[test]
    fn charge_without_a_booking_is_found() {
        let mut dump = Dump::default();
        dump.bookings.insert(of(7), (of(1), "expired".into()));
        dump.payments.insert(of(8), (of(7), "refunded".into()));
        dump.charges.insert(of(8), Charge { outcome: "succeeded".into(), refunded: false });
        let found = dump.faults();
        assert!(found.iter().any(|fault| fault.contains("is expired, and paid for 1 times")), "{found:?}");
        dump.charges.insert(of(8), Charge { outcome: "succeeded".into(), refunded: true });
        assert_eq!(dump.faults(), Vec::<String>::new());
    }
}
