//! All tests of traces, in one program.

#![allow(clippy::unwrap_used)]

mod exporting;
mod spans;
mod support;
