//! How far a clock is from the machine's clock. Pure functions: the machine's time is an argument.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The earliest time that a clock shows: 1970-01-01T00:00:00Z.
const EARLIEST: Timestamp = Timestamp::UNIX_EPOCH;

/// The latest time that a clock shows: 9999-01-01T00:00:00Z. Services add up to months to the time, and the last time that can
/// be represented is in the last days of that year.
const LATEST: Timestamp = Timestamp::constant(253_370_764_800, 0);

/// The state of a clock that can be moved: its distance from the machine's clock, or the time at which it is frozen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockState {
    /// What is added to the machine's time. Not used while the clock is frozen.
    pub offset: SignedDuration,
    /// The time that a frozen clock shows.
    pub frozen_at: Option<Timestamp>,
}

/// Why a clock was not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    #[error("the clock must be between {EARLIEST} and {LATEST}")]
    OutOfRange,
    #[error("the machine's clock cannot be moved")]
    Fixed,
}

impl ClockState {
    /// The time that the clock shows when the machine's clock shows `machine`. A stored state may lead out of the range; the
    /// clock then shows its earliest or latest time.
    pub fn now(&self, machine: Timestamp) -> Timestamp {
        let now = self.frozen_at.unwrap_or_else(|| {
            let limit = if self.offset.is_negative() { EARLIEST } else { LATEST };
            machine.checked_add(self.offset).unwrap_or(limit)
        });
        now.clamp(EARLIEST, LATEST)
    }

    /// The state in which the clock shows `time` now. A frozen clock stays frozen.
    pub fn set(self, machine: Timestamp, time: Timestamp) -> Result<Self, ClockError> {
        if !(EARLIEST..=LATEST).contains(&time) {
            return Err(ClockError::OutOfRange);
        }
        Ok(match self.frozen_at {
            Some(_) => ClockState { frozen_at: Some(time), ..self },
            None => ClockState { offset: time.duration_since(machine), frozen_at: None },
        })
    }

    /// The state in which the clock shows a time that is later by `by`, or earlier if `by` is negative.
    pub fn advance(self, machine: Timestamp, by: SignedDuration) -> Result<Self, ClockError> {
        let time = self.now(machine).checked_add(by).map_err(|_| ClockError::OutOfRange)?;
        self.set(machine, time)
    }

    /// The state in which the clock stands still at the time that it shows now.
    pub fn freeze(self, machine: Timestamp) -> Self {
        ClockState { frozen_at: Some(self.now(machine)), ..self }
    }

    /// The state in which the clock goes on from the time that it shows now.
    pub fn resume(self, machine: Timestamp) -> Self {
        ClockState { offset: self.now(machine).duration_since(machine), frozen_at: None }
    }

    /// Rejects a state that shows a time out of the range now.
    pub(super) fn check(&self, machine: Timestamp) -> Result<(), ClockError> {
        let shown = self.frozen_at.or_else(|| machine.checked_add(self.offset).ok());
        let in_range = shown.is_some_and(|time| (EARLIEST..=LATEST).contains(&time));
        if in_range { Ok(()) } else { Err(ClockError::OutOfRange) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn machine() -> Timestamp {
        time("2026-05-13T10:00:00Z")
    }

    #[test]
    fn default_state_shows_the_time_of_the_machine() {
        assert_eq!(ClockState::default().now(machine()), machine());
    }

    #[test]
    fn moved_clock_goes_on_with_the_machine() {
        let advanced = ClockState::default().advance(machine(), HOUR).unwrap();
        assert_eq!(advanced.now(machine()), time("2026-05-13T11:00:00Z"));
        assert_eq!(advanced.now(machine() + HOUR), time("2026-05-13T12:00:00Z"));
        let set = advanced.set(machine() + HOUR, time("2031-01-01T00:00:00Z")).unwrap();
        assert_eq!(set.now(machine() + HOUR * 3), time("2031-01-01T02:00:00Z"));
        let back = set.advance(machine() + HOUR, -HOUR * 24).unwrap();
        assert_eq!(back.now(machine() + HOUR), time("2030-12-31T00:00:00Z"));
    }

    #[test]
    fn frozen_clock_stands_still_until_it_is_resumed() {
        let frozen = ClockState::default().advance(machine(), HOUR).unwrap().freeze(machine() + HOUR);
        let shown = time("2026-05-13T12:00:00Z");
        assert_eq!(frozen.now(machine() + HOUR * 9), shown);
        assert_eq!(frozen.freeze(machine() + HOUR * 9), frozen);
        let moved = frozen.advance(machine() + HOUR * 9, HOUR).unwrap();
        assert_eq!((moved.frozen_at, moved.now(machine())), (Some(shown + HOUR), shown + HOUR));
        let set = moved.set(machine(), time("1999-12-31T23:59:59Z")).unwrap();
        assert_eq!(set.now(machine() + HOUR), time("1999-12-31T23:59:59Z"));
        let resumed = moved.resume(machine() + HOUR * 20);
        assert_eq!(resumed.frozen_at, None);
        assert_eq!(resumed.now(machine() + HOUR * 20), shown + HOUR);
        assert_eq!(resumed.now(machine() + HOUR * 21), shown + HOUR * 2);
        assert_eq!(resumed.resume(machine()), resumed);
    }

    #[test]
    fn times_out_of_range_are_errors() {
        let (state, frozen) = (ClockState::default(), ClockState::default().freeze(machine()));
        for one in [state, frozen] {
            for edge in [EARLIEST, LATEST] {
                assert_eq!(one.set(machine(), edge).unwrap().now(machine()), edge);
            }
            for out in [EARLIEST - SignedDuration::from_nanos(1), LATEST + SignedDuration::from_nanos(1)] {
                assert_eq!(one.set(machine(), out), Err(ClockError::OutOfRange), "{out}");
            }
            for by in
                [SignedDuration::MAX, SignedDuration::MIN, HOUR * 24 * 365 * 8000, -HOUR * 24 * 365 * 57]
            {
                assert_eq!(one.advance(machine(), by), Err(ClockError::OutOfRange), "{by}");
            }
        }
        assert_eq!(
            ClockError::OutOfRange.to_string(),
            "the clock must be between 1970-01-01T00:00:00Z and 9999-01-01T00:00:00Z"
        );
    }

    #[test]
    fn stored_state_out_of_range_shows_the_nearest_time() {
        for (offset, frozen_at, shown) in [
            (SignedDuration::MAX, None, LATEST),
            (SignedDuration::MIN, None, EARLIEST),
            (-HOUR * 24 * 365 * 60, None, EARLIEST),
            (SignedDuration::ZERO, Some(Timestamp::MAX), LATEST),
            (SignedDuration::ZERO, Some(Timestamp::MIN), EARLIEST),
        ] {
            let state = ClockState { offset, frozen_at };
            assert_eq!(state.now(machine()), shown, "{state:?}");
            assert_eq!(state.freeze(machine()).now(machine()), shown);
            assert_eq!(state.resume(machine()).now(machine()), shown);
            assert_eq!(state.check(machine()), Err(ClockError::OutOfRange));
        }
    }

    #[test]
    fn state_is_unchanged_by_writing_and_reading_it_as_json() {
        for state in [
            ClockState::default(),
            ClockState { offset: SignedDuration::new(-90, -5), frozen_at: None },
            ClockState::default().freeze(time("2026-05-13T10:00:00.123456789Z")),
        ] {
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<ClockState>(&text).unwrap(), state, "{text}");
        }
    }
}
