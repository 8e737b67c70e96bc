//! All tests of webhooks, in one program.

#![allow(clippy::unwrap_used)]

mod common;
mod delivering;
mod destinations;
mod fairness;
mod migrating;
mod moved_clock;
mod panics;
mod processes;
mod redelivering;
mod resolving;
mod retrying;
mod signing;
mod traces;
