//! The authorization server over a real socket, on both engines.

mod after_demo;
mod cross_origin;
mod crowd;
mod ended;
pub(crate) mod fixture;
mod flow;
mod foreign_client;
mod keys;
mod managing;
mod pages;
mod refused_bearers;
mod refused_requests;
mod refused_tokens;
mod rows;
mod security_log;
mod sessions;
mod spent;
mod standards;
mod throttled;
