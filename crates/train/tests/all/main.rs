//! All tests of the train service but one, in one program: linking several would take longer than running them.
//!
//! The API is called over a real socket, operation by operation, on both engines. [`seats`] has the tests of concurrency.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod after_demo;
mod bad_bodies;
mod bad_queries;
mod booking_list;
mod bookings;
mod busy;
mod controls;
mod departed;
mod dump;
mod external_issuer;
mod extra_pages;
mod fixture;
mod gauges;
mod holds;
mod idempotent_bookings;
mod idempotent_payments;
mod inboxes;
mod limits;
mod many_deliveries;
mod negotiation;
mod openapi;
mod operations;
mod payments;
mod person;
mod protocol;
mod rejected_payments;
mod removal;
mod seats;
mod settling;
mod sign_in;
mod station_search;
mod stations;
mod tickets;
mod trip_days;
mod trips;
mod user_limits;
mod validation_errors;
mod webhooks;
