//! All tests of the data layer, in one program.

#![allow(clippy::unwrap_used)]

mod deadlines;
mod footprint;
mod group_work;
mod groups;
mod migrations;
mod pipeline;
mod postgres;
mod queues;
mod removal;
mod replica;
mod snapshots;
mod sqlite;
mod statements;
mod stores;
mod templates;
mod tls;
mod transfer;
mod values;
mod workers;
mod writes;
