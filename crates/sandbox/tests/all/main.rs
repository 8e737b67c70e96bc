//! Tests of sandboxes over real sockets, on both engines.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod bodies;
mod clock;
mod demo_accounts;
mod faults;
mod fixture;
mod held;
mod isolation;
mod journal;
mod lifecycle;
mod load;
mod root;
mod state;
mod template;
mod user;
