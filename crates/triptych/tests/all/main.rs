//! All tests of the program, in one program.

#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod access_commands;
mod class_commands;
mod common;
mod console;
mod contributing;
mod crash;
mod database;
mod docs;
mod ephemeral;
mod examples;
mod fault_commands;
mod instances;
mod journal_commands;
mod log;
mod page_quality;
mod pages;
mod pooler;
mod sandbox_commands;
mod sandbox_load;
mod schemathesis;
mod secret;
mod settings;
mod start;
mod start_errors;
mod testing_guide;
mod today;
mod tools;
mod train_crash;
mod train_pages;
mod user;
mod webhook_crash;
mod webhook_listen;
mod webhooks;
mod words;
