//! Seats, holds and payments under every strain: many at once, one after another in every order, crashes in between.
//!
//! - [`oversell`]: 64 clients fight for the last seats; [`history`] then finds out whether any was sold twice.
//! - [`crash_points`]: a payment breaks off between any two of its steps.
//! - [`every_order`]: every order of steps, beside a [`model`] that is simple enough to be right.
//! - [`process`]: the service as these tests have it, called without a socket.

mod clients;
mod crash_points;
mod dump;
mod every_order;
mod history;
mod model;
mod oversell;
mod process;
mod processor;
mod stage;
