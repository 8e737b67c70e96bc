//! What all services share: HTTP with limits, JSON and XML, problem documents, paging, documentation.
//!
//! - [`input`]: what a client sends, read with all validation errors found at once ([`Body`], [`Query`], [`Path`]).
//! - [`problem`]: the one error that leaves a service.
//! - [`reply`]: answers that are not problems, and lists written while they are read.
//! - [`xml`]: what answers look like in XML; [`ResponseFormat`] chooses between it and JSON.
//! - [`page`]: pages for people.
//! - [`Service`]: an API together with the routes that every API has: pages, `/healthz`, `/docs`.
//! - [`serve`]: the accept loop, with the edge that gives each request its id and its line in the log.
//! - [`observe`]: calls with their answers, for a journal; [`redact`] removes their secrets.
//! - [`qr`]: QR codes as images.
//! - [`fault`]: faults of an answer, for tests of clients.
//! - [`Background`]: tasks beside the requests, started again when they fail.
//! - [`Controls`]: how an instance in demo mode behaves, replaceable while it runs.
//! - [`Clock`] and [`Random`]: time and randomness, handed in. [`InstallationSecret`]: what keys are derived from.

mod adapter;
mod address;
mod admission;
mod anonymous;
mod app;
mod background;
mod body_memory;
mod challenge;
mod clock;
mod compression;
mod controls;
mod cors;
mod dispatch;
mod documentation;
pub mod fault;
mod gate;
pub mod input;
mod installation;
mod issued_by;
mod limits;
pub mod negotiate;
mod network;
pub mod observe;
pub mod openapi;
mod openapi_3_0;
mod operations;
pub mod page;
mod paging;
mod panic;
mod prefixes;
pub mod problem;
pub mod qr;
mod random;
pub mod redact;
pub mod reply;
mod request;
pub mod schema;
mod sentence;
mod server;
mod service;
mod size_hint;
mod times;
pub mod xml;

pub use adapter::Adapter;
pub use address::{is_from_another_origin, origin_of, path_of, well_known};
pub use admission::release_admission;
pub use app::{Answer, App};
pub use background::Background;
pub use clock::{Clock, ClockError, ClockState};
pub use compression::compression;
pub use controls::{Compat, ControlState, Controls, LIFETIMES, SignInMode};
pub use documentation::DocumentationSetup;
pub use gate::{DeliveryFault, DeliveryGate, Gate};
pub use input::{Body, Both, Form, Path, Query, RawBody, Upload, ValidationContext, WithBody};
pub use installation::InstallationSecret;
pub use issued_by::IssuedBy;
pub use limits::{ConnectionLimits, RequestLimits};
pub use network::network;
pub use paging::Paging;
pub use panic::panic_message;
pub use prefixes::{by_prefix, prefixed_part, strip_prefix};
pub use problem::{Problem, Result};
pub use random::Random;
pub use reply::{Created, Reply, ResponseFormat};
pub use request::RequestContext;
pub use server::{KeepBody, Phase, Proxies, REQUEST_LOG, Site, Tls, is_loopback_host, serve};
pub use service::{Service, document_text, document_text_3_0};
