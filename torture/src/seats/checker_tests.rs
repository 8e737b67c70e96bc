//! Histories that are linearizable, and histories that are not.

use super::{super::history::after_expiry, *};

const NEVER: i64 = 1_000_000;

fn at(start: i64, end: i64, answer: Answer) -> Operation {
    Operation { start, end, answer }
}

fn held(start: i64, end: i64, booking: Booking) -> Operation {
    at(start, end, Answer::Held { booking, until: NEVER })
}

fn holds(seats: i64, history: &[Operation]) {
    let verdict = check(seats, history);
    assert!(matches!(verdict, Verdict::Linearizable(_)), "{verdict:?}");
}

fn fails_at(seats: i64, history: &[Operation], impossible: Answer) {
    let Verdict::Impossible(found) = check(seats, history) else { panic!("it is linearizable") };
    assert!(found.contains(&format!("answer: {impossible:?} }} has no moment")), "{found}");
}

#[test]
fn one_request_after_another_is_linearizable() {
    holds(
        1,
        &[
            at(0, 1, Answer::Free(1)),
            held(2, 3, 1),
            at(4, 5, Answer::SoldOut),
            at(6, 7, Answer::Is(1, Status::Held)),
            at(8, 9, Answer::Declined(1)),
            at(10, 11, Answer::Paid(1)),
            at(12, 13, Answer::AlreadyPaid(1)),
            at(14, 15, Answer::Cancelled(1)),
            at(16, 17, Answer::Unknown(1)),
            at(18, 19, Answer::Free(1)),
            held(20, 21, 2),
        ],
    );
}

#[test]
fn concurrent_requests_may_take_effect_in_any_order() {
    // The one that was sent last took the seat first; the cancellation took effect between the two.
    holds(1, &[held(0, 20, 1), held(5, 12, 2), at(10, 18, Answer::Cancelled(2))]);
    holds(2, &[held(0, 10, 1), held(0, 10, 2), at(1, 9, Answer::Free(1)), at(1, 9, Answer::Free(0))]);
    holds(1, &[held(0, 1, 1), at(2, 9, Answer::Paid(1)), at(3, 8, Answer::Is(1, Status::Held))]);
}

#[test]
fn seat_that_is_sold_twice_is_found() {
    fails_at(1, &[held(0, 1, 1), held(2, 3, 2)], Answer::Held { booking: 2, until: NEVER });
    fails_at(2, &[held(0, 9, 1), held(1, 8, 2), held(2, 10, 3)], Answer::Held { booking: 3, until: NEVER });
}

#[test]
fn lost_release_is_found() {
    fails_at(1, &[held(0, 1, 1), at(2, 3, Answer::Cancelled(1)), at(4, 5, Answer::SoldOut)], Answer::SoldOut);
    fails_at(2, &[held(0, 1, 1), at(2, 3, Answer::Cancelled(1)), at(4, 5, Answer::Free(1))], Answer::Free(1));
}

#[test]
fn seat_that_is_released_twice_is_found() {
    let history = [held(0, 1, 1), at(2, 3, Answer::Cancelled(1)), at(4, 5, Answer::Cancelled(1))];
    fails_at(1, &history, Answer::Cancelled(1));
}

#[test]
fn stale_read_is_found() {
    fails_at(2, &[held(0, 1, 1), at(2, 3, Answer::Free(2))], Answer::Free(2));
    let paid = [held(0, 1, 1), at(2, 3, Answer::Paid(1)), at(4, 5, Answer::Is(1, Status::Held))];
    fails_at(1, &paid, Answer::Is(1, Status::Held));
    // Two reads that see two changes in different orders.
    let reads = [
        held(0, 1, 1),
        held(2, 3, 2),
        at(4, 20, Answer::Paid(1)),
        at(4, 20, Answer::Paid(2)),
        at(5, 6, Answer::Is(1, Status::Confirmed)),
        at(7, 8, Answer::Is(2, Status::Held)),
        at(9, 10, Answer::Is(2, Status::Confirmed)),
        at(11, 12, Answer::Is(1, Status::Held)),
    ];
    fails_at(2, &reads, Answer::Is(1, Status::Held));
}

#[test]
fn booking_that_is_charged_twice_is_found() {
    let history = [held(0, 1, 1), at(2, 9, Answer::Paid(1)), at(3, 8, Answer::Paid(1))];
    fails_at(1, &history, Answer::Paid(1));
}

#[test]
fn charge_after_the_cancellation_is_found() {
    let history = [held(0, 1, 1), at(2, 3, Answer::Cancelled(1)), at(4, 5, Answer::Paid(1))];
    fails_at(1, &history, Answer::Paid(1));
}

fn held_until(start: i64, end: i64, booking: Booking, until: i64) -> Operation {
    at(start, end, Answer::Held { booking, until })
}

#[test]
fn expired_hold_frees_its_seat() {
    holds(
        1,
        &[
            held_until(0, 1, 1, 10),
            at(8, 9, Answer::SoldOut),
            at(11, 12, Answer::Is(1, Status::Expired)),
            at(13, 14, Answer::TooLate(1)),
            held(15, 16, 2),
        ],
    );
    // This request began before the hold expired, and counts it still.
    holds(2, &[held_until(0, 1, 1, 10), at(9, 14, Answer::Free(0)), held(11, 12, 2)]);
}

#[test]
fn hold_that_expires_too_early_or_too_late_is_found() {
    let early = [held_until(0, 1, 1, 10), at(4, 5, Answer::Is(1, Status::Expired))];
    fails_at(1, &early, Answer::Is(1, Status::Expired));
    let late = [held_until(0, 1, 1, 10), at(14, 15, Answer::SoldOut)];
    fails_at(1, &late, Answer::SoldOut);
    let paid = [held_until(0, 1, 1, 10), at(14, 15, Answer::Paid(1))];
    assert_eq!(after_expiry(&paid).len(), 1);
    fails_at(1, &paid, Answer::Paid(1));
}

#[test]
fn confirmed_booking_does_not_expire() {
    holds(1, &[held_until(0, 1, 1, 10), at(2, 3, Answer::Paid(1)), at(14, 15, Answer::SoldOut)]);
    let lost = [held_until(0, 1, 1, 10), at(2, 3, Answer::Paid(1)), at(14, 15, Answer::Free(1))];
    fails_at(1, &lost, Answer::Free(1));
}

#[test]
fn too_many_open_requests_are_not_decided() {
    let mut history: Vec<_> = (0..30).map(|booking| held(0, 100, booking)).collect();
    history.push(at(1, 99, Answer::Free(0)));
    assert_eq!(check(40, &history), Verdict::Undecided);
}
