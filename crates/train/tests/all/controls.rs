//! Controls: sign-in modes, lifetimes, tokens that expire at once, rotated keys and the rate limit, in demo mode only.

use identity::oauth::OldKeys;
use jiff::SignedDuration;
use service::Instance;
use testkit::Store;
use train::SERVICE;
use web::{ControlState, Controls, SignInMode};

use crate::{
    fixture::{Open, Setup, TRIP, booking, each, instance, text},
    operations::operations,
};

async fn open(store: Store, demo: bool, state: ControlState) -> (Open, Instance) {
    let setup = || Setup { demo, controls: Controls::new(state), ..Setup::default() };
    let (first, second) = (setup(), setup());
    let controls = first.controls.clone();
    let open = Open::on(store, first).await;
    let instance = Instance { controls, ..instance(&second, &open.db, &open.clock) };
    (open, instance)
}

fn mode(sign_in: SignInMode) -> ControlState {
    ControlState { sign_in, ..ControlState::default() }
}

testkit::on_both_engines! {
    async fn any_token_books_for_the_demo_user(store: Store) {
        let (open, instance) = open(store, true, mode(SignInMode::Any)).await;
        let anyone = |token: &str| format!("Bearer {token}");
        open.anyone.get("/bookings").send().await.has_status(401);
        let call = open.anyone.post("/bookings").header("authorization", &anyone("any-text")).json(&booking(TRIP));
        let booked = call.send().await.has_status(201).json();
        // Ada acts as the demo user as well, whose booking it is.
        assert_eq!(each(&open.ada.get("/bookings").send().await, "id"), [text(&booked, "id")]);
        instance.controls.set(ControlState::default());
        assert_eq!(each(&open.ada.get("/bookings").send().await, "id"), [""; 0]);
        open.anyone.get("/bookings").header("authorization", &anyone("any-text")).send().await.has_status(401);
        let demo = SERVICE.accounts(&instance).unwrap().find("demo").await.unwrap().unwrap();
        let token = open.sign_in.token_for(demo, None).await.unwrap();
        let own = open.anyone.get("/bookings").header("authorization", &anyone(&token)).send().await;
        assert_eq!(each(&own, "id"), [text(&booked, "id")]);
    }

    async fn no_operation_needs_a_token_when_sign_in_is_off(store: Store) {
        let (open, instance) = open(store, true, mode(SignInMode::Off)).await;
        for operation in &operations() {
            let answer = open.anyone.call(operation.method.clone(), &operation.path).send().await;
            assert!(![401, 403, 500].contains(&answer.status), "{}: {}", operation.id, answer.text());
        }
        open.anyone.post("/bookings").json(&booking(TRIP)).send().await.has_status(201);
        let listed = open.anyone.get("/bookings").header("authorization", "Bearer a.b.c").send().await;
        assert_eq!(each(&listed, "id").len(), 1);
        instance.controls.set(ControlState { calls_per_hour: Some(1), ..mode(SignInMode::Off) });
        let last = open.anyone.get("/stations").send().await;
        assert_eq!(last.has_status(200).header("ratelimit"), "limit=1, remaining=0, reset=3600");
        open.anyone.get("/stations").send().await.is_problem(429, "too-many-requests");
        // Without the demo user, calls act as an account that does not exist.
        instance.controls.set(mode(SignInMode::Off));
        SERVICE.accounts(&instance).unwrap().remove("demo").await.unwrap();
        assert_eq!(each(&open.anyone.get("/bookings").send().await, "id").len(), 0);
        open.anyone.post("/bookings").json(&booking(TRIP)).send().await.has_status(201);
    }

    async fn tokens_expire_and_keys_rotate_at_once(store: Store) {
        let (open, instance) = open(store, true, ControlState::default()).await;
        open.ada.get("/stations").send().await.has_status(200);
        open.clock.advance(SignedDuration::from_micros(1));
        let not_before = Some(open.clock.now());
        instance.controls.set(ControlState { tokens_not_before: not_before, ..ControlState::default() });
        let old = open.ada.get("/stations").send().await;
        assert_eq!(old.is_problem(401, "unauthorized"), "The access token has expired.");
        open.advance(SignedDuration::ZERO).await;
        open.ada.get("/stations").send().await.has_status(200);
        SERVICE.rotate_keys(&instance, OldKeys::Keep).await.unwrap();
        open.ada.get("/stations").send().await.has_status(200);
        SERVICE.rotate_keys(&instance, OldKeys::Drop).await.unwrap();
        let old = open.ada.get("/stations").send().await;
        assert_eq!(old.is_problem(401, "unauthorized"), "The access token is signed by an unknown key.");
        open.advance(SignedDuration::ZERO).await;
        open.ada.get("/stations").send().await.has_status(200);
    }

    async fn controls_change_nothing_outside_of_a_demo(store: Store) {
        let state = ControlState {
            access_token_seconds: Some(1),
            tokens_not_before: Some("2030-01-01T00:00:00Z".parse().unwrap()),
            calls_per_hour: Some(1),
            ..mode(SignInMode::Off)
        };
        let (open, _) = open(store, false, state).await;
        open.anyone.get("/stations").send().await.has_status(401);
        open.anyone.get("/stations").header("authorization", "Bearer any").send().await.has_status(401);
        open.clock.advance(SignedDuration::from_mins(9));
        for _ in 0..2 {
            open.ada.get("/stations").send().await.has_status(200);
        }
    }
}
