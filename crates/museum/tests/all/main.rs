//! The museum's API, operation by operation, called over a real socket.
//!
//! One program: linking several would take longer than running them.

#![allow(clippy::unwrap_used)]

mod admissions;
mod bad_input;
mod change_event;
mod controls;
mod create_event;
mod demo;
mod event_list;
mod extra_pages;
mod fixture;
mod hourly_limit;
mod hours;
mod long_list;
mod negotiation;
mod openapi;
mod pages;
mod pass;
mod protocol;
mod qr;
mod removal;
mod restart;
mod sign_in;
mod tickets;
mod validation_errors;
mod wallet;
