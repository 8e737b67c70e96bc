use std::{
    pin::Pin,
    task::{Context, Waker},
};

use tokio::time::timeout;

use super::*;

const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Fails a test that would otherwise hang.
async fn soon<F: Future>(event: F) -> F::Output {
    timeout(Duration::from_secs(30), event).await.expect("the wait did not end")
}

fn is_pending(waiting: &mut (impl Future<Output = ()> + Unpin)) -> bool {
    Pin::new(waiting).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

fn start() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn frozen() -> Clock {
    Clock::adjustable(ClockState::default().freeze(start()))
}

/// Changes the state of a clock.
fn change(clock: &Clock, change: impl FnOnce(ClockState, Timestamp) -> ClockState) {
    clock.set_state(change(clock.state(), Clock::machine_time())).unwrap();
}

fn advance(clock: &Clock, by: SignedDuration) {
    change(clock, |state, machine| state.advance(machine, by).unwrap());
}

#[tokio::test]
async fn manual_clock_wakes_a_waiting_task_when_it_is_moved() {
    let clock = Clock::manual(start());
    assert_eq!(clock.now(), start());
    let due = start() + HOUR;
    let waiting = tokio::spawn({
        let clock = clock.clone();
        async move {
            clock.wait_until(due).await;
            clock.now()
        }
    });
    clock.advance(SignedDuration::from_mins(59));
    assert!(!waiting.is_finished());
    clock.advance(SignedDuration::from_mins(1));
    assert_eq!(waiting.await.unwrap(), due);
}

#[tokio::test]
async fn clock_does_not_wait_for_a_past_time() {
    for clock in [Clock::system(), Clock::adjustable(ClockState::default()), frozen()] {
        soon(clock.wait_until(clock.now() - SignedDuration::from_secs(5))).await;
        soon(clock.wait_until(clock.now())).await;
    }
}

#[test]
fn adjustable_clock_follows_the_machine_at_its_distance() {
    let clock = Clock::adjustable(ClockState { offset: HOUR, frozen_at: None });
    let before = Clock::machine_time() + HOUR;
    let shown = clock.now();
    assert!(before <= shown && shown <= Clock::machine_time() + HOUR, "{before} {shown}");
}

#[test]
fn clones_of_a_clock_share_its_state() {
    let clock = frozen();
    let other = clock.clone();
    advance(&clock, HOUR);
    assert_eq!((other.now(), other.state()), (start() + HOUR, clock.state()));
}

#[tokio::test]
async fn clock_that_runs_wakes_at_the_due_time() {
    let clock = Clock::adjustable(ClockState { offset: -HOUR * 24, frozen_at: None });
    let due = clock.now() + SignedDuration::from_millis(20);
    soon(clock.wait_until(due)).await;
    assert!(clock.now() >= due);
}

#[tokio::test]
async fn clock_that_is_moved_past_the_due_time_wakes_at_once() {
    for clock in [Clock::adjustable(ClockState::default()), frozen()] {
        let mut waiting = Box::pin(clock.wait_until(clock.now() + HOUR));
        assert!(is_pending(&mut waiting));
        advance(&clock, HOUR / 2);
        assert!(is_pending(&mut waiting));
        advance(&clock, HOUR / 2);
        soon(waiting).await;
    }
}

#[test]
fn frozen_clock_waits_until_it_is_resumed() {
    let clock = frozen();
    let mut waiting = Box::pin(clock.wait_until(start() + SignedDuration::from_millis(5)));
    // Without a runtime, a timer of this wait would panic.
    assert!(is_pending(&mut waiting));
    let mut resumed = clock.state().resume(Clock::machine_time());
    resumed.offset += SignedDuration::from_secs(1);
    clock.set_state(resumed).unwrap();
    assert!(!is_pending(&mut waiting));
}

#[tokio::test]
async fn clock_that_is_frozen_during_a_wait_waits_until_it_is_moved() {
    let clock = Clock::adjustable(ClockState::default());
    let mut waiting = Box::pin(clock.wait_until(clock.now() + HOUR));
    assert!(is_pending(&mut waiting));
    change(&clock, ClockState::freeze);
    assert!(is_pending(&mut waiting));
    advance(&clock, HOUR);
    soon(waiting).await;
}

#[tokio::test]
async fn clock_that_is_set_back_ends_a_wait() {
    for clock in [Clock::adjustable(ClockState::default()), frozen()] {
        let mut waiting = Box::pin(clock.wait_until(clock.now() + HOUR));
        assert!(is_pending(&mut waiting));
        advance(&clock, -HOUR);
        soon(waiting).await;
    }
}

#[test]
fn only_an_adjustable_clock_has_a_state_that_can_be_set() {
    let state = ClockState { offset: HOUR, frozen_at: None };
    for clock in [Clock::system(), Clock::manual(start())] {
        let before = clock.state();
        assert_eq!(clock.set_state(state), Err(ClockError::Fixed));
        assert_eq!(clock.state(), before);
    }
    assert_eq!(Clock::manual(start()).state().frozen_at, Some(start()));
    let clock = frozen();
    let out = ClockState { offset: SignedDuration::MAX, frozen_at: None };
    assert_eq!(clock.set_state(out), Err(ClockError::OutOfRange));
    assert_eq!((clock.now(), clock.set_state(state)), (start(), Ok(())));
    assert_eq!(clock.state(), state);
}

#[tokio::test]
async fn waits_of_the_machine_do_not_follow_an_adjustable_clock() {
    let clock = frozen().of_machine();
    soon(clock.wait_until(clock.now() + SignedDuration::from_millis(5))).await;
    let manual = Clock::manual(start());
    assert_eq!(manual.of_machine().now(), start());
}
