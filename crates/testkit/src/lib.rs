//! For tests only: a service on either engine, with a manual clock and a client.
//!
//! - [`on_both_engines!`] declares a test once and runs it on SQLite and on PostgreSQL.
//! - [`on_one_engine!`] declares a test that does not depend on the engine.
//! - [`Store`] is an empty database for one test; the tests of a service build their [`Fixture`] on it.
//! - [`Server`] serves a router on a free port, [`Client`] calls it over a real socket.
//! - [`Program`] is the program as a process, which can be killed.
//! - [`receiver`] receives webhooks.
//! - [`collector`] receives the spans of traces.
//! - [`sign_in`] signs in on the pages of a service.
//! - [`until`] waits for a condition without a notification.
//! - [`Log`] records log lines.
//! - [`openapi`] reads OpenAPI documents.
//! - [`xml`] reads XML answers by the schema of such a document.
//! - [`Browser`] is a real browser.
//! - [`Schemathesis`] calls a service by its document.

#![allow(clippy::unwrap_used)]

mod browser;
mod certificates;
mod cluster;
pub mod collector;
mod database;
pub mod dump;
mod engine;
mod http;
mod log;
mod nginx;
pub mod openapi;
mod parameter;
mod pooler;
mod postmaster;
mod process;
mod proxy;
pub mod receiver;
mod replication;
mod schemathesis;
mod server;
pub mod sign_in;
mod tables;
mod tls;
mod until;
pub mod xml;

pub use browser::{Browser, ENTER, ESCAPE, TAB};
pub use certificates::{Authority, Certificate};
pub use cluster::{DurablePostgres, Owner};
pub use collector::Collector;
pub use engine::{Engine, Fixture, Store, private_folder, run};
pub use http::{Answer, Call, Client};
pub use log::Log;
pub use nginx::Nginx;
pub use parameter::parameter;
pub use pooler::max_prepared_statements;
pub use process::{Program, command};
pub use proxy::Proxy;
pub use replication::ReplicatedPostgres;
pub use schemathesis::Schemathesis;
pub use server::{Address, Server};
pub use tls::{TlsPostgres, own_address};
pub use until::until;
