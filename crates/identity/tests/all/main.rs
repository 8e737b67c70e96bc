//! All tests of accounts, sessions and tokens, in one program: linking several would take longer than running them.

#![allow(clippy::unwrap_used)]

mod accounts;
mod browser;
mod crowds;
mod issuer;
mod oauth;
mod quota;
mod remembering;
mod same_work;
mod signing_in;
mod support;
mod throttling;
mod together;
