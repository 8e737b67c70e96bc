//! Tests of sandboxes over real sockets, on both engines.

#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

mod fixture;
mod lifecycle;
mod state;
mod template;
