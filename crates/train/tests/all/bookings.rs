//! Bookings: made, read and cancelled, in both forms; and why one cannot be made.

use serde_json::{Value, json};

use crate::fixture::{
    ADDRESS, GOOD, NO_BICYCLES, NO_DOGS, NOTHING, Open, TRIP, booking, card, is_xml, text, vary,
};

/// TGV 9714 on 20 May takes neither bicycles nor dogs.
const NEITHER: &str = "f194dd6a-bc2e-8000-8032-810a00005071";

fn held(id: &str) -> Value {
    json!({
        "id": id,
        "trip_id": TRIP,
        "passenger_name": "Ada Lovelace",
        "has_bicycle": true,
        "has_dog": true,
        "status": "held",
        "expires_at": "2026-05-13T11:00:00Z",
        "links": {"self": format!("{ADDRESS}/bookings/{id}"), "trip": format!("{ADDRESS}/trips/{TRIP}")},
    })
}

fn held_in_xml(id: &str) -> String {
    format!(
        "<booking><id>{id}</id><trip_id>{TRIP}</trip_id><passenger_name>Ada Lovelace</passenger_name>\
         <has_bicycle>true</has_bicycle><has_dog>true</has_dog><status>held</status>\
         <expires_at>2026-05-13T11:00:00Z</expires_at><links><self>{ADDRESS}/bookings/{id}</self>\
         <trip>{ADDRESS}/trips/{TRIP}</trip></links></booking>"
    )
}

const VARY: [&str; 2] = ["accept", "access-control-request-headers"];

testkit::on_both_engines! {
    async fn booking_is_created_and_read_in_json(open: Open) {
        let new =
            json!({"trip_id": TRIP, "passenger_name": "Ada Lovelace", "has_bicycle": true, "has_dog": true});
        let answer = open.ada.book(&new).await;
        let id = text(&answer.json(), "id").to_owned();
        answer.is(201, &held(&id));
        assert_eq!(answer.header("location"), format!("{ADDRESS}/bookings/{id}"));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99999, reset=3600");
        assert_eq!(vary(&answer), VARY);

        let answer = open.ada.booking(&id).await;
        answer.is(200, &held(&id));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("location"), "");
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99998, reset=3600");
        assert_eq!(vary(&answer), VARY);

        let answer = open.ada.get("/bookings").send().await;
        answer.is(200, &json!({"data": [held(&id)], "links": {"self": format!("{ADDRESS}/bookings")}}));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99997, reset=3600");
        assert_eq!(vary(&answer), VARY);
    }

    async fn links_of_a_booking_work(open: Open) {
        let answer = open.ada.book(&booking(TRIP)).await;
        let made = answer.has_status(201).json();
        let follow = async |link: &str| {
            let path = link.strip_prefix(ADDRESS).unwrap_or_else(|| panic!("{link} is not complete"));
            open.ada.get(path).send().await.has_status(200).json()
        };
        assert_eq!(follow(answer.header("location")).await, made);
        assert_eq!(follow(text(&made["links"], "self")).await, made);
        let paid = open.ada.pay(&made, &card(GOOD)).await.has_status(200).json();
        assert_eq!(follow(text(&paid["links"], "booking")).await["status"], "confirmed");
        let trip = follow(&format!("{ADDRESS}/trips/{}", text(&made, "trip_id"))).await;
        assert_eq!(follow(text(&trip["links"], "self")).await, trip);
        for end in ["origin", "destination"] {
            assert_eq!(follow(text(&trip["links"], end)).await["id"], trip[end]);
        }
    }

    async fn booking_is_created_and_read_in_xml(open: Open) {
        let new = format!(
            "<?xml version=\"1.0\"?>\n<booking>\n  <trip_id> {TRIP} </trip_id><passenger_name>Ada Lovelace</passenger_name>\
             <has_bicycle>1</has_bicycle><has_dog>true</has_dog></booking>"
        );
        let call = open.ada.post("/bookings").header("accept", "application/xml");
        let answer = call.body("application/xml", new).send().await;
        let id = answer.header("location").rsplit('/').next().unwrap().to_owned();
        is_xml(&answer, 201, &held_in_xml(&id));
        assert_eq!(answer.header("location"), format!("{ADDRESS}/bookings/{id}"));
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(vary(&answer), VARY);

        let path = format!("/bookings/{id}");
        let answer = open.ada.get(&path).header("accept", "application/xml").send().await;
        is_xml(&answer, 200, &held_in_xml(&id));
        assert_eq!(answer.header("cache-control"), "no-store");
        let answer = open.ada.get("/bookings").header("accept", "application/xml").send().await;
        let links = format!("<links><self>{ADDRESS}/bookings</self></links>");
        is_xml(&answer, 200, &format!("<data><bookings>{}</bookings>{links}</data>", held_in_xml(&id)));
        // The same booking in either form, whichever it was made in.
        open.ada.booking(&id).await.is(200, &held(&id));
    }

    async fn formats_of_request_and_response_are_independent(open: Open) {
        let xml = format!("<booking><trip_id>{TRIP}</trip_id><passenger_name>Ada</passenger_name></booking>");
        for content_type in ["application/xml", "text/xml", "application/xml; charset=utf-8"] {
            let answer = open.ada.post("/bookings").body(content_type, xml.clone()).send().await;
            assert_eq!((answer.status, answer.header("content-type")), (201, "application/json"));
        }
        let call = open.ada.post("/bookings").header("accept", "application/json;q=0.1, text/xml");
        let answer = call.json(&booking(TRIP)).send().await;
        assert_eq!((answer.status, answer.header("content-type")), (201, "text/xml; charset=utf-8"));
    }

    async fn absent_members_are_false_and_unknown_members_ignored(open: Open) {
        for more in [
            json!({}),
            json!({"id": NOTHING, "status": "confirmed", "expires_at": 7, "links": null, "x": {}}),
        ] {
            let mut new = booking(TRIP);
            new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let made = open.ada.book(&new).await.has_status(201).json();
            assert_ne!(text(&made, "id"), NOTHING);
            assert_eq!((&made["has_bicycle"], &made["has_dog"]), (&json!(false), &json!(false)));
            assert_eq!(text(&made, "status"), "held");
        }
        let explicit =
            json!({"trip_id": TRIP, "passenger_name": "Ada", "has_bicycle": false, "has_dog": false});
        open.ada.book(&explicit).await.has_status(201);
    }

    async fn names_are_returned_unchanged(open: Open) {
        let longest = "é".repeat(200);
        for name in [
            "O'Neil <b>&amp;</b> \"Søn\"",
            "  José\tÅkesson ",
            "陳 大文 🦀",
            "line\r\nbreak",
            "' OR 1=1; --",
            "\u{200f}עדה",
            &longest,
            "x",
        ] {
            let new = json!({"trip_id": TRIP, "passenger_name": name});
            let made = open.ada.book(&new).await.has_status(201).json();
            assert_eq!(text(&made, "passenger_name"), name);
            let path = format!("/bookings/{}", text(&made, "id"));
            assert_eq!(text(&open.ada.get(&path).send().await.json(), "passenger_name"), name);
            let answer = open.ada.get(&path).header("accept", "application/xml").send().await;
            let escaped = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let escaped = escaped.replace('\r', "&#13;");
            let expected = format!("<passenger_name>{escaped}</passenger_name>");
            assert!(answer.has_status(200).text().contains(&expected), "{}", answer.text());
        }
    }

    async fn cancelled_booking_gets_404_and_is_not_listed(open: Open) {
        let made = open.ada.hold(TRIP).await;
        let answer = open.ada.cancel(&made).await;
        assert_eq!((answer.status, answer.text().as_str()), (204, ""));
        assert_eq!(answer.header("content-type"), "");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(answer.header("ratelimit"), "limit=100000, remaining=99998, reset=3600");
        let said = "There is no booking with this id.";
        let again = open.ada.cancel(&made).await;
        assert_eq!(again.is_problem(404, "not-found"), said);
        assert_eq!(again.header("cache-control"), "no-store");
        let id = text(&made, "id");
        assert_eq!(open.ada.booking(id).await.is_problem(404, "not-found"), said);
        assert_eq!(open.ada.pay(&made, &card(GOOD)).await.is_problem(404, "not-found"), said);
        let page = open.ada.get("/bookings").send().await;
        page.is(200, &json!({"data": [], "links": {"self": format!("{ADDRESS}/bookings")}}));
    }

    async fn unknown_booking_gets_404(open: Open) {
        let said = "There is no booking with this id.";
        let path = format!("/bookings/{NOTHING}");
        assert_eq!(open.ada.get(&path).send().await.is_problem(404, "not-found"), said);
        assert_eq!(open.ada.delete(&path).send().await.is_problem(404, "not-found"), said);
        let pay = open.ada.post(&format!("{path}/payment")).json(&card(GOOD)).send().await;
        assert_eq!(pay.is_problem(404, "not-found"), said);
        let call = open.ada.delete(&path).header("accept", "application/xml").header("x-request-id", "gone");
        let answer = call.send().await;
        assert_eq!((answer.status, answer.header("content-type")), (404, "application/problem+xml"));
        assert_eq!(
            answer.text(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><problem xmlns=\"urn:ietf:rfc:7807\">\
             <type>/problems/not-found</type><title>Not found</title><status>404</status>\
             <detail>There is no booking with this id.</detail><instance>gone</instance></problem>"
        );
    }

    async fn unknown_trip_cannot_be_booked(open: Open) {
        // An unknown trip; a day on which the train does not run; the day after the last.
        for trip in [NOTHING, "00fa9423-0bb4-8000-80ed-4ec800005072", "2f87bac9-12fc-8000-80a8-ac01000050c5"]
        {
            let answer = open.ada.book(&booking(trip)).await;
            assert_eq!(answer.is_problem(404, "not-found"), "There is no trip with this id; see /trips.");
            assert_eq!(answer.header("ratelimit").split(", ").next(), Some("limit=100000"));
        }
        let last = "2f87bac9-12fc-8000-80a8-ac01000050c4";
        open.ada.hold(last).await;
        open.advance_to("2026-05-13T22:00:00Z").await;
        open.ada.hold("2f87bac9-12fc-8000-80a8-ac01000050c5").await;
    }

    async fn departed_trip_cannot_be_booked(open: Open) {
        // This morning's.
        let answer = open.ada.book(&booking("2f87bac9-12fc-8000-80a8-ac010000506a")).await;
        assert_eq!(answer.is_problem(409, "departed"), "The trip departed at 2026-05-13T03:52:00Z.");
        assert_eq!(answer.json()["title"], "Departed");
        open.advance_to("2026-05-20T03:51:59.999999Z").await;
        open.ada.hold(TRIP).await;
        open.advance_to("2026-05-20T03:52:00Z").await;
        let answer = open.ada.book(&booking(TRIP)).await;
        assert_eq!(answer.is_problem(409, "departed"), "The trip departed at 2026-05-20T03:52:00Z.");
        // Years ago.
        let answer = open.ada.book(&booking("2f87bac9-12fc-8000-80a8-ac0100000000")).await;
        answer.is_problem(409, "departed");
    }

    async fn bicycle_or_dog_is_rejected_unless_the_trip_allows_it(open: Open) {
        let book = async |trip: &str, bicycle: bool, dog: bool| {
            let new =
                json!({"trip_id": trip, "passenger_name": "Ada", "has_bicycle": bicycle, "has_dog": dog});
            open.ada.book(&new).await
        };
        for (trip, takes_bicycles, takes_dogs) in
            [(TRIP, true, true), (NO_DOGS, true, false), (NO_BICYCLES, false, true), (NEITHER, false, false)]
        {
            for (bicycle, dog) in [(false, false), (true, false), (false, true), (true, true)] {
                let answer = book(trip, bicycle, dog).await;
                let (kind, detail) = match (bicycle && !takes_bicycles, dog && !takes_dogs) {
                    (false, false) => {
                        answer.has_status(201);
                        continue;
                    }
                    (true, _) => ("no-bicycles", "The trip takes no bicycles."),
                    (false, true) => ("no-dogs", "The trip takes no dogs."),
                };
                assert_eq!(answer.is_problem(409, kind), detail, "{trip}");
            }
        }
        assert_eq!(open.seats(NEITHER).await, 315, "who was refused took no seat");
    }
}
