//! All tests of webhooks, in one program.

#![allow(clippy::unwrap_used)]

mod common;
mod delivering;
mod destinations;
mod fairness;
mod leading_elsewhere;
mod migrating;
mod panics;
mod processes;
mod redelivering;
mod retrying;
mod signing;
