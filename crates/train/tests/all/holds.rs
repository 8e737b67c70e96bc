//! A booking is a hold on a seat: until its hour is over, and not a moment longer.

use jiff::SignedDuration;
use serde_json::json;
use testkit::Store;

use crate::fixture::{
    ADDRESS, GOOD, INTERLAKEN, LUZERN, Open, SMALL, Setup, TRIP, booking, card, each, is_xml, text,
};

const MICROSECOND: SignedDuration = SignedDuration::from_micros(1);

impl Open {
    /// When the trips from Luzern to Interlaken on 20 May that are not sold out leave.
    async fn small_trips(&self) -> Vec<String> {
        let path = format!("/trips?origin={LUZERN}&destination={INTERLAKEN}&date=2026-05-20");
        each(&self.ada.get(&path).send().await, "id")
    }

    /// Takes all seats of the small trip but this many.
    async fn fill_but(&self, left: usize) {
        for _ in 0..12 - left {
            self.ben.hold(SMALL).await;
        }
    }
}

testkit::on_both_engines! {
    async fn hold_lasts_exactly_an_hour(open: Open) {
        let made = open.ada.hold(TRIP).await;
        assert_eq!(text(&made, "expires_at"), "2026-05-13T11:00:00Z");
        assert_eq!(open.seats(TRIP).await, 339);
        open.advance(SignedDuration::from_hours(1) - MICROSECOND).await;
        open.ada.booking(text(&made, "id")).await.is(200, &made);
        assert_eq!(open.seats(TRIP).await, 339);
        open.advance(MICROSECOND).await;
        let mut expired = made.clone();
        expired["status"] = json!("expired");
        expired.as_object_mut().unwrap().remove("expires_at");
        let id = text(&made, "id");
        open.ada.booking(id).await.is(200, &expired);
        let this = json!({"self": format!("{ADDRESS}/bookings")});
        open.ada.get("/bookings").send().await.is(200, &json!({"data": [expired], "links": this}));
        let answer =
            open.ada.get(&format!("/bookings/{id}")).header("accept", "application/xml").send().await;
        let expected = format!(
            "<booking><id>{id}</id><trip_id>{TRIP}</trip_id><passenger_name>Ada Lovelace</passenger_name>\
             <has_bicycle>false</has_bicycle><has_dog>false</has_dog><status>expired</status>\
             <links><self>{ADDRESS}/bookings/{id}</self>\
             <trip>{ADDRESS}/trips/{TRIP}</trip></links></booking>"
        );
        is_xml(&answer, 200, &expected);
        assert_eq!(open.seats(TRIP).await, 340, "before the sweeper ran");
        // A sweep does not change the answers.
        open.do_due_work().await;
        open.ada.booking(id).await.is(200, &expired);
        assert_eq!(open.seats(TRIP).await, 340);
        open.do_due_work().await;
        assert_eq!(open.seats(TRIP).await, 340);
    }

    async fn length_of_a_hold_is_a_setting(store: Store) {
        let hold = SignedDuration::from_secs(90);
        let settings = train::Settings { hold_seconds: 90, ..train::Settings::default() };
        let open = Open::on(store, Setup { settings, ..Setup::default() }).await;
        let made = open.ada.hold(TRIP).await;
        assert_eq!(text(&made, "expires_at"), "2026-05-13T10:01:30Z");
        open.advance(hold - MICROSECOND).await;
        assert_eq!(open.ada.status(&made).await, "held");
        open.advance(MICROSECOND).await;
        assert_eq!(open.ada.status(&made).await, "expired");
    }

    async fn expiry_of_a_hold_is_rounded_to_microseconds(open: Open) {
        open.clock.advance(SignedDuration::from_nanos(1_600));
        let made = open.ada.hold(TRIP).await;
        assert_eq!(text(&made, "expires_at"), "2026-05-13T11:00:00.000002Z");
        open.ada.booking(text(&made, "id")).await.is(200, &made);
    }

    async fn last_seat_can_be_booked_when_its_hold_expires(open: Open) {
        open.fill_but(1).await;
        open.advance(SignedDuration::from_mins(1)).await;
        let made = open.ada.hold(SMALL).await;
        // The eleven others end a minute before.
        open.advance(SignedDuration::from_mins(59) - MICROSECOND).await;
        let answer = open.ada.book(&booking(SMALL)).await;
        assert_eq!(answer.is_problem(409, "sold-out"), "Every seat of the trip is taken.");
        assert_eq!(answer.json()["title"], "Sold out");
        open.advance(MICROSECOND).await;
        assert_eq!(open.seats(SMALL).await, 11);
        for _ in 0..11 {
            open.ada.hold(SMALL).await;
        }
        open.ada.book(&booking(SMALL)).await.is_problem(409, "sold-out");
        assert_eq!(open.ada.status(&made).await, "held");
        assert_eq!(open.seats(SMALL).await, 0);
        // Whichever way expired holds are found, each gives back one seat.
        open.do_due_work().await;
        assert_eq!(open.seats(SMALL).await, 0);
        open.advance(SignedDuration::from_mins(1)).await;
        assert_eq!(open.seats(SMALL).await, 1);
        open.do_due_work().await;
        open.ben.hold(SMALL).await;
        open.ben.book(&booking(SMALL)).await.is_problem(409, "sold-out");
    }

    async fn expiry_that_one_request_has_shown_holds_for_those_with_an_earlier_time(open: Open) {
        // A clock that is set back stands for a request that read its time before, and waited.
        let back = || open.clock.advance(-MICROSECOND);
        let hour = SignedDuration::from_hours(1);
        for show in ["booking", "bookings", "trip", "trips", "payment"] {
            open.fill_but(1).await;
            let made = open.ada.hold(SMALL).await;
            open.advance(hour).await;
            match show {
                "booking" => assert_eq!(open.ada.status(&made).await, "expired"),
                "bookings" => {
                    let all = each(&open.ada.get("/bookings").send().await, "status");
                    assert!(all.iter().all(|status| status == "expired"), "{all:?}");
                }
                "trip" => assert_eq!(open.seats(SMALL).await, 12),
                "trips" => assert_eq!(open.small_trips().await[0], SMALL),
                _ => {
                    let answer = open.ada.pay(&made, &card(GOOD)).await;
                    let detail = answer.is_problem(409, "booking-expired");
                    assert_eq!(detail, "The booking was not paid for in time. Book again.");
                }
            }
            back();
            assert_eq!(open.ada.status(&made).await, "expired", "after a {show} showed it");
            open.ada.pay(&made, &card(GOOD)).await.is_problem(409, "booking-expired");
            assert_eq!(open.seats(SMALL).await, 12);
            // By its own time, this request would find all seats held.
            let new = open.ada.hold(SMALL).await;
            open.ada.cancel(&new).await.has_status(204);
        }
    }

    async fn sold_out_trip_is_not_offered_until_a_seat_is_free(open: Open) {
        let all = open.small_trips().await;
        assert_eq!((all.len(), all[0].as_str()), (4, SMALL));
        open.fill_but(1).await;
        assert_eq!(open.small_trips().await, all);
        let last = open.ada.hold(SMALL).await;
        assert_eq!(open.small_trips().await, all[1..]);
        assert_eq!(open.seats(SMALL).await, 0, "by its id it is still there");
        open.ada.cancel(&last).await.has_status(204);
        assert_eq!(open.small_trips().await, all);
        let last = open.ada.hold(SMALL).await;
        open.ada.pay(&last, &card(GOOD)).await.has_status(200);
        assert_eq!(open.small_trips().await, all[1..]);
        open.advance(SignedDuration::from_hours(1) - MICROSECOND).await;
        assert_eq!(open.small_trips().await, all[1..]);
        open.advance(MICROSECOND).await;
        assert_eq!(open.small_trips().await, all);
        assert_eq!(open.seats(SMALL).await, 11, "all but the one that is paid for");
    }

    async fn seats_are_counted_through_hold_payment_cancellation_and_expiry(open: Open) {
        let mut expected = 12;
        let mut made = Vec::new();
        for _ in 0..5 {
            made.push(open.ada.hold(SMALL).await);
            expected -= 1;
            assert_eq!(open.seats(SMALL).await, expected);
        }
        open.ada.pay(&made[0], &card(GOOD)).await.has_status(200);
        open.ada.pay(&made[1], &card("4000000000000002")).await.has_status(200);
        assert_eq!(open.seats(SMALL).await, expected, "paying takes none, declined or not");
        open.ada.cancel(&made[2]).await.has_status(204);
        expected += 1;
        assert_eq!(open.seats(SMALL).await, expected);
        open.ada.cancel(&made[2]).await.is_problem(404, "not-found");
        assert_eq!(open.seats(SMALL).await, expected, "it is freed once");
        open.advance(SignedDuration::from_hours(1)).await;
        expected += 3;
        // An expired booking has no seat to give back, swept or not.
        open.ada.cancel(&made[1]).await.has_status(204);
        assert_eq!(open.seats(SMALL).await, expected, "three were held");
        open.do_due_work().await;
        assert_eq!(open.seats(SMALL).await, expected);
        open.ada.cancel(&made[3]).await.has_status(204);
        assert_eq!(open.seats(SMALL).await, expected);
        for gone in &made[1..4] {
            open.ada.cancel(gone).await.is_problem(404, "not-found");
        }
        // A confirmed one has.
        open.ada.cancel(&made[0]).await.has_status(204);
        assert_eq!(open.seats(SMALL).await, 12);
        open.ada.cancel(&made[0]).await.is_problem(404, "not-found");
        assert_eq!(open.seats(SMALL).await, 12);
        assert_eq!(open.ada.status(&made[4]).await, "expired");
        // And twelve can be booked again, not thirteen.
        open.fill_but(0).await;
        open.ada.book(&booking(SMALL)).await.is_problem(409, "sold-out");
    }

    async fn confirmed_booking_does_not_expire(open: Open) {
        let made = open.ada.hold(TRIP).await;
        open.ada.pay(&made, &card(GOOD)).await.has_status(200);
        let mut confirmed = made.clone();
        confirmed["status"] = json!("confirmed");
        confirmed.as_object_mut().unwrap().remove("expires_at");
        let id = text(&made, "id");
        open.ada.booking(id).await.is(200, &confirmed);
        open.advance(SignedDuration::from_hours(24)).await;
        open.do_due_work().await;
        open.ada.booking(id).await.is(200, &confirmed);
        assert_eq!(open.seats(TRIP).await, 339);
        // Also after departure.
        open.advance_to("2026-06-20T00:00:00Z").await;
        open.do_due_work().await;
        open.ada.booking(id).await.is(200, &confirmed);
    }

    async fn trips_have_separate_seats(open: Open) {
        open.fill_but(0).await;
        // The same train a day later, and the next train of the day.
        for other in ["a82812fa-ed74-8000-80fd-35c400005072", "a55b7483-a1bb-8000-80b5-a56a00005071"] {
            assert_eq!(open.seats(other).await, 12);
            open.ada.hold(other).await;
            assert_eq!(open.seats(other).await, 11);
        }
        assert_eq!(open.seats(SMALL).await, 0);
    }
}
