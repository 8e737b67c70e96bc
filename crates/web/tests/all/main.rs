//! All tests of what services share, in one program.

#![allow(clippy::unwrap_used)]

mod access_log;
mod admission;
mod anonymous;
mod apps;
mod background;
mod background_log;
mod body_limits;
mod body_memory;
mod cancelled_streams;
mod closed;
mod either;
mod failures;
mod faults;
mod form_bodies;
mod hosts;
mod json_bodies;
mod malformed_requests;
mod model;
mod observations;
mod openapi;
mod operations;
mod problem_pages;
mod protocol;
mod query_and_path;
mod request_ids;
mod rules_for_numbers;
mod rules_for_text;
mod services;
mod several_values;
mod shutdown;
mod slow_clients;
mod streamed_lists;
mod support;
mod traces;
mod uploads;
mod xml_bodies;
mod xml_problems;
mod xml_replies;
mod xml_rules;
