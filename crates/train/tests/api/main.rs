//! The train service's API, operation by operation, called over a real socket on both engines.
//!
//! One program rather than one per file: linking twenty of them would take longer than running them.

#![allow(clippy::unwrap_used)]

mod after_demo;
mod all_faults;
mod bad_bodies;
mod bad_queries;
mod beside;
mod booking_list;
mod bookings;
mod busy;
mod departed;
mod dump;
mod external_issuer;
mod fixture;
mod holds;
mod idempotent_bookings;
mod idempotent_payments;
mod limits;
mod negotiation;
mod openapi;
mod operations;
mod payment_refusals;
mod payments;
mod person;
mod protocol;
mod removal;
mod settling;
mod sign_in;
mod station_search;
mod stations;
mod trip_days;
mod trips;
mod user_limits;
mod webhooks;
