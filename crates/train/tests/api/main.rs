//! The train service's API, operation by operation, called over a real socket on both engines.
//!
//! One program rather than one per file: linking twenty of them would take longer than running them.

#![allow(clippy::unwrap_used)]

mod fixture;
mod stations;
mod station_search;
mod trips;
mod trip_days;
