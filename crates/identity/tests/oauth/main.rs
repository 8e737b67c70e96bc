//! The authorization server over a real socket, on both engines.

#![allow(clippy::unwrap_used)]

mod fixture;
mod flow;
