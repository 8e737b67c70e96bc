//! The clock of a sandbox.

use axum::extract::State;
use jiff::{SignedDuration, Timestamp};
use model::{Input, Resource};
use web::{Body, Clock, ClockError, ClockState, ControlState, Problem, Reply, Result};

use super::{Control, Controller};

/// The times that a clock can be set to, up to the second one. In a far year all tokens have expired, which looks like an error.
const EARLIEST: Timestamp = Timestamp::constant(946_684_800, 0);
const LATEST: Timestamp = Timestamp::constant(4_133_980_800, 0);

const DURATION: &str = "must be a duration in seconds, minutes, hours, days or weeks, such as 90s, 1h 30m, 2 days or PT1H, with a \
                        minus sign to move the clock back";

/// The clock of a sandbox.
#[derive(Debug, Clone, Resource)]
pub(super) struct SandboxClock {
    /// The time in the sandbox.
    time: Timestamp,
    /// Whether the clock stands still.
    frozen: bool,
}

/// What is to change about the clock; what is absent stays.
#[derive(Debug, Clone, Input)]
#[resource(closed)]
pub(super) struct ClockChange {
    /// The time to set, in the years 2000 to 2100.
    time: Option<Timestamp>,
    /// By how much to move the clock: `1h`, `90m`, `2 days`, `PT1H`; with a minus sign, back.
    #[field(rule = text(1..=50), example = "1h")]
    advance: Option<String>,
    /// Whether the clock is to stand still.
    frozen: Option<bool>,
}

fn shown(clock: &Clock) -> Reply<SandboxClock> {
    Reply(SandboxClock { time: clock.now(), frozen: clock.state().frozen_at.is_some() })
}

/// Get the clock
#[utoipa::path(
    get, path = "/clock", operation_id = "getClock", tag = "Clock",
    responses((status = 200, description = "The clock.", body = SandboxClock)),
)]
pub(super) async fn get_clock(Controller(sandbox): Controller) -> Reply<SandboxClock> {
    shown(&sandbox.clock)
}

/// Move the clock
///
/// Holds, tokens, sessions and idempotency keys expire, and webhooks are sent again, as if the time had passed.
#[utoipa::path(
    patch, path = "/clock", operation_id = "setClock", tag = "Clock",
    request_body = ClockChange,
    responses((status = 200, description = "The clock.", body = SandboxClock)),
)]
pub(super) async fn set_clock(
    Controller(sandbox): Controller,
    State(control): State<Control>,
    Body(change): Body<ClockChange>,
) -> Result<Reply<SandboxClock>> {
    let machine = Clock::machine_time();
    control
        .change_clock(move |clock, controls| {
            let clock = change.of(clock, machine)?;
            // Tokens that are issued after the clock was set back are valid.
            let now = clock.now(machine);
            let tokens_not_before = controls.tokens_not_before.map(|time| time.min(now));
            Ok((clock, ControlState { tokens_not_before, ..controls }))
        })
        .await?;
    // A service that is not open would not do what is due now.
    control.sandboxes.data(&sandbox).await?;
    Ok(shown(&sandbox.clock))
}

impl ClockChange {
    fn of(&self, mut state: ClockState, machine: Timestamp) -> Result<ClockState> {
        let in_range = |changed: Result<ClockState, ClockError>| {
            changed.ok().filter(|state| (EARLIEST..LATEST).contains(&state.now(machine)))
        };
        if let Some(time) = self.time {
            state = in_range(state.set(machine, time))
                .ok_or_else(|| Problem::invalid_at("#/time", "must be in the years 2000 to 2100"))?;
        }
        if let Some(text) = &self.advance {
            let by = duration(text).ok_or_else(|| Problem::invalid_at("#/advance", DURATION))?;
            let detail = "must lead to a time in the years 2000 to 2100";
            state = in_range(state.advance(machine, by))
                .ok_or_else(|| Problem::invalid_at("#/advance", detail))?;
        }
        Ok(match self.frozen {
            Some(true) => state.freeze(machine),
            Some(false) => state.resume(machine),
            None => state,
        })
    }
}

/// Reads a duration; a day has 24 hours.
fn duration(text: &str) -> Option<SignedDuration> {
    let span: jiff::Span = text.parse().ok()?;
    span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok()
}
