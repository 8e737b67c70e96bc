//! What clients did to the seats of one trip, and when.

/// A booking of a trip, by its number in the order of the answers.
pub(super) type Booking = u32;

/// A request with its answer. Times are microseconds by the clock of the machine, which all processes share.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) answer: Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// A seat is held until this time.
    Held {
        booking: Booking,
        until: i64,
    },
    SoldOut,
    /// The booking is charged and confirmed.
    Paid(Booking),
    /// The card was declined: the seat is still held.
    Declined(Booking),
    AlreadyPaid(Booking),
    /// The hold expired, or the booking was cancelled, before the payment went through. What was charged is refunded.
    TooLate(Booking),
    Cancelled(Booking),
    /// The booking was cancelled before.
    Unknown(Booking),
    /// The booking has this status.
    Is(Booking, Status),
    /// This number of seats is free.
    Free(i64),
    /// Not a request: the time of a hold has passed.
    Expired(Booking),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Status {
    Held,
    Confirmed,
    Expired,
    Cancelled,
}

impl Status {
    pub(super) fn has_seat(self) -> bool {
        matches!(self, Status::Held | Status::Confirmed)
    }
}

impl Answer {
    /// The booking that it is about.
    pub(super) fn booking(self) -> Option<Booking> {
        match self {
            Answer::Held { booking, .. }
            | Answer::Paid(booking)
            | Answer::Declined(booking)
            | Answer::AlreadyPaid(booking)
            | Answer::TooLate(booking)
            | Answer::Cancelled(booking)
            | Answer::Unknown(booking)
            | Answer::Is(booking, _)
            | Answer::Expired(booking) => Some(booking),
            Answer::SoldOut | Answer::Free(_) => None,
        }
    }

    /// Whether it shows that the hold of a booking had not expired.
    fn shows_hold(self) -> bool {
        matches!(self, Answer::Paid(_) | Answer::Declined(_) | Answer::Is(_, Status::Held))
    }
}

/// When the expiry of a hold can take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expiry {
    /// At its time.
    Exact,
    /// Until the last request that began before it has ended: a request reads the clock once, and may count the hold until it ends.
    SeenLate,
}

/// The history of a trip with the expiries of its holds, in the order of their starts.
pub(super) fn with_expiries(mut history: Vec<Operation>, expiry: Expiry) -> Vec<Operation> {
    history.sort_by_key(|operation| operation.start);
    let longest = history.iter().map(|operation| operation.end - operation.start).max().unwrap_or_default();
    let holds = history.iter().filter_map(|operation| match operation.answer {
        Answer::Held { booking, until } => Some((booking, until)),
        _ => None,
    });
    let expiries: Vec<_> = holds
        .map(|(booking, until)| {
            let first = history.partition_point(|operation| operation.start < until - longest);
            let last = history.partition_point(|operation| operation.start < until);
            let end = history[first..last].iter().map(|operation| operation.end).max();
            let end = end.filter(|_| expiry == Expiry::SeenLate).unwrap_or(until).max(until);
            Operation { start: until, end, answer: Answer::Expired(booking) }
        })
        .collect();
    // Nothing of the time after the last answer can be seen.
    let last = history.iter().map(|operation| operation.end).max().unwrap_or_default();
    history.extend(expiries.into_iter().filter(|expiry| expiry.start <= last));
    history.sort_by_key(|operation| operation.start);
    history
}

/// Requests that began after a hold had expired, and got an answer as if it had not.
pub(super) fn after_expiry(history: &[Operation]) -> Vec<String> {
    let holds = history.iter().filter_map(|operation| match operation.answer {
        Answer::Held { booking, until } => Some((booking, until)),
        _ => None,
    });
    let until: std::collections::HashMap<_, _> = holds.collect();
    let is_late = |operation: &&Operation| {
        let expiry = operation.answer.booking().and_then(|booking| until.get(&booking));
        operation.answer.shows_hold() && expiry.is_some_and(|expiry| operation.start > *expiry)
    };
    history
        .iter()
        .filter(is_late)
        .map(|operation| format!("the hold had expired before {operation:?}"))
        .collect()
}
