//! Controls: sign-in modes and the rate limit, in demo mode only.

use testkit::Store;
use web::{ControlState, Controls, SignInMode};

use crate::fixture::{Open, Setup, general, text};

const TICKETS: &str = "/v1.1/tickets";

async fn open(store: Store, demo: bool, state: ControlState) -> (Open, Controls) {
    let controls = Controls::new(state);
    (Open::on(store, Setup { demo, controls: controls.clone(), ..Setup::default() }).await, controls)
}

fn mode(sign_in: SignInMode) -> ControlState {
    ControlState { sign_in, ..ControlState::default() }
}

testkit::on_both_engines! {
    async fn any_credentials_buy_tickets_of_the_demo_user(store: Store) {
        let (open, controls) = open(store, true, mode(SignInMode::Any)).await;
        let purchase = general("2026-05-20");
        open.anyone.post(TICKETS).json(&purchase).send().await.has_status(401);
        let bought = open.anyone.signed_in("anyone", "anything").post(TICKETS).json(&purchase).send().await;
        let pass = format!("{TICKETS}/{}/pkpass", text(&bought.has_status(201).json(), "ticketId"));
        // Ada acts as the demo user as well, whose ticket it is.
        open.ada.get(&pass).send().await.has_status(200);
        controls.set(ControlState::default());
        open.ada.get(&pass).send().await.has_status(404);
        open.anyone.signed_in("anyone", "anything").get(&pass).send().await.has_status(401);
        open.anyone.signed_in("demo", "demo").get(&pass).send().await.has_status(200);
    }

    async fn calls_need_no_credentials_when_sign_in_is_off(store: Store) {
        let (open, controls) = open(store, true, mode(SignInMode::Off)).await;
        let bought = open.anyone.post(TICKETS).json(&general("2026-05-20")).send().await;
        let pass = format!("{TICKETS}/{}/pkpass", text(&bought.has_status(201).json(), "ticketId"));
        open.anyone.get(&pass).send().await.has_status(200);
        open.anyone.signed_in("ada", "wrong").get(&pass).send().await.has_status(200);
        controls.set(ControlState { calls_per_hour: Some(2), ..mode(SignInMode::Off) });
        open.anyone.get(&pass).send().await.has_status(200);
        open.ada.get(&pass).send().await.has_status(200);
        open.anyone.get(&pass).send().await.is_problem(429, "too-many-requests");
        // Without the demo user there is no account that could own a ticket.
        controls.set(mode(SignInMode::Off));
        open.remove_user("demo").await.unwrap();
        open.anyone.post(TICKETS).json(&general("2026-05-20")).send().await.has_status(401);
        open.anyone.get("/v1.1/special-events").send().await.has_status(200);
    }

    async fn controls_change_nothing_outside_of_a_demo(store: Store) {
        let state = ControlState { calls_per_hour: Some(1), ..mode(SignInMode::Off) };
        let (open, _) = open(store, false, state).await;
        let purchase = general("2026-05-20");
        open.anyone.post(TICKETS).json(&purchase).send().await.has_status(401);
        open.anyone.signed_in("ada", "wrong").post(TICKETS).json(&purchase).send().await.has_status(401);
        for _ in 0..2 {
            open.buy(&purchase).await.has_status(201);
        }
    }
}
