//! The clock. Code that needs the time gets a [`Clock`], so that it can be moved.

mod state;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

pub use state::{ClockError, ClockState};

/// The longest sleep: the machine's clock may be set during it.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The clock of a service: that of the machine, one that can be moved while it runs, or a manual one that a test moves.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Adjustable(Arc<Adjustable>),
    Manual(Arc<watch::Sender<Timestamp>>),
}

#[derive(Debug)]
struct Adjustable {
    state: watch::Sender<ClockState>,
    /// Whether the state is not the default one, in which the clock is the machine's, and reading it needs no lock.
    is_moved: AtomicBool,
}

impl Adjustable {
    fn new(state: ClockState) -> Self {
        let is_moved = AtomicBool::new(state != ClockState::default());
        Adjustable { state: watch::Sender::new(state), is_moved }
    }

    fn now(&self) -> Timestamp {
        let now = machine_time();
        if self.is_moved.load(Ordering::Acquire) { self.state.borrow().now(now) } else { now }
    }

    fn set(&self, state: ClockState) {
        self.state.send_modify(|current| {
            *current = state;
            // While the state is locked, so that the last change decides about both.
            self.is_moved.store(state != ClockState::default(), Ordering::Release);
        });
    }
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Clock(Source::System)
    }

    /// A clock that follows the machine's clock at a distance, and can be moved and frozen: see [`Clock::set_state`].
    pub fn adjustable(state: ClockState) -> Self {
        Clock(Source::Adjustable(Arc::new(Adjustable::new(state))))
    }

    /// A manual clock that starts at `start`.
    pub fn manual(start: Timestamp) -> Self {
        Clock(Source::Manual(Arc::new(watch::Sender::new(start))))
    }

    /// The clock for waits that have nothing to do with the time of the service, such as the pause before a retry: the machine's
    /// clock, which cannot be frozen. The manual clock of a test is the clock for all waits.
    #[must_use]
    pub fn of_machine(&self) -> Self {
        match &self.0 {
            Source::System | Source::Adjustable(_) => Clock::system(),
            Source::Manual(_) => self.clone(),
        }
    }

    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => machine_time(),
            Source::Adjustable(clock) => clock.now(),
            Source::Manual(time) => *time.borrow(),
        }
    }

    /// How far the clock is from the machine's clock. A manual clock is frozen.
    pub fn state(&self) -> ClockState {
        match &self.0 {
            Source::System => ClockState::default(),
            Source::Adjustable(clock) => *clock.state.borrow(),
            Source::Manual(time) => ClockState::default().freeze(*time.borrow()),
        }
    }

    /// Moves, freezes or resumes an adjustable clock, and wakes the tasks that wait on it. The new state is a function of the old
    /// one and of the machine's time: [`Clock::machine_time`].
    ///
    /// # Errors
    /// If the state leads out of the range of a clock, and on every other kind of clock.
    pub fn set_state(&self, state: ClockState) -> Result<(), ClockError> {
        let Source::Adjustable(current) = &self.0 else { return Err(ClockError::Fixed) };
        state.check(machine_time())?;
        current.set(state);
        Ok(())
    }

    /// The time that a [`ClockState`] is relative to.
    pub fn machine_time() -> Timestamp {
        machine_time()
    }

    /// Moves a manual clock, and wakes the tasks that wait on it.
    ///
    /// # Panics
    /// On every other kind of clock, and past the last time that can be represented.
    pub fn advance(&self, by: SignedDuration) {
        let Source::Manual(time) = &self.0 else { panic!("only a manual clock can be moved") };
        time.send_modify(|now| *now += by);
    }

    /// Waits until the clock shows `due` or later. A frozen clock shows it when it is moved.
    ///
    /// Also returns when an adjustable clock is set back to before the wait began: the caller computed `due` from a later time, and
    /// computes it again.
    pub async fn wait_until(&self, due: Timestamp) {
        match &self.0 {
            Source::System => while sleep_towards(due, machine_time()).await {},
            Source::Adjustable(clock) => wait_on(&mut clock.state.subscribe(), due).await,
            Source::Manual(time) => {
                // This clock owns the sender, so the channel cannot close during the wait.
                let _ = time.subscribe().wait_for(|now| *now >= due).await;
            }
        }
    }
}

fn machine_time() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that asks")]
    Timestamp::now()
}

/// Sleeps until `due`, or for the longest sleep; false if `now` is not before `due`.
async fn sleep_towards(due: Timestamp, now: Timestamp) -> bool {
    let left = Duration::try_from(due.duration_since(now)).unwrap_or_default();
    if left.is_zero() {
        return false;
    }
    #[expect(clippy::disallowed_methods, reason = "this is how one waits on the clock")]
    tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
    true
}

async fn wait_on(states: &mut watch::Receiver<ClockState>, due: Timestamp) {
    let mut state = *states.borrow_and_update();
    let began = state.now(machine_time());
    loop {
        let now = state.now(machine_time());
        if now >= due || now < began {
            return;
        }
        if state.frozen_at.is_some() {
            // The clock that waits owns the sender, so the channel cannot close during the wait.
            let _ = states.changed().await;
        } else {
            tokio::select! {
                _ = states.changed() => {}
                _ = sleep_towards(due, now) => {}
            }
        }
        state = *states.borrow_and_update();
    }
}

#[cfg(test)]
mod tests;
