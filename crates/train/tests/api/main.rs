//! The train service's API, operation by operation, called over a real socket on both engines.
//!
//! One program rather than one per file: linking twenty of them would take longer than running them.

#![allow(clippy::unwrap_used)]

mod booking_list;
mod bookings;
mod dump;
mod fixture;
mod holds;
mod idempotent_bookings;
mod idempotent_payments;
mod openapi;
mod payment_refusals;
mod payments;
mod settling;
mod station_search;
mod stations;
mod trip_days;
mod trips;
