//! How many calls an hour an account may make.

use jiff::SignedDuration;
use museum::Settings;
use testkit::{Answer, Store};

use crate::fixture::{Open, Setup, general};

#[track_caller]
fn is_used_up(answer: &Answer, seconds: u32) {
    let said =
        format!("This caller may make 3 calls an hour, and has. The next hour starts in {seconds} seconds.");
    assert_eq!(answer.is_problem(429, "too-many-requests"), said);
    assert_eq!(answer.header("retry-after"), seconds.to_string());
    assert_eq!(answer.header("www-authenticate"), "");
}

testkit::on_both_engines! {
    async fn calls_of_an_account_past_the_hourly_limit_get_429(store: Store) {
        let settings = Settings { calls_per_hour: 3, ..Settings::default() };
        let open = Open::on(store, Setup { settings, ..Setup::default() }).await;
        open.clock.advance(SignedDuration::from_mins(10));
        open.events("").await.has_status(200);
        open.buy(&general("2026-05-20")).await.has_status(201);
        // Rejected calls count as well.
        open.event("nothing").await.has_status(400);
        for answer in [
            open.events("").await,
            open.buy(&general("2026-05-20")).await,
            open.pass("019e0000-0000-7000-8000-000000000000").await,
            open.ada.delete("/v1.1/special-events/019e0000-0000-7000-8000-000000000000").send().await,
        ] {
            is_used_up(&answer, 3000);
        }
        // Others go on: another account, and a call that needs none.
        open.ben.get("/v1.1/special-events").send().await.has_status(200);
        open.ada.get("/v1.1/museum-hours").send().await.has_status(200);
        // A call with a wrong password counts for no account.
        open.anyone.signed_in("ada", "wrong").get("/v1.1/special-events").send().await.has_status(401);
        open.clock.advance(SignedDuration::from_secs(2999));
        is_used_up(&open.events("").await, 1);
        open.clock.advance(SignedDuration::from_secs(1));
        open.events("").await.has_status(200);
    }
}
