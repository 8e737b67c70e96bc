//! For tests only: sends arbitrary bytes to every parser of outside bytes, through the operations that use it.
//!
//! A [`Target`] makes a request of an input, and says what else must hold for its answer. A [`Harness`] serves the services in this
//! process, as the program serves them, sends the request over a connection, and panics if the answer is a server error, or not what
//! its content type says, or does not come.
//!
//! The programs in `fuzz/` call [`run`] with the inputs of libFuzzer. The tests of this crate call it with the inputs in
//! `fuzz/seeds`, and with [mutations](mutate) of them.

#![allow(clippy::unwrap_used)]

mod answer;
mod harness;
mod mutation;
mod requests;
mod services;
mod signer;
mod targets;
mod webhook_url;

use std::cell::RefCell;

pub use answer::Answer;
pub use harness::{Harness, Target};
pub use mutation::mutate;
pub use targets::TARGETS;

thread_local! {
    static HARNESS: RefCell<Option<Harness>> = const { RefCell::new(None) };
}

/// Sends an input to a target. The services start with the first one of a thread.
///
/// # Panics
/// If the answer is wrong, or there is no target of this name.
pub fn run(name: &str, input: &[u8]) {
    HARNESS.with_borrow_mut(|harness| {
        let harness = harness.get_or_insert_with(|| Harness::new(target(name)));
        harness.send(input);
    });
}

/// The target of this name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> &'static Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("there is no target {name}"))
}
