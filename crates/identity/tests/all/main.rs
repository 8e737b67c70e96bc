//! All tests of accounts, sessions and tokens, in one program: linking several would take longer than running them.

#![allow(clippy::unwrap_used)]

mod account_transactions;
mod accounts;
mod basic_auth;
mod browser;
mod concurrent_sign_ins;
mod constant_work;
mod controls;
mod issuer;
mod oauth;
mod password_cache;
mod quota;
mod support;
mod throttling;
