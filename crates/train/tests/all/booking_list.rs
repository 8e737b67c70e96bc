//! The list of bookings: one's own only, the newest first, page by page.

use jiff::SignedDuration;
use serde_json::json;
use testkit::Store;

use crate::fixture::{ADDRESS, GOOD, Open, TRIP, booking, card, each, text};

testkit::on_both_engines! {
    async fn bookings_are_listed_newest_first_in_pages(store: Store) {
        let open = Open::for_many_holds(store).await;
        let mut ids = Vec::new();
        for _ in 0..25 {
            ids.insert(0, text(&open.ada.hold(TRIP).await, "id").to_owned());
            open.clock.advance(SignedDuration::from_micros(1));
        }
        let page = open.ada.get("/bookings").send().await;
        assert_eq!(each(&page, "id"), ids[..10]);
        let link = |query: &str| format!("{ADDRESS}/bookings{query}");
        assert_eq!(page.json()["links"], json!({"self": link(""), "next": link("?page=2")}));
        let page = open.ada.get("/bookings?page=2").send().await;
        assert_eq!(each(&page, "id"), ids[10..20]);
        let around = json!({"self": link("?page=2"), "next": link("?page=3"), "prev": link("?page=1")});
        assert_eq!(page.json()["links"], around);
        let page = open.ada.get("/bookings?page=3").send().await;
        assert_eq!(each(&page, "id"), ids[20..]);
        assert_eq!(page.json()["links"], json!({"self": link("?page=3"), "prev": link("?page=2")}));
        // A page that is just full has no next one.
        let page = open.ada.get("/bookings?limit=5&page=5").send().await;
        assert_eq!(each(&page, "id"), ids[20..]);
        let links = json!({"self": link("?limit=5&page=5"), "prev": link("?limit=5&page=4")});
        assert_eq!(page.json()["links"], links);
        for (query, expected) in [
            ("?limit=100", &ids[..]),
            ("?limit=25", &ids),
            ("?limit=1", &ids[..1]),
            ("?limit=1&page=25", &ids[24..]),
            ("?limit=1&page=26", &[]),
            ("?limit=24&page=2", &ids[24..]),
            ("?page=4", &[]),
            ("?page=9223372036854775807", &[]),
            ("?page=92233720368547758&limit=100", &[]),
        ] {
            let page = open.ada.get(&format!("/bookings{query}")).send().await;
            assert_eq!(each(&page, "id"), expected, "{query}");
        }
    }

    async fn caller_lists_only_own_bookings(open: Open) {
        let adas = open.ada.hold(TRIP).await;
        let bens = open.ben.hold(TRIP).await;
        assert_eq!(each(&open.ada.get("/bookings").send().await, "id"), [text(&adas, "id")]);
        assert_eq!(each(&open.ben.get("/bookings").send().await, "id"), [text(&bens, "id")]);
    }

    async fn booking_of_another_user_gets_404(open: Open) {
        let expired = open.ada.hold(TRIP).await;
        open.advance(SignedDuration::from_hours(1)).await;
        let (held, confirmed) = (open.ada.hold(TRIP).await, open.ada.hold(TRIP).await);
        open.ada.pay(&confirmed, &card(GOOD)).await.has_status(200);
        open.do_due_work().await;
        let before = open.kept().await;
        let said = "There is no booking with this id.";
        // Not even whether its amount would be right.
        let mut wrong = card(GOOD);
        wrong["amount"] = json!(1);
        for (status, booking) in [("held", &held), ("confirmed", &confirmed), ("expired", &expired)] {
            assert_eq!(open.ben.booking(text(booking, "id")).await.is_problem(404, "not-found"), said);
            assert_eq!(open.ben.cancel(booking).await.is_problem(404, "not-found"), said);
            for body in [&card(GOOD), &wrong] {
                assert_eq!(open.ben.pay(booking, body).await.is_problem(404, "not-found"), said);
            }
            assert!(each(&open.ben.get("/bookings").send().await, "id").is_empty());
            assert_eq!(open.ada.status(booking).await, status);
        }
        assert_eq!(open.kept().await, before);
    }

    async fn client_with_its_own_token_owns_its_bookings(open: Open) {
        let (id, robot) = open.program().await;
        let made = robot.book(&booking(TRIP)).await.has_status(201).json();
        assert_eq!(each(&robot.get("/bookings").send().await, "id"), [text(&made, "id")]);
        assert!(each(&open.ada.get("/bookings").send().await, "id").is_empty());
        open.ada.booking(text(&made, "id")).await.is_problem(404, "not-found");
        robot.pay(&made, &card(GOOD)).await.has_status(200);
        assert_eq!(robot.status(&made).await, "confirmed");
        let owners = open.db.read(|tx| tx.rows("SELECT owner FROM booking", &[], |row| row.get::<String>(0)));
        assert_eq!(owners.await.unwrap_or_else(|error: db::Error| panic!("{error}")), [id]);
    }
}
