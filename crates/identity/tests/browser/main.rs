//! The authorization server's pages in a real browser, on both engines.

#![allow(clippy::unwrap_used)]

mod fixture;
mod leaving;
mod pages;
mod signing_in;
mod signing_up;

#[path = "../oauth/fixture.rs"]
#[allow(dead_code, reason = "shared with the tests that speak to the server without a browser")]
mod service;
