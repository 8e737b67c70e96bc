//! The hourly limit on calls of a caller, and its header in every answer.

use jiff::SignedDuration;
use testkit::Store;

use crate::{
    fixture::{BERLIN, GOOD, NOTHING, Open, Setup, TRIP, booking, card, payment},
    operations::{Operation, operations},
};

async fn with_limit(store: Store, calls_per_hour: u32) -> Open {
    let settings = train::Settings { calls_per_hour, ..train::Settings::default() };
    Open::on(store, Setup { settings, ..Setup::default() }).await
}

testkit::on_both_engines! {
    async fn each_answer_has_the_remaining_calls(store: Store) {
        let open = with_limit(store, 1000).await;
        let made = open.ada.hold(TRIP).await;
        let mut left = 999;
        let calls = [
            (open.ada.get("/stations"), 200),
            (open.ada.get(&format!("/stations/{BERLIN}")), 200),
            (open.ada.get(&format!("/stations/{NOTHING}")), 404),
            (open.ada.get("/stations?limit=0"), 400),
            (open.ada.get("/stations").header("accept", "text/html"), 406),
            (open.ada.get(&format!("/trips/{TRIP}")), 200),
            (open.ada.get("/trips"), 400),
            (open.ada.get("/bookings"), 200),
            (open.ada.call(http::Method::HEAD, "/bookings"), 200),
            (open.ada.post("/bookings").json(&booking(TRIP)), 201),
            (open.ada.post("/bookings").json(&booking(NOTHING)), 404),
            (open.ada.post("/bookings").body("text/plain", ""), 415),
            (open.ada.post("/bookings").body("application/json", "{"), 400),
            (open.ada.post(&payment(&made)).json(&card(GOOD)), 200),
            (open.ada.post(&payment(&made)).json(&card(GOOD)), 409),
            (open.ada.delete(&format!("/bookings/{NOTHING}")), 404),
            (open.ada.get("/stations/x"), 400),
            (open.ada.get("/stations").header("accept", "application/xml"), 200),
        ];
        for (at, (call, status)) in calls.into_iter().enumerate() {
            let answer = call.send().await;
            left -= 1;
            assert_eq!(answer.status, status, "call {at}: {}", answer.text());
            let told = format!("limit=1000, remaining={left}, reset=3600");
            assert_eq!(answer.header("ratelimit"), told, "call {at}");
        }
        // Calls without a caller are not counted: no token, no such path or method, pages.
        for path in ["/stations", "/nothing", "/", "/healthz", "/openapi.json"] {
            assert_eq!(open.anyone.get(path).send().await.header("ratelimit"), "", "{path}");
        }
        assert_eq!(open.ada.get("/nothing").send().await.header("ratelimit"), "");
        assert_eq!(open.ada.call(http::Method::PUT, "/stations").send().await.header("ratelimit"), "");
        let answer = open.ada.get("/stations").send().await;
        assert_eq!(answer.header("ratelimit"), format!("limit=1000, remaining={}, reset=3600", left - 1));
    }

    async fn calls_past_the_limit_get_429_until_the_next_hour(store: Store) {
        let open = with_limit(store, 5).await;
        open.clock.advance(SignedDuration::from_secs(600));
        open.advance(SignedDuration::from_millis(500)).await;
        for left in (0..5).rev() {
            let answer = open.ada.get("/bookings").send().await;
            assert_eq!(
                answer.has_status(200).header("ratelimit"),
                format!("limit=5, remaining={left}, reset=3000")
            );
        }
        let before = open.kept().await;
        for Operation { method, path, .. } in operations() {
            let answer = open.ada.call(method, &path).json(&booking(TRIP)).send().await;
            assert_eq!(
                answer.is_problem(429, "too-many-requests"),
                "This caller may make 5 calls an hour, and has. The next hour starts in 3000 seconds."
            );
            assert_eq!(answer.header("retry-after"), "3000");
            assert_eq!(answer.header("ratelimit"), "limit=5, remaining=0, reset=3000");
            assert_eq!(answer.header("cache-control"), "no-store");
            assert_eq!(answer.header("www-authenticate"), "");
        }
        assert_eq!(open.kept().await, before);
        let answer = open.ada.get("/bookings").header("accept", "application/xml").send().await;
        assert_eq!((answer.status, answer.header("content-type")), (429, "application/problem+xml"));
        // Others have their own, and what needs no sign-in is there.
        let bens = open.ben.get("/bookings").send().await;
        assert_eq!(bens.has_status(200).header("ratelimit"), "limit=5, remaining=4, reset=3000");
        open.anyone.get("/openapi.json").send().await.has_status(200);
        // With another token it is the same caller, and with too little scope none.
        let reader = open.with_scope(&open.ada, "read").await;
        reader.get("/bookings").send().await.is_problem(429, "too-many-requests");
        reader.post("/bookings").send().await.is_problem(403, "forbidden");
        open.advance_to("2026-05-13T10:59:59Z").await;
        let answer = open.ada.get("/bookings").send().await;
        answer.is_problem(429, "too-many-requests");
        assert_eq!(answer.header("retry-after"), "1");
        open.advance_to("2026-05-13T11:00:00Z").await;
        let answer = open.ada.get("/bookings").send().await;
        assert_eq!(answer.has_status(200).header("ratelimit"), "limit=5, remaining=4, reset=3600");
    }

    async fn concurrent_calls_are_all_counted(store: Store) {
        let open = with_limit(store, 20).await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..40 {
            let ada = open.ada.clone();
            calls.spawn(async move { ada.get("/bookings").send().await });
        }
        let mut answered: Vec<_> = calls.join_all().await.iter().map(|answer| answer.status).collect();
        answered.sort_unstable();
        assert_eq!(answered, [[200; 20], [429; 20]].concat());
    }
}
