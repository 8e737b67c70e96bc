//! The kinds of problem that only this service has.

use web::problem::Kind;

web::problem_kinds! {
    pub(crate) KINDS:
    DEPARTED, CONFLICT, "departed", "Departed",
        "The trip has left its first station. It cannot be booked or paid for any more, and a booking that is paid for cannot be cancelled.";
    NO_LONGER_RUNS, CONFLICT, "no-longer-runs", "No longer runs",
        "The trip was booked and is not in the timetable any more. It cannot be paid for. Cancel the booking: what was paid goes back.";
    SOLD_OUT, CONFLICT, "sold-out", "Sold out",
        "Every seat of the trip is taken. Seats that are held and not paid for in time become free again.";
    TOO_MANY_HOLDS, CONFLICT, "too-many-holds", "Too many holds",
        "The user holds as many seats without having paid for them as there can be. Pay for one of these bookings or cancel it, or wait until one expires: the Retry-After header says how many seconds that takes.";
    NO_BICYCLES, CONFLICT, "no-bicycles", "No bicycles",
        "The trip takes no bicycles. Search with bicycles=true for trips that do.";
    NO_DOGS, CONFLICT, "no-dogs", "No dogs",
        "The trip takes no dogs. Search with dogs=true for trips that do.";
    BOOKING_EXPIRED, CONFLICT, "booking-expired", "Booking expired",
        "The booking was not paid for in time, and its seat is free for others. Book again.";
    ALREADY_PAID, CONFLICT, "already-paid", "Already paid",
        "The booking is paid for and confirmed.";
    PAYMENT_UNDER_WAY, CONFLICT, "payment-under-way", "Payment under way",
        "Another payment for this booking has not been decided yet. Look at the booking in a moment.";
    KEY_IN_USE, CONFLICT, "idempotency-key-in-use", "Idempotency-Key in use",
        "The first request with this Idempotency-Key has not been answered yet. Send it again in a moment.";
    KEY_REUSED, UNPROCESSABLE_ENTITY, "idempotency-key-reused", "Idempotency-Key reused",
        "This Idempotency-Key came with another body before. A key stands for one request; take a new one for another.";
}

/// A kind of this service or of all, by its name.
pub(crate) fn by_name(name: &str) -> Option<&'static Kind> {
    let all = KINDS.iter().chain(web::problem::STANDARD);
    all.copied().find(|kind| kind.name == name)
}
