//! The kinds of problem that only this service has.

use web::problem::Kind;

web::problem_kinds! {
    pub(crate) KINDS:
    DEPARTED, CONFLICT, "departed", "Departed",
        "The trip has departed. It can no longer be booked or paid for, and a paid booking can no longer be cancelled.";
    NO_LONGER_RUNS, CONFLICT, "no-longer-runs", "No longer runs",
        "The trip was booked, but is no longer in the timetable. It cannot be paid for. Cancel the booking: its payment is refunded.";
    SOLD_OUT, CONFLICT, "sold-out", "Sold out",
        "All seats of the trip are taken. A held seat that is not paid for in time becomes free again.";
    TOO_MANY_HOLDS, CONFLICT, "too-many-holds", "Too many holds",
        "The user has the maximum number of unpaid bookings. Pay for one of them, cancel one, or wait until one expires: the Retry-After header has the number of seconds.";
    NO_BICYCLES, CONFLICT, "no-bicycles", "No bicycles",
        "The trip does not take bicycles. Search with bicycles=true for trips that do.";
    NO_DOGS, CONFLICT, "no-dogs", "No dogs",
        "The trip does not take dogs. Search with dogs=true for trips that do.";
    BOOKING_EXPIRED, CONFLICT, "booking-expired", "Booking expired",
        "The booking was not paid for in time, and its seat is available again. Book again.";
    ALREADY_PAID, CONFLICT, "already-paid", "Already paid",
        "The booking is paid for and confirmed.";
    PAYMENT_UNDER_WAY, CONFLICT, "payment-under-way", "Payment under way",
        "Another payment for this booking is not decided yet. Read the booking again in a moment.";
    INBOX_GONE, GONE, "inbox-gone", "Inbox gone",
        "The inbox has expired or was deleted. Nothing should be sent there any more. Create another one.";
    KEY_IN_USE, CONFLICT, "idempotency-key-in-use", "Idempotency-Key in use",
        "The first request with this Idempotency-Key is still being processed. Send the request again in a moment.";
    KEY_REUSED, UNPROCESSABLE_ENTITY, "idempotency-key-reused", "Idempotency-Key reused",
        "This Idempotency-Key was used with another body. Use a new key for each new request.";
}

/// A kind of this service or a standard kind, by its name.
pub(crate) fn by_name(name: &str) -> Option<&'static Kind> {
    let all = KINDS.iter().chain(web::problem::STANDARD);
    all.copied().find(|kind| kind.name == name)
}
