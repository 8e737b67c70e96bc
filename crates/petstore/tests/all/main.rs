//! The pet store's API, operation by operation, called over a real socket.
//!
//! One program: linking several would take longer than running them.

#![allow(clippy::unwrap_used)]

mod access_log;
mod answers;
mod bad_bodies;
mod bad_input;
mod bad_members;
mod change_pet;
mod change_user;
mod compat;
mod controls;
mod cross_site;
mod demo;
mod dump;
mod find;
mod fixture;
mod forms;
mod hourly_limit;
mod ids;
mod image;
mod image_limits;
mod inventory;
mod login;
mod long_list;
mod long_reads;
mod negotiation;
mod oauth;
mod openapi;
mod order;
mod pages;
mod pet;
mod pet_xml;
mod pictures;
mod protocol;
mod security_log;
mod session;
mod sign_in;
mod sign_up;
mod user;
mod user_list;
mod validation_errors;
mod xml_answers;
